"""P29: the index tells the truth. Documents come, change, move and go; every live passage is found by its own vector.

Chroma in its child, through the product's own sync and upsert. After each round the audit asks the durable index for
every passage; a table kept here says which texts live, and what was deleted is asked for by its own vector too.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from ai_server.knowledge.index import ChromaIndex
from ai_server.knowledge.managed import ManagedDocument
from tests.fakes.embedder import word_vector
from tests.fakes.library import PUBLIC, Desk
from tests.torture import workload
from tests.torture.figure import Figure, span

PROMISE = "after any change each live passage is found by its own vector, and nothing deleted is returned"
FULL = 20_000
SHORT = 120
ROUND = 200
"""Passages that one round writes or removes, about."""
LIVE = 600
"""Documents that are kept alive, about."""
ASKED_OF_DELETED = 40
SENT_AGAIN = 20
"""Documents of the managed source that are sent again in a round although nothing about them changed."""
SUBJECTS = [
    "parcel",
    "refund",
    "garden",
    "invoice",
    "window",
    "letter",
    "bridge",
    "candle",
    "market",
    "signal",
    "orchard",
    "harbour",
]


def page(dice: random.Random, number: int) -> str:
    words = " ".join(dice.choices(SUBJECTS, k=9))
    return f"# Page {number}\n\nThis page {dice.randrange(10**9)} tells of {words} at some length for once.\n"


async def run(n: int, seed: int) -> Figure:
    """Churn until `n` passages were written or removed."""
    workload.quiet()
    failures: list[str] = []
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        index = ChromaIndex(Path(name) / "index")
        desk = Desk(Path(name), index=index)
        await desk.service.start()
        try:
            churn = Churn(desk, random.Random(seed), counts)
            while churn.changed < n:
                await churn.round(min(ROUND, n - churn.changed))
                failures += [f"after {churn.changed} of seed {seed}: {each}" for each in await churn.faults()]
        finally:
            await desk.service.close()
    counts["rounds audited"] = counts.pop("rounds")
    return Figure(churn.changed, span(seed, 1), failures, dict(counts))


class Churn:
    """Documents in a folder and in a managed source, and the table of what lives."""

    def __init__(self, desk: Desk, dice: random.Random, counts: Counter[str]) -> None:
        self.changed = 0
        self._desk, self._dice, self._counts = desk, dice, counts
        self._files: dict[str, str] = {}
        self._written: dict[str, str] = {}
        self._sent: dict[str, str] = {}
        self._taken: dict[str, str] = {}
        self._deleted: list[str] = []
        self._number = 0

    async def round(self, size: int) -> None:
        for _ in range(size):
            table = self._files if self._dice.random() < 0.7 else self._sent
            if table and self._dice.random() < (0.5 if len(table) > LIVE / 2 else 0.25):
                self._change(table, self._dice.choice(list(table)))
            else:
                self._number += 1
                table[f"{self._number}.md"] = page(self._dice, self._number)
                self._counts["added"] += 1
            self.changed += 1
        await self._write()
        self._counts["rounds"] += 1

    def _change(self, table: dict[str, str], path: str) -> None:
        how = self._dice.choice(["deleted", "changed", "moved"])
        self._counts[how] += 1
        if how == "moved":
            self._number += 1
            table[f"moved-{self._number}.md"] = table.pop(path)
            return
        self._deleted.append(table.pop(path))
        if how == "changed":
            table[path] = page(self._dice, self._number)

    async def _write(self) -> None:
        for file in self._desk.docs.iterdir():
            if file.name not in self._files:
                file.unlink()
        for path, text in self._files.items():
            if self._written.get(path) != text:
                self._desk.write(path, text)
        self._written = dict(self._files)
        await self._desk.sync()
        held = {entry.path: entry for entry in await self._desk.service.documents("demo", "sent", 1_000, "")}
        gone = [path for path in held if path not in self._sent]
        for start in range(0, len(gone), 100):
            await self._desk.service.delete("demo", "sent", gone[start : start + 100])
        same = [path for path, text in self._sent.items() if self._taken.get(path) == text]
        again = self._dice.sample(same, min(SENT_AGAIN, len(same)))
        fresh = [path for path in self._sent if self._taken.get(path) != self._sent[path]] + again
        for start in range(0, len(fresh), 100):
            sent = [ManagedDocument(path, self._sent[path].encode(), {}) for path in fresh[start : start + 100]]
            await self._desk.service.upsert("demo", "sent", sent)
        self._taken = dict(self._sent)

    async def faults(self) -> list[str]:
        desk = self._desk
        audit = await desk.service.audit("demo")
        faults = []
        if not audit.clean:
            faults.append(f"{len(audit.unreachable)} passages are not found, {len(audit.ghosts)} ghosts")
        live = {*self._files.values(), *self._sent.values()}
        if audit.chunk_count != len(self._files) + len(self._sent):
            faults.append(f"{audit.chunk_count} passages, but {len(self._files) + len(self._sent)} documents live")
        self._counts["self-queries"] += audit.chunk_count
        self._counts["most live"] = max(self._counts["most live"], audit.chunk_count)
        texts = {text.partition("\n\n")[2].strip() for text in live}
        for text in self._dice.sample(self._deleted, min(ASKED_OF_DELETED, len(self._deleted))):
            body = text.partition("\n\n")[2].strip()
            self._counts["asked of deleted"] += 1
            found = await desk.search(body, PUBLIC)
            faults += [f"a deleted text was returned: {body[:40]}" for hit in found.hits if hit.chunk.text not in texts]
        vectors = np.stack([word_vector(text) for text in self._deleted[-ASKED_OF_DELETED:]] or [word_vector("none")])
        registered = {i for row in desk.registry.rows.values() for i in row.chunk_ids}
        collection = desk.service._library("demo").row.collection
        for ids in await desk.index.nearest(collection, vectors, 1):
            faults += [f"a deleted passage was nearest: {each[:8]}" for each in ids if each not in registered]
        return faults
