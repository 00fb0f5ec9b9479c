"""A fork server for kills during a sync: `python -m tests.torture.index_kills JSON`. Single-threaded.

What a child would import is imported here once, before any fork: half of a trial's processor time was that.

Each trial forks a child that is server and index in one process (Chroma opened in it, the registry in SQLite), and
kills it: before or after its Nth call to the index, or at a random instant. Another child then opens what was left,
syncs, audits, and compares with the folder.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import chromadb.api.rust
import chromadb.telemetry.product.posthog  # noqa: F401
import py3langid  # noqa: F401

import ai_server.knowledge.loaders.markdown  # noqa: F401
from ai_server.knowledge import index_child
from ai_server.knowledge.contract import FileLine, FileStatus, ProjectKnowledge, SourceSpec
from ai_server.knowledge.durable import IndexLost
from ai_server.knowledge.index import ChromaIndex
from ai_server.knowledge.parsing import ThreadParser
from ai_server.knowledge.service import KnowledgeService
from ai_server.storage.sqlite import SqliteStateStore
from shared.clock import SystemClock
from tests.fakes.embedder import FakeEmbedder
from tests.fakes.library import DEFAULTS, KEYS, PUBLIC, SPENDING
from tests.torture import workload
from tests.torture.p29 import SUBJECTS

DOCUMENTS = 24
PARAGRAPHS = 5
MOST_CALLS = 16
LONGEST_RUN = 1.2
CHILD_SECONDS = 60.0
FAILED = 3


class OpenIndex(ChromaIndex):
    """Chroma in this very process, dying when it is told."""

    def __init__(self, folder: Path, *, die_at: int = -1, after: bool = False) -> None:
        super().__init__(folder)
        self._left, self._after = die_at, after
        self._open = False
        self._thread = ThreadPoolExecutor(1)  # as a child has one

    async def probe(self) -> None:
        """Here as long as we are."""

    async def _call(self, function, *arguments):
        run = partial(asyncio.get_running_loop().run_in_executor, self._thread)
        if not self._open:
            await run(index_child.open_index, str(self._folder))
            self._open = True
        if self._left == 0 and not self._after:
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            return await run(function, *arguments)
        except Exception as exc:
            raise IndexLost(f"The index of documents refused: {type(exc).__name__}: {exc}") from exc
        finally:
            if self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            self._left -= 1


def _paragraph(dice: random.Random) -> str:
    words = " ".join(dice.choices(SUBJECTS, k=90))
    return f"Paragraph {dice.randrange(10**9)} tells of {words}."


def write_folder(root: Path, dice: random.Random) -> None:
    """Change a folder: pages come, change, move and go."""
    root.mkdir(exist_ok=True)
    for file in sorted(root.iterdir()):
        if dice.random() < 0.3:
            file.unlink()
        elif dice.random() < 0.1:
            file.rename(root / f"moved-{dice.randrange(10**6)}.md")
    for number in range(DOCUMENTS):
        if dice.random() < 0.5:
            text = "\n\n".join(_paragraph(dice) for _ in range(PARAGRAPHS))
            (root / f"{number}.md").write_text(f"# Page {number}\n\n{text}\n", encoding="utf-8")


async def work(folder: Path, index: OpenIndex) -> tuple[KnowledgeService, SqliteStateStore, SourceSpec]:
    """Open everything and sync the folder."""
    source = SourceSpec("handbook", folder / "docs", DEFAULTS, {})
    store = SqliteStateStore(folder / "state.sqlite", SystemClock())
    await store.open()
    project = ProjectKnowledge("demo", (source,), KEYS, ("en",))
    service = KnowledgeService(
        [project],
        {"demo": FakeEmbedder()},
        store.index,
        folder / "ai",
        SystemClock(),
        index=index,
        parser=ThreadParser(),
    )
    await service.start()
    return service, store, source


async def sync(folder: Path, die_at: int, *, after: bool) -> None:
    """Be the server that dies, or not."""
    service, store, source = await work(folder, OpenIndex(folder / "index", die_at=die_at, after=after))
    async for _ in service.sync("demo", source):
        pass
    await service.close()
    await store.close()


async def check(folder: Path) -> list[str]:
    """Be the server of the next start: it must come up, sync, and tell the truth."""
    service, store, source = await work(folder, OpenIndex(folder / "index"))
    faults: list[str] = []
    try:
        lines = [event async for event in service.sync("demo", source) if isinstance(event, FileLine)]
        faults += [f"{line.path}: {line.reason}" for line in lines if line.status is FileStatus.REJECTED]
        audit = await service.audit("demo")
        if not audit.clean:
            faults.append(f"{len(audit.unreachable)} not found by their own vector, {len(audit.ghosts)} ghosts")
        names = {path.name for path in source.root.iterdir()}
        held = {entry.path for entry in await service.documents("demo", "", 1_000, "")}
        if held != names:
            faults.append(f"documents differ from the folder: {sorted(held ^ names)[:3]}")
        found = await service.search("demo", "Paragraph tells", PUBLIC, limit=50, language="en", spending=SPENDING)
        faults += [f"a gone page is still found: {hit.chunk.path}" for hit in found.hits if hit.chunk.path not in names]
    finally:
        await service.close()
        await store.close()
    return faults


def forked(folder: Path, job) -> int:
    """Run a coroutine in a forked child; gives its pid."""
    pid = os.fork()
    if pid == 0:
        code = FAILED
        try:
            faults = asyncio.run(job)
            (folder / "faults.json").write_text(json.dumps(faults or []))
            code = 0
        except BaseException as exc:  # noqa: BLE001 - the boundary to the parent, which reads the file
            (folder / "faults.json").write_text(json.dumps([f"{type(exc).__name__}: {exc}"]))
        finally:
            os._exit(code)
    job.close()
    return pid


def ended(pid: int) -> int:
    """Wait for a child, bounded; one that hangs is killed."""
    ends = time.monotonic() + CHILD_SECONDS
    while time.monotonic() < ends:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return -1


def trial(folder: Path, seed: int, counts: Counter[str]) -> list[str]:
    """Kill one sync, then look at what the next start makes of it; the folder goes on from trial to trial."""
    dice = random.Random(f"p29/{seed}")
    write_folder(folder / "docs", dice)
    how = dice.choice(["before a call", "after a call", "at an instant"])
    at = dice.randrange(MOST_CALLS) if how != "at an instant" else -1
    pid = forked(folder, sync(folder, at, after=how == "after a call"))
    if how == "at an instant":
        time.sleep(dice.random() * LONGEST_RUN)
        os.kill(pid, signal.SIGKILL)
    status = ended(pid)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    counts[f"{how}: {'killed' if killed else 'ended'}"] += 1
    told = [] if killed or status == 0 else [f"the sync itself failed: {(folder / 'faults.json').read_text()}"]
    if ended(forked(folder, check(folder))) == -1:
        return [*told, "the next start hung"]
    counts["put aside and rebuilt"] += len(list((folder / "index").glob("chroma.damaged-*")))
    return [*told, *json.loads((folder / "faults.json").read_text())]


def main(given: str) -> None:
    """Run trials `seed` to `seed + n`, and print what became of them."""
    asked = json.loads(given)
    workload.quiet()
    counts: Counter[str] = Counter()
    failures: list[str] = []
    folder = Path(asked["folder"])
    for seed in range(asked["seed"], asked["seed"] + asked["n"]):
        faults = trial(folder, seed, counts)
        failures += [f"seed {seed}: {fault}" for fault in faults]
        if faults:
            shutil.rmtree(folder)
            folder.mkdir()
    print(json.dumps({"failures": failures, "counts": counts}))


if __name__ == "__main__":
    main(sys.argv[1])
