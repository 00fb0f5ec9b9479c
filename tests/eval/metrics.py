"""Ranks into figures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ai_server.knowledge import ranking
from ai_server.knowledge.lexical import terms
from ai_server.knowledge.snapshot import Snapshot
from tests.eval.encoding import CONTEXTS, CachedEncoder
from tests.eval.sets import EvalSet

BEYOND = 10_000
WAYS = ("dense", "bm25", "fused")


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one way of ranking on one set."""

    hit1: float
    hit5: float
    hit8: float
    ndcg10: float

    def loses_to(self, other: Figures) -> list[str]:
        """Name the figures in which this way is worse than the other."""
        return [name for name in ("hit1", "hit5", "hit8", "ndcg10") if getattr(self, name) < getattr(other, name)]


def figures(ranks: list[int]) -> Figures:
    """Work out figures from the rank (0 is first) of the best right passage for each question."""
    found = np.array(ranks)
    gain = np.where(found < 10, 1 / np.log2(found + 2.0), 0.0)
    hits = [float(np.mean(found < most)) for most in (1, 5, 8)]
    return Figures(*hits, float(np.mean(gain)))


def compare(eval_set: EvalSet, encoder: CachedEncoder) -> dict[str, Figures]:
    """Rank every question by whole-passage vectors, by BM25, and as the product does."""
    snapshot = encoder.snapshot(eval_set.passages)
    vectors = encoder.encode_questions([question.text for question in eval_set.questions])
    rows = snapshot.readable(CONTEXTS)
    ranks: dict[str, list[int]] = {way: [] for way in WAYS}
    for question, vector in zip(eval_set.questions, vectors, strict=True):
        gold = {snapshot.rows[each] for each in question.gold}
        asked = terms(question.text, question.language)
        shares, _ = snapshot.lexical.match(asked)
        ranks["dense"].append(_rank(snapshot, snapshot.similarities(rows, vector), gold))
        ranks["bm25"].append(_rank(snapshot, shares, gold))
        fused = ranking.rank(snapshot, rows, vector, asked, question.language, words=encoder.words)
        ranks["fused"].append(next((place for place, row in enumerate(fused.rows) if int(row) in gold), BEYOND))
    return {way: figures(found) for way, found in ranks.items()}


def _rank(snapshot: Snapshot, scores: np.ndarray, gold: set[int]) -> int:
    """Rank of the best right row; rows that tie with it come first only if they stand before it."""
    del snapshot
    order = np.argsort(-scores, kind="stable")
    return next((place for place, row in enumerate(order) if int(row) in gold and scores[row] > 0), BEYOND)
