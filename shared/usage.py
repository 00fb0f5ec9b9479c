"""What a paid call used: token counts in disjoint buckets, plus counted units."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

TOKEN_BUCKETS: Final = ("input", "cached_input", "cache_write_short", "cache_write_long", "output", "reasoning")


@dataclass(frozen=True, slots=True)
class Usage:
    """Counts of one or several calls. Buckets never overlap: `input` excludes `cached_input`, `output` excludes
    `reasoning`. An unknown usage is `None` in place of this object, never zeros.
    """

    input: int = 0
    cached_input: int = 0
    cache_write_short: int = 0
    cache_write_long: int = 0
    output: int = 0
    reasoning: int = 0
    units: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))

    def __add__(self, other: Usage) -> Usage:
        """Sum two usages, bucket by bucket and unit by unit."""
        buckets = {name: getattr(self, name) + getattr(other, name) for name in TOKEN_BUCKETS}
        names = self.units.keys() | other.units.keys()
        units = {name: self.units.get(name, 0) + other.units.get(name, 0) for name in sorted(names)}
        return Usage(**buckets, units=MappingProxyType(units))
