"""P26 for what is searched: people with different rights over canary documents; nobody is given what is not theirs.

Every document carries a word that no other has. What a person may read is worked out here by plain loops over the
documents as they were written, and compared with what search and `passage` give; rights change while they ask.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ai_server.knowledge.contract import KeySpec, ProjectKnowledge, SourceSpec, SyncSummary
from tests.fakes.library import SPENDING, Desk
from tests.torture import workload
from tests.torture.figure import Figure, span

PROMISE = "search and passages give a person what their contexts allow, and nothing else, while rights change"
FULL = 10_000
SHORT = 150
DOCUMENTS = 60
QUERIES_BETWEEN_CHANGES = 50
CHANGED = 4
LIMIT = 50
AIMED_AT_THEIRS = 0.5
"""Share of the questions that go for a document the person may read, where there is one."""
VALUES = {
    "audience": ("public", "members", "staff", "board"),
    "product": ("mail", "disk", "phone", "bank", "none"),
    "country": ("fr", "es", "gb"),
}
KEYS = tuple(KeySpec(name, required=False, values=frozenset(), rights=name != "country") for name in VALUES)
RIGHTS = ("audience", "product")
FILLER = ["the", "desk", "explains", "how", "this", "is", "done", "and", "whom", "to", "ask", "when", "it", "is", "not"]


@dataclass
class World:
    """Documents as they were written: path → metadata values by key."""

    documents: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)

    def allowed(self, path: str, contexts: list[dict[str, frozenset[str]]]) -> bool:
        """Say by plain loops whether one of the contexts allows a document."""
        values = self.documents[path]
        for context in contexts:
            if not context or any(key not in context for key in RIGHTS) or not set(context) <= set(VALUES):
                continue
            if all(any(value in values.get(key, ()) for value in wanted) for key, wanted in context.items()):
                return True
        return False


def canary(path: str) -> str:
    """The word of one document, which no other has."""
    return f"zq{path.removesuffix('.md')}canary"


def write(desk: Desk, world: World, path: str, dice: random.Random) -> None:
    values = {key: tuple(dice.sample(options, dice.choice([0, 1, 1, 1, 2]))) for key, options in VALUES.items()}
    world.documents[path] = {key: given for key, given in values.items() if given}
    front = "".join(f"{key}: [{', '.join(given)}]\n" for key, given in values.items() if given)
    words = " ".join(dice.choices(FILLER, k=12))
    desk.write(path, f"---\nlanguage: en\n{front}---\n# {canary(path)}\n\nFor {canary(path)}, {words}.\n")


def person(dice: random.Random) -> list[dict[str, frozenset[str]]]:
    """Contexts as a server may derive them: also empty ones, ones that lack a key, and ones with unknown keys."""
    made: list[dict[str, frozenset[str]]] = []
    for _ in range(dice.choice([0, 1, 1, 1, 2, 3])):
        context = {
            key: frozenset(dice.sample(VALUES[key], dice.choice([0, 1, 2, 3, 3])))
            for key in RIGHTS
            if dice.random() < 0.95
        }
        if dice.random() < 0.3:
            context["country"] = frozenset(dice.sample(VALUES["country"], dice.choice([0, 1, 2])))
        if dice.random() < 0.05:
            context["unknown"] = frozenset({"x"})
        made.append(context)
    return made


async def run(n: int, seed: int) -> Figure:
    """Ask `n` questions."""
    workload.quiet()
    failures: list[str] = []
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        desk = Desk(Path(name))
        source = SourceSpec("handbook", desk.docs, {}, {})
        desk.project = ProjectKnowledge("demo", (source,), KEYS, ("en",))
        desk.service = desk.fresh()
        await desk.service.start()
        try:
            world = World()
            dice = random.Random(seed)
            for number in range(DOCUMENTS):
                write(desk, world, f"{number}.md", dice)
            await _sync(desk, source)
            for trial in range(seed, seed + n):
                dice = random.Random(f"p26/{trial}")
                if trial % QUERIES_BETWEEN_CHANGES == 0:
                    for number in dice.sample(range(DOCUMENTS), CHANGED):
                        write(desk, world, f"{number}.md", dice)
                    await _sync(desk, source)
                    counts["changes of rights"] += CHANGED
                failures += [f"seed {trial}: {fault}" for fault in await _ask(desk, world, dice, counts)]
        finally:
            await desk.service.close()
    return Figure(n, span(seed, n), failures, dict(counts))


async def _sync(desk: Desk, source: SourceSpec) -> None:
    events = [event async for event in desk.service.sync("demo", source)]
    assert isinstance(events[-1], SyncSummary)


async def _ask(desk: Desk, world: World, dice: random.Random, counts: Counter[str]) -> list[str]:
    contexts = person(dice)
    theirs = [path for path in world.documents if world.allowed(path, contexts)]
    aimed = dice.choice(theirs if theirs and dice.random() < AIMED_AT_THEIRS else list(world.documents))
    query = f"{canary(aimed)} {dice.choice(FILLER)}"
    found = await desk.service.search("demo", query, contexts, limit=LIMIT, language="en", spending=SPENDING)
    given = {hit.chunk.path for hit in found.hits}
    faults = [f"{path} was given to {contexts}" for path in given if not world.allowed(path, contexts)]
    may = world.allowed(aimed, contexts)
    counts["allowed" if may else "forbidden"] += 1
    counts["passages given"] += len(given)
    if may and aimed not in given:
        faults.append(f"{aimed} is theirs and was not found by its own word")
    _, chunks = await desk.service.explain("demo", "handbook", aimed)
    passage = await desk.service.passage("demo", chunks[0].chunk_id, contexts)
    if (passage is not None) is not may:
        faults.append(f"the passage of {aimed} was {'given' if passage else 'refused'}")
    return faults
