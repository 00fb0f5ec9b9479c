"""P27: files made to hurt are refused in bounded time and memory, in children that can be killed."""

from __future__ import annotations

import asyncio
import os
import resource
import tempfile
import time
from collections import Counter
from pathlib import Path

from ai_server.knowledge import documents
from ai_server.knowledge.loaders.model import Rejected
from ai_server.knowledge.parsing import ChildParser
from gateway.attachments.darkroom import ChildDarkroom
from gateway.attachments.headers import IMAGE_TYPES
from gateway.attachments.service import check_document, check_image, size_limit
from shared.children import Child
from shared.errors import PasseurError
from shared.memory import return_large_blocks
from tests.fakes.hostile_files import Made, saved, write_down
from tests.torture import workload
from tests.torture.figure import Figure, span

PROMISE = (
    "hostile images, PDFs, Word files, texts and tables: refused, within 5 s of processor and 512 MB, server unmoved"
)
FULL = 590
SHORT = 6
PROCESSOR_S = 6.0
"""5 s for the file itself, and the child's own start."""

CHILD_LIMIT = 700 * 1024 * 1024
"""512 MB for the file, beside what the reader itself is."""

SERVER_LIMIT = 48 * 1024 * 1024
POLL_S = 0.02


async def run(n: int, seed: int) -> Figure:
    """Upload `n` files as the product takes them, and good ones at the end."""
    workload.quiet()
    return_large_blocks()  # as both services do when they start
    hits: Counter[str] = Counter()
    failures: list[str] = []
    taken = 0
    worst = {"processor": 0.0, "resident": 0}
    darkroom, parser = ChildDarkroom(), ChildParser()
    try:
        await parser.load("first.txt", b"It starts the child.")
        before = resident("self")
        with tempfile.TemporaryDirectory() as folder:
            while taken < n:
                for each in await make(Path(folder), f"{seed}.{taken}", n - taken):
                    faults = await upload(each, darkroom, parser, worst, hits)
                    failures += [f"seed {seed}: {each.name}: {fault}" for fault in faults]
                    taken += 1
        await parser.load("last.txt", b"It is still read.")
        await darkroom.develop(saved("PNG"))
        grown = resident("self") - before
        if grown > SERVER_LIMIT:
            failures.append(f"seed {seed}: the server grew by {grown / 2**20:.0f} MB")
    finally:
        await parser.close()
    notes = {
        **dict(sorted(hits.items())),
        "most processor time of a child, s": round(worst["processor"], 2),
        "most resident memory of a child, MB": worst["resident"] // 2**20,
        "server grown, MB": grown // 2**20,
    }
    return Figure(n, span(seed, 1), failures, notes)


async def make(folder: Path, seed: str, count: int) -> list[Made]:
    """Have files made by a child that is gone before they are uploaded, so that what making takes is not counted."""
    maker = Child(workload.quiet)
    try:
        return await maker.call(write_down, folder, seed, count)
    finally:
        await maker.close()


async def upload(
    file: Made, darkroom: ChildDarkroom, parser: ChildParser, worst: dict[str, float], hits: Counter[str]
) -> list[str]:
    """Do with a file what an upload does; tells what is not as promised."""
    data = await asyncio.to_thread(file.path.read_bytes)
    watching = asyncio.create_task(watch())
    started = time.monotonic()
    refusal = ""
    try:
        if len(data) > size_limit(file.media_type):
            refusal = "too large"
        elif file.media_type in IMAGE_TYPES:
            check_image(data, file.media_type)
            await darkroom.develop(data)
        else:
            check_document(data, file.media_type)
            await parser.load(documents.name_for(file.name, file.media_type), data)
    except (PasseurError, Rejected) as exc:
        refusal = str(exc) or type(exc).__name__
    seconds = time.monotonic() - started
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    processor, memory = PEAKS
    worst["processor"], worst["resident"] = max(worst["processor"], processor), max(worst["resident"], memory)
    hits["refused" if refusal else "read"] += 1
    faults = []
    if file.refused and not refusal:
        faults.append("it was taken")
    if processor > PROCESSOR_S:
        faults.append(f"{processor:.1f} s of processor time ({seconds:.1f} s in all)")
    if memory > CHILD_LIMIT:
        faults.append(f"{memory / 2**20:.0f} MB in a child")
    return faults


PEAKS = (0.0, 0)
"""Processor seconds and bytes of the hungriest child during the last upload."""


async def watch() -> None:
    """Look at the children until cancelled."""
    global PEAKS  # noqa: PLW0603 - what a cancelled task saw
    PEAKS = (0.0, 0)
    began = {pid: used(pid) for pid in children()}
    while True:
        for pid in children():
            spent = used(pid) - began.get(pid, 0.0)
            PEAKS = max(PEAKS[0], spent), max(PEAKS[1], resident(str(pid)))
        await asyncio.sleep(POLL_S)


def children() -> list[int]:
    """Name the processes that this one started."""
    tasks = Path("/proc/self/task").glob("*/children")
    return [int(each) for task in tasks for each in _read(task).split()]


def used(pid: int) -> float:
    """Tell a process's processor time."""
    parts = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK") if parts else 0.0


def resident(pid: str) -> int:
    """Tell a process's resident memory."""
    parts = _read(Path(f"/proc/{pid}/statm")).split()
    return int(parts[1]) * resource.getpagesize() if parts else 0


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""  # it ended meanwhile
