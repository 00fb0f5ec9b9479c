"""What a turn makes the gateway do, counted: statements, crossings into a thread, tasks. Decisions 0050 and 0087."""

import asyncio
from collections import Counter

import pytest
import sqlalchemy as sa

TURNS = 4
STATEMENTS = 19
"""Of one turn: each more is a price that every turn pays."""
COMMITS = 2
"""The message is kept before it is answered, the answer before it is shown."""


@pytest.fixture
def asked(services):
    """Count what the store is asked, what of it SQLAlchemy has to run, and what crosses into the store's thread."""
    connection, counts = services.store._connection, Counter()

    def counting(name, method):
        def counted(*arguments):
            counts[name] += 1
            return method(*arguments)

        setattr(connection, name, counted)

    for name in ("rows", "run", "aside"):
        counting(name, getattr(connection, name))
    sa.event.listen(connection._connection, "before_execute", lambda *_: counts.update(sqlalchemy=1))
    return counts


@pytest.fixture
async def tasks():
    """Count the tasks that our own code makes, by the function that they run."""
    counts = Counter()

    def made(loop, coroutine, **options):
        code = getattr(coroutine, "cr_code", None)
        if code is not None and "/gateway/" in code.co_filename and "/tests/" not in code.co_filename:
            counts[coroutine.__qualname__] += 1
        return asyncio.Task(coroutine, loop=loop, **options)

    loop = asyncio.get_running_loop()
    loop.set_task_factory(made)
    yield counts
    loop.set_task_factory(None)


async def test_a_turn_asks_few_statements_of_the_driver_and_makes_two_tasks(browser, conversation, asked, tasks):
    await browser.say(conversation, "une")  # names the conversation, and makes its stream and the statements
    turns: list[Counter[str]] = []
    tasks.clear()
    for number in range(TURNS):
        asked.clear()
        await browser.say(conversation, f"question {number}")
        turns.append(Counter(asked))
    # Leases are kept meanwhile, every three seconds: the turn that they fell into is not the one that is judged.
    least = min(turns, key=lambda each: each["rows"] + each["run"])
    assert least["rows"] + least["run"] <= STATEMENTS
    assert (least["aside"], least["sqlalchemy"]) == (COMMITS, 0)
    assert tasks == {"again": TURNS, "TurnService._run": TURNS}
