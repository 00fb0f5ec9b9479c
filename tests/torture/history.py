"""Checks a history against the order that the ledger itself wrote.

The chained entries are a total order of all writes. A history is right when: every acknowledged write is in it, once,
between what had ended before it began and what began after it ended; replaying it never overspends and never resolves
twice; and every read and every refusal is true at some point of the order within its own time.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ai_server.storage.sqlite import SqliteStateStore
from ai_server.storage.statements import Statement
from tests.fakes.clock import ManualClock
from tests.torture import workload

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

ALL = 10**6
ENDINGS = {"settle": "settle", "void": "void"}


@dataclass(frozen=True)
class Done:
    """One operation with the times of its call and its answer; `told` is ok, exhausted, resolved or unknown."""

    what: str
    told: str
    began: float
    ended: float
    key: str = ""
    identity: str = ""
    amount: int = 0
    seen: tuple[int, int] | None = None


async def entries(path: Path) -> list[Mapping[str, object]]:
    """Read all entries after the fact, with an audit of them."""
    workload.quiet()
    store = SqliteStateStore(path, ManualClock(workload.NOW))
    await store.open()

    def read():
        return (yield Statement("entries_after", {"after": 0, "count": ALL}))

    try:
        found = await store._writer.run(read)
        if faults := await store.ledger.audit():
            raise AssertionError(faults)
    finally:
        await store.close()
    return [dict(row) for row in found]


class States:
    """What was settled, and open, after each entry."""

    def __init__(self, rows: Sequence[Mapping[str, object]], limit: int, faults: list[str]) -> None:
        self.limit = limit
        self.settled, self.opened = [0], [0]
        ended: set[object] = set()
        for row in rows:
            settled, opened = self.settled[-1], self.opened[-1]
            ceiling = int(str(row["ceiling_nanousd"]))
            match row["kind"]:
                case "reserve":
                    opened += ceiling
                case "settle" | "void":
                    if row["reservation_id"] in ended:
                        faults.append(f"{row['reservation_id']} ended twice")
                    ended.add(row["reservation_id"])
                    opened -= ceiling
                    settled += int(str(row["amount_nanousd"]))
            self.settled.append(settled)
            self.opened.append(opened)
            if settled + opened > limit:
                faults.append(f"entry {row['entry_number']}: {settled + opened} taken of {limit}")

    def room(self, at: int) -> int:
        return self.limit - self.settled[at] - self.opened[at]


def check(history: Sequence[Done], rows: Sequence[Mapping[str, object]], limit: int) -> list[str]:
    """Find everything that no serial order explains."""
    faults: list[str] = []
    states = States(rows, limit, faults)
    reserved = {row["key"]: number for number, row in enumerate(rows, 1) if row["kind"] == "reserve"}
    ended = {row["reservation_id"]: (number, row) for number, row in enumerate(rows, 1) if row["kind"] in ENDINGS}
    tries = Counter((each.what, each.identity, each.amount) for each in history if each.told in {"ok", "unknown"})
    places = [place(each, reserved, ended, tries, faults) for each in history]
    seen = [known(each, at, ended) for each, at in zip(history, places, strict=True)]
    bounds = Bounds(history, places, seen, len(rows))
    for each, at in zip(history, places, strict=True):
        low, high = bounds.of(each)
        if low > high:
            faults.append(f"{each}: what ended before it comes after what began later ({low} > {high})")
        elif at is not None and not low < at <= high:
            faults.append(f"{each}: entry {at} is outside {low}..{high}")
        elif not explained(each, states, ended, low, high):
            faults.append(f"{each}: true nowhere in {low}..{high}")
    return faults


def place(
    each: Done,
    reserved: Mapping[object, int],
    ended: Mapping[object, tuple[int, Mapping[str, object]]],
    tries: Counter[tuple[str, str, int]],
    faults: list[str],
) -> int | None:
    """Find the entry of an acknowledged write. Of several alike endings nobody knows which one wrote it."""
    if each.told != "ok" or each.what == "read":
        return None
    if each.what == "reserve":
        if each.key not in reserved:
            faults.append(f"{each}: acknowledged and not in the ledger")
        return reserved.get(each.key)
    found = ended.get(each.identity)
    if found is None or found[1]["kind"] != each.what or found[1]["amount_nanousd"] != each.amount:
        faults.append(f"{each}: acknowledged, and the ledger says {found}")
        return None
    return found[0] if tries[each.what, each.identity, each.amount] == 1 else None


def known(each: Done, at: int | None, ended: Mapping[object, tuple[int, Mapping[str, object]]]) -> int | None:
    """Tell an entry that surely was there when the operation ended: its own, or the ending that it was told of."""
    if at is None and each.what in ENDINGS and each.told in {"ok", "resolved"} and each.identity in ended:
        return ended[each.identity][0]
    return at


def explained(
    each: Done, states: States, ended: Mapping[object, tuple[int, Mapping[str, object]]], low: int, high: int
) -> bool:
    """Tell whether an answer is true at some point of the order from `low` to `high`."""
    if each.told == "unknown":
        return True
    if each.what == "read":
        return any((states.settled[at], states.opened[at]) == each.seen for at in range(low, high + 1))
    if each.told == "exhausted":
        return any(states.room(at) < each.amount for at in range(low, high + 1))
    if each.what in ENDINGS:
        return each.identity in ended and ended[each.identity][0] <= high
    return True


class Bounds:
    """For an operation: the last entry that must come before it, and the last one that may."""

    def __init__(
        self, history: Sequence[Done], places: Sequence[int | None], seen: Sequence[int | None], count: int
    ) -> None:
        by_end = sorted((each.ended, at) for each, at in zip(history, seen, strict=True) if at is not None)
        self._ends = [time for time, _ in by_end]
        self._highest = [0]
        for _, at in by_end:
            self._highest.append(max(self._highest[-1], at))
        by_begin = sorted((each.began, at) for each, at in zip(history, places, strict=True) if at is not None)
        self._begins = [time for time, _ in by_begin]
        lowest = [count + 1]
        for _, at in reversed(by_begin):
            lowest.append(min(lowest[-1], at))
        self._lowest = lowest[::-1]

    def of(self, each: Done) -> tuple[int, int]:
        """Give the states that the operation may have seen: after entry `low` up to after entry `high`."""
        low = self._highest[bisect_left(self._ends, each.began)]
        high = self._lowest[bisect_right(self._begins, each.ended)] - 1
        return low, high
