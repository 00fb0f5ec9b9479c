"""Figures of a bench, and rounds that put two or more sides next to each other in time."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

ROUNDS = 9
WARM_UPS = 1
APART = 0.05
"""Two runs of the same side further apart than this make every other ratio doubtful."""


@dataclass(frozen=True)
class Measure:
    """One figure. `ratio` is to the side named `ratio_to`; `goal` is what it should reach (or stay under)."""

    name: str
    value: float
    unit: str
    ratio_to: str = ""
    ratio: float | None = None
    goal: float | None = None
    note: str = ""

    def line(self) -> str:
        """Write it on one line."""
        told = f"{self.name}: {self.value:,.4g} {self.unit}"
        if self.ratio is not None:
            goal = "" if self.goal is None else f", goal {self.goal:g}"
            told += f" (ratio to {self.ratio_to}: {self.ratio:.3g}{goal})"
        return told + (f" [{self.note}]" if self.note else "")


@dataclass(frozen=True)
class Side:
    """What one side measured, a value for each round."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def over(self, other: Side) -> tuple[float, str]:
        """Give the median of the ratios round by round, and their quartiles as text."""
        ratios = [mine / its for mine, its in zip(self.values, other.values, strict=True)]
        if len(ratios) == 1:
            return ratios[0], "one round"
        low, middle, high = statistics.quantiles(ratios, n=4)
        return middle, f"quartiles {low:.3g} to {high:.3g}"


async def interleaved(
    sides: Mapping[str, Callable[[], Awaitable[float]]], rounds: int = ROUNDS, warm_ups: int = WARM_UPS
) -> dict[str, Side]:
    """Run every side once a round, the order turning, so that a slow minute of the machine hits all alike."""
    names = list(sides)
    values: dict[str, list[float]] = {name: [] for name in names}
    for number in range(warm_ups + rounds):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            value = await sides[name]()
            if number >= warm_ups:
                values[name].append(value)
    return {name: Side(tuple(found)) for name, found in values.items()}


def same_side(first: Side, second: Side) -> str:
    """Say how far two runs of one side lie apart."""
    ratio, spread = first.over(second)
    verdict = "the machine is noisy: read ratios with care" if abs(ratio - 1) > APART else "quiet enough"
    return f"A/A {ratio:.3f}, {spread}: {verdict}"


class Cpu:
    """Processor time of this process between two looks."""

    def __init__(self) -> None:
        self._start = time.process_time()

    def seconds(self) -> float:
        return time.process_time() - self._start
