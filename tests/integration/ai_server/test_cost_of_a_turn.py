"""What a turn makes the process do, counted: tasks, transactions, statements. Decision 0035."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from ai_server.answering.contract import Mode
from ai_server.storage.sqlite import SqliteStateStore
from shared.clock import SystemClock
from tests.fakes.ai_server import ai_server
from tests.fakes.documents import FakeKnowledge, chunk, hit
from tests.fakes.generation import ScriptedGenerator, saying

TURNS = 5


class Counted:
    """Counts tasks that our own code makes, by the function that they run."""

    def __init__(self):
        self.tasks = Counter()

    def __call__(self, loop, coroutine, **options):
        code = getattr(coroutine, "cr_code", None)
        if code is not None and "/ai_server/" in code.co_filename and "supervision" not in code.co_filename:
            self.tasks[coroutine.__qualname__] += 1
        return asyncio.Task(coroutine, loop=loop, **options)


@pytest.fixture
async def counted():
    made = Counted()
    loop = asyncio.get_running_loop()
    loop.set_task_factory(made)
    yield made
    loop.set_task_factory(None)


@pytest.mark.parametrize(
    ("fields", "statements"),
    [({}, 14), ({"idempotency_key": "key"}, 16)],
    ids=["without a key", "with a key"],
)
async def test_a_chat_turn_makes_two_tasks_and_two_transactions(tmp_path, counted, fields, statements):
    """Decision 0035; one transaction more claims the key, in a task that a leaving caller cannot stop."""
    store = SqliteStateStore(tmp_path / "state.sqlite", SystemClock())
    generator = ScriptedGenerator(lambda _: saying("Hello."))
    knowledge = FakeKnowledge(hits=(hit(chunk("A passage.")),))
    async with ai_server(generator, knowledge=knowledge, store=store, mode=Mode.CHAT) as rig:
        await rig.answer("How do I export?")
        ran, drive, commit = [], store._writer._drive, store._writer._commit
        transactions = 0

        def committed(batch):
            nonlocal transactions
            before = len(ran)
            commit(batch)
            transactions += any(ran[before:])

        def noted(connection, program):
            seen = 0

            def counting():
                nonlocal seen
                statement = next(program)
                while True:
                    seen += statement.name not in {"probe", "lock_ledger"}
                    try:
                        statement = program.send((yield statement))
                    except StopIteration as end:
                        return end.value

            try:
                return drive(connection, counting())
            finally:
                ran.append(seen)

        store._writer._drive, store._writer._commit = noted, committed
        counted.tasks.clear()
        for number in range(TURNS):
            named = {name: f"{value}{number}" for name, value in fields.items()}
            assert (await rig.answer("How do I export?", **named)).text == "Hello."
        opened = {"TurnService._open": TURNS} if fields else {}
        assert counted.tasks == {"TurnService._run": TURNS, "MeteredGenerator._fly": TURNS, **opened}
        assert (sum(ran), transactions) == (TURNS * statements, TURNS * (2 + len(opened)))
