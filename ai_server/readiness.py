"""What the server says of its own health: one board, written by the supervisor, read by every face of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from shared import logs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from shared.clock import Clock

STORE: Final = "store"
EMBEDDING: Final = "embedding"
RETRIEVAL: Final = "retrieval"
GENERATION: Final = "generation"
DEPENDENCIES: Final = (STORE, EMBEDDING, RETRIEVAL, GENERATION)
"""What a turn needs, in the order in which it is initialised."""
UNBEGUN: Final = "not initialised yet"

LOG = logs.logger(__name__)


class State(StrEnum):
    """How one dependency, or the whole process, stands."""

    READY = "ready"
    DEGRADED = "degraded"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Standing:
    """A state with one sentence for an operator (empty when ready), and since when."""

    state: State
    reason: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Report:
    """The process as a whole. DOWN exactly when new work would be refused or fail."""

    state: State
    since: datetime
    draining: bool
    dependencies: Mapping[str, Standing]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Name every dependency that is not ready, with its reason."""
        faults = tuple(
            f"{name}: {each.reason}" for name, each in self.dependencies.items() if each.state is not State.READY
        )
        return (*faults, "draining: the server is stopping") if self.draining else faults


class Board:
    """Keeps the latest standing of each dependency and tells listeners when the whole changes.

    A dependency is written by name; while one is DOWN the process is DOWN, so whoever writes DOWN says that new
    work fails without it.
    """

    def __init__(self, clock: Clock, dependencies: Sequence[str]) -> None:
        """Begin with every dependency DOWN: nothing is initialised yet."""
        self._clock = clock
        now = clock.now()
        self._standings = {name: Standing(State.DOWN, UNBEGUN, now) for name in dependencies}
        self._state, self._since = State.DOWN, now
        self._draining = False
        self._listeners: list[Callable[[Report], None]] = []

    def set(self, name: str, state: State, reason: str = "") -> None:
        """Write one dependency; `since` moves only when its state does, which the log tells too."""
        before = self._standings.get(name)
        changed = before is None or before.state is not state
        since = self._clock.now() if before is None or changed else before.since
        self._standings[name] = Standing(state, "" if state is State.READY else reason, since)
        if changed and state is not State.READY:
            LOG.warning("dependency not ready", dependency=name, state=state.value, reason=reason)
        elif changed and before is not None and before.reason != UNBEGUN:
            LOG.info("dependency ready again", dependency=name, after=before.reason)
        self._settle()

    def drain(self) -> None:
        """Say from now on that the process stops: DOWN for new work."""
        self._draining = True
        self._settle()

    @property
    def draining(self) -> bool:
        """Whether the process is stopping."""
        return self._draining

    def standing(self, name: str) -> Standing:
        """Look one dependency up."""
        return self._standings[name]

    def report(self) -> Report:
        """Tell everything now; never blocks."""
        return Report(self._state, self._since, self._draining, dict(self._standings))

    def subscribe(self, listener: Callable[[Report], None]) -> None:
        """Call `listener` now and after each change of any dependency's state."""
        self._listeners.append(listener)
        listener(self.report())

    def _settle(self) -> None:
        states = {each.state for each in self._standings.values()}
        whole = State.DOWN if self._draining or State.DOWN in states else max(states, key=list(State).index)
        if whole is not self._state:
            self._state, self._since = whole, self._clock.now()
        report = self.report()
        for listener in self._listeners:
            listener(report)
