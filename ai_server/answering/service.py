"""Turns as tasks that the server owns, keyed by client and idempotency key: started once, re-attached, stopped,
stored, and finished truthfully whatever happens to callers or to the process.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ai_server.answering import journal, validation
from ai_server.answering.codec import answer_body, body_digest, decode_result, encode_result
from ai_server.answering.contract import AnswerResult, Outcome, Problem
from ai_server.answering.journal import TurnRecord
from ai_server.answering.turn import Ending, Turn
from ai_server.answering.work import AnswerWork, billed, problem_of
from ai_server.providers.account import turn_of
from ai_server.storage.requests_contract import RequestKey, StoredRequest
from shared import logs
from shared.errors import (
    DeadlinePassed,
    FailedPrecondition,
    IdempotencyConflict,
    NotFound,
    NotReady,
    PasseurError,
    RateLimited,
)
from shared.ids import new_id

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

    from ai_server.answering.contract import AnswerInput, Project
    from ai_server.answering.metrics import TurnMetrics
    from ai_server.answering.work import Tools, Work
    from ai_server.providers.account import CallRecord
    from ai_server.storage.contract import StateStore
    from ai_server.storage.journal_contract import JournalLine
    from shared.clock import Clock

TURN_SECONDS: Final = 180.0
"""Longest that a turn may work."""

RUNNING_LIMIT: Final = 1_024
"""Most turns under way in one process."""

ABANDONED_BATCH: Final = 500
CUT_SECONDS: Final = 6.0
"""Time that cut turns need to settle before the process may go: the drain of a call, and its bookkeeping."""

TOLD_WITHIN_SECONDS: Final = 0.25
"""Longest that whoever stops a turn waits for what its call cost; most models end at once when they are left."""

KEY_TAKEN: Final = "The idempotency key was used with another request: make a new key."
INTERRUPTED: Final = Problem("INTERRUPTED", "The server stopped while it was answering: ask again.")
ABORTED: Final = Problem("ABORTED", "The server stopped this work before it ended: ask again.")
INTERNAL: Final = Problem("INTERNAL", "The server failed in a way that it did not expect: ask again, or later.")
LOG = logs.logger(__name__)


class TurnService:
    """Runs turns."""

    def __init__(
        self,
        tools: Tools,
        projects: Mapping[str, Project],
        store: StateStore,
        clock: Clock,
        *,
        owner: str,
        admit: Callable[[], None],
        metrics: TurnMetrics,
    ) -> None:
        """Wire up. `owner` names this process; `admit` raises `NotReady` when new work is to be refused."""
        self.tools = tools
        self.projects = projects
        self._store = store
        self._clock = clock
        self._owner = owner
        self._admit = admit
        self._metrics = metrics
        self._keyed: dict[RequestKey, tuple[bytes, Turn]] = {}
        self._running: dict[str, tuple[Turn, Work]] = {}
        self._opening: set[asyncio.Task[None]] = set()

    # ---------------------------------------------------------------- starting and finding

    async def answer(self, client: str, asked: AnswerInput, *, streamed: bool = True) -> Turn:
        """Start the turn of an input, or find the one that its key names: running, or ended within 24 h.

        `streamed` false: the caller wants the result alone. Without a key nobody else can come to the turn or stop it
        either, so that its text need not be there before its end.

        Raises:
            InvalidRequest, NotFound, NotReady, RateLimited, IdempotencyConflict: nothing was started.
        """
        validation.check_answer(asked)
        project, assistant = validation.project_and_assistant(self.projects, asked.project_id, asked.assistant)
        watched = streamed or bool(asked.idempotency_key)

        def work(record: TurnRecord) -> Work:
            return AnswerWork(self.tools, project, assistant, asked, record, watched=watched)

        digest = body_digest("answer", answer_body(asked)) if asked.idempotency_key else b""
        return await self.start(
            client, asked.project_id, asked.idempotency_key, digest, "answer", work, detached=asked.detached
        )

    async def start(
        self,
        client: str,
        project_id: str,
        key: str,
        digest: bytes,
        operation: str,
        make: Callable[[TurnRecord], Work],
        *,
        detached: bool,
    ) -> Turn:
        """Start some work as a turn under a key, or find the turn that has it; an empty key is always new."""
        request = RequestKey(client, f"{project_id}/{key}") if key else None
        if request is not None and (known := self._keyed.get(request)) is not None:
            if known[0] != digest:
                raise IdempotencyConflict(KEY_TAKEN)
            return known[1]
        now = self._clock.now()
        turn_id = new_id(now)
        turn = Turn(turn_id, key or turn_id, detached=detached)
        record = TurnRecord(turn_id, project_id, client, key, operation, now)
        if request is None:
            self._refuse_if_busy()
            self._launch(turn, make(record), None)
            return turn
        self._keyed[request] = (digest, turn)
        opening = asyncio.create_task(self._open(request, digest, turn, record, make))
        self._opening.add(opening)
        opening.add_done_callback(self._opened)
        try:
            await asyncio.shield(opening)
        except asyncio.CancelledError:
            if not detached and not turn.readers:
                turn.stop(Ending.STOPPED)
            raise
        return turn

    async def cancel(self, client: str, project_id: str, key: str) -> bool:
        """Stop the turn of a key; tells whether it was running.

        Raises:
            NotFound: nobody used the key.
        """
        request = RequestKey(client, f"{project_id}/{key}")
        known = self._keyed.get(request)
        if known is not None:
            return known[1].stop(Ending.STOPPED)
        if await self._store.requests.find(request) is None:
            raise NotFound("No turn has that idempotency key.")
        return False

    async def explain(self, client: str, project_id: str, *, turn_id: str = "", key: str = "") -> JournalLine:
        """Find what a turn left in the journal.

        Raises:
            NotFound: there is no such turn in this project.
            FailedPrecondition: its key is known, but it has no journal line: it still runs, or was cut off.
        """
        line = await self._store.journal.line(project_id, turn_id=turn_id, client=client if key else "", key=key)
        if line is not None:
            return line
        request = RequestKey(client, f"{project_id}/{key}")
        if key and (request in self._keyed or await self._store.requests.find(request) is not None):
            raise FailedPrecondition("This turn has left no journal line: it still runs, or was cut off.")
        raise NotFound("There is no such turn.")

    def observe(self, call: CallRecord) -> None:
        """Note a paid call under the turn that its ledger key begins with."""
        running = self._running.get(turn_of(call.key))
        if running is not None:
            running[1].record.calls.append(call)

    @property
    def running_count(self) -> int:
        """How many turns are under way."""
        return len(self._running)

    # ---------------------------------------------------------------- life of the process

    async def recover(self, departed: Collection[int] | None = None) -> int:
        """Finish as FAILED what a process that died left running, or the `departed` servers alone; tells how many."""
        count = 0
        while found := await self._store.requests.abandoned(self._owner, ABANDONED_BATCH, departed):
            for each in found:
                await self._store.requests.finish(each.key, encode_result(_interrupted(each.turn_id)))
            count += len(found)
        return count

    async def drain(self, grace_s: float) -> None:
        """Let running turns finish; those that do not are cut in time to be settled within the grace period."""
        with suppress(TimeoutError):
            async with asyncio.timeout(max(grace_s - CUT_SECONDS, grace_s / 2)):
                await self._idle()
        for turn in [turn for turn, _ in self._running.values()] + [turn for _, turn in self._keyed.values()]:
            turn.stop(Ending.INTERRUPTED)
        with suppress(TimeoutError):
            async with asyncio.timeout(CUT_SECONDS):
                await self._idle()

    async def _idle(self) -> None:
        """Wait until nothing runs; a turn whose key is still being claimed was admitted and is waited for too."""
        while waiting := self._opening | self._tasks():
            await asyncio.wait(waiting)

    # ---------------------------------------------------------------- running

    async def _open(
        self, request: RequestKey, digest: bytes, turn: Turn, record: TurnRecord, make: Callable[[TurnRecord], Work]
    ) -> None:
        """Claim the key and launch, or end the turn with what the key's holder came to. Never left half done: the
        caller may leave meanwhile.
        """
        try:
            found = await self._claimed(request, digest, turn)
            if found is None:
                self._launch(turn, make(record), request)
                return
            result = decode_result(found.result) if found.result is not None else _interrupted(found.turn_id)
            turn.say(result.text)
            turn.end(result)
        except Exception as error:
            turn.fail(error)
            raise
        finally:
            if turn.task is None:
                self._keyed.pop(request, None)

    async def _claimed(self, request: RequestKey, digest: bytes, turn: Turn) -> StoredRequest | None:
        """Make the key ours (None), or return the request that has it."""
        try:
            self._refuse_if_busy()
        except PasseurError:
            found = await self._store.requests.find(request)
            if found is None:
                raise
            if found.body_digest != digest:
                raise IdempotencyConflict(KEY_TAKEN) from None
            return found
        claim = StoredRequest(request, digest, turn.turn_id, self._owner, None, self._clock.now())
        return await self._store.requests.claim(claim)

    def _refuse_if_busy(self) -> None:
        self._admit()
        if len(self._running) >= RUNNING_LIMIT:
            raise RateLimited(f"{RUNNING_LIMIT:,} turns are under way: try again in a moment.", None)

    def _launch(self, turn: Turn, work: Work, request: RequestKey | None) -> None:
        self._running[turn.turn_id] = (turn, work)
        turn.task = asyncio.create_task(self._run(turn, work, request), name=f"turn {turn.turn_id}")

    def _opened(self, opening: asyncio.Task[None]) -> None:
        """Forget a claim that is made or refused; whoever asked has its error."""
        self._opening.discard(opening)
        if not opening.cancelled():
            opening.exception()

    def _tasks(self) -> set[asyncio.Task[None]]:
        return {turn.task for turn, _ in self._running.values() if turn.task is not None}

    async def _run(self, turn: Turn, work: Work, request: RequestKey | None) -> None:
        """Work, keep the result durably, then tell it."""
        started = self._clock.monotonic()
        self._metrics.started()
        try:
            result = await self._outcome(turn, work)
            turn.conclude()
            seconds = self._clock.monotonic() - started
            result = replace(result, duration_ms=round(seconds * 1000))
            self._metrics.ended(work.record, result, seconds)
            if self.tools.chains.left(turn.turn_id):
                await self._keep_cut(turn, work.record, request, result)
            else:
                await self._keep(work.record, request, result)
                turn.end(result)
        except BaseException as error:
            if not turn.ended:
                turn.fail(NotReady("The server is stopping."))
            LOG.exception("turn lost", turn_id=turn.turn_id, exc_info=error)
            raise
        finally:
            self._running.pop(turn.turn_id, None)
            if request is not None:
                self._keyed.pop(request, None)

    async def _outcome(self, turn: Turn, work: Work) -> AnswerResult:
        """Run the work to a result, whichever way it ends."""
        if not turn.begin():
            return work.cut(*_cut_as(turn))
        try:
            async with asyncio.timeout(TURN_SECONDS):
                return await work.run(turn)
        except asyncio.CancelledError:
            return work.cut(*_cut_as(turn))
        except TimeoutError:
            late = DeadlinePassed(f"The answer took longer than {TURN_SECONDS:.0f} seconds: ask for less at once.")
            return work.cut(_cut_outcome(turn), problem_of(late))
        except PasseurError as error:
            LOG.info("turn failed", turn_id=turn.turn_id, reason=error.reason)
            return work.cut(_cut_outcome(turn), problem_of(error))
        except Exception:
            LOG.exception("turn failed", turn_id=turn.turn_id)
            return _broken(turn, work)

    async def _keep(self, record: TurnRecord, request: RequestKey | None, result: AnswerResult) -> None:
        """Write the result and the journal line together, beside the settlement of the last call; a store that cannot
        write costs the record, not the answer, and the key then tells the truth again once it is asked for.
        """
        begun = [self._store.journal.append(journal.line(record, result, self._clock.now()))]
        if request is not None:
            begun.append(self._store.requests.finish(request, encode_result(result)))
        await self._written(record, begun)
        await self.tools.chains.settled(record.turn_id)

    async def _keep_cut(self, turn: Turn, record: TurnRecord, request: RequestKey | None, result: AnswerResult) -> None:
        """Write and tell the result of a turn that left a call (somebody pressed stop) without waiting for what that
        may still send, which can take seconds: then its cost is unknown to the result. The journal line comes after
        the settlement and has it.
        """
        settled = await self.tools.chains.settled(record.turn_id, TOLD_WITHIN_SECONDS)
        told = billed(record, result) if settled else replace(result, cost_nanousd=None)
        if request is not None:
            await self._written(record, [self._store.requests.finish(request, encode_result(told))])
        turn.end(told)
        await self.tools.chains.settled(record.turn_id)
        line = journal.line(record, billed(record, result), self._clock.now())
        await self._written(record, [self._store.journal.append(line)])

    async def _written(self, record: TurnRecord, begun: Sequence[Awaitable[None]]) -> None:
        for each in begun:
            try:
                await each
            except Exception:
                LOG.exception("turn not recorded", turn_id=record.turn_id)


def _broken(turn: Turn, work: Work) -> AnswerResult:
    """Give the result of a turn that a fault of ours ended; what it did so far may be what is broken."""
    try:
        return work.cut(_cut_outcome(turn), INTERNAL)
    except Exception:
        LOG.exception("turn cannot tell what it did", turn_id=turn.turn_id)
        return AnswerResult(_cut_outcome(turn), turn.turn_id, turn.text, cost_nanousd=None, problem=INTERNAL)


def _cut_outcome(turn: Turn) -> Outcome:
    return Outcome.TRUNCATED if turn.text else Outcome.FAILED


def _cut_as(turn: Turn) -> tuple[Outcome, Problem | None]:
    """Say how a turn that was cancelled ended: by somebody's wish, with the server, or from inside."""
    if turn.ending is Ending.STOPPED:
        return Outcome.STOPPED, None
    return _cut_outcome(turn), INTERRUPTED if turn.ending is Ending.INTERRUPTED else ABORTED


def _interrupted(turn_id: str) -> AnswerResult:
    """Give the result of a turn whose process died: nobody knows what it said or cost."""
    return AnswerResult(Outcome.FAILED, turn_id, cost_nanousd=None, problem=INTERRUPTED)
