"""What a torture module reports."""

from __future__ import annotations

from dataclasses import dataclass, field

RULE_OF_THREE = 3.0
MAX_TOLD = 20


@dataclass
class Figure:
    """`failures` holds a sentence with the seed for each broken promise; `trials` is how often it could have broken."""

    trials: int
    seeds: str
    failures: list[str] = field(default_factory=list)
    notes: dict[str, object] = field(default_factory=dict)
    skipped: str = ""

    def line(self, name: str) -> str:
        """Write the figure as PROMISES.md asks."""
        if self.skipped:
            return f"{name}: skipped ({self.skipped})"
        bound = ""
        if not self.failures and self.trials:
            bound = f" (95 % ≤ {100 * RULE_OF_THREE / self.trials:.2g} %)"
        return f"{name}: {len(self.failures)} / {self.trials}{bound} seeds {self.seeds}"


def span(seed: int, count: int) -> str:
    """Name a range of seeds."""
    return str(seed) if count <= 1 else f"{seed}–{seed + count - 1}"
