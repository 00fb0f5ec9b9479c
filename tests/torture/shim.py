"""Builds `shim.c` once and speaks to it inside a process that was started with it."""

from __future__ import annotations

import asyncio
import ctypes
import hashlib
import json
import os
import shutil
import struct
import sys
import tempfile
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

SOURCE = Path(__file__).with_name("shim.c")
HEAD = struct.Struct("<cHqI")
BUILD_SECONDS = 60.0


class Mode(IntEnum):
    """What happens at the chosen call."""

    OFF = 0
    COUNT = 1
    KILL = 2
    KILL_TORN = 3
    FAIL_ONCE = 4
    FAIL_ON = 5


@dataclass(frozen=True)
class Call:
    """One traced call: C create, W write, S sync, T truncate, U unlink, M mark (number in `offset`)."""

    kind: str
    name: str
    offset: int
    data: bytes


async def build() -> Path | None:
    """Compile the shim into the temporary folder; None without a C compiler."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        return None
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    built = Path(tempfile.gettempdir()) / f"passeur-shim-{os.getuid()}-{digest}.so"
    if not built.exists():
        draft = built.with_suffix(f".{os.getpid()}")
        words = [compiler, "-O1", "-shared", "-fPIC", "-o", str(draft), str(SOURCE), "-ldl", "-lpthread"]
        process = await asyncio.create_subprocess_exec(*words, stderr=asyncio.subprocess.PIPE)
        _, told = await asyncio.wait_for(process.communicate(), BUILD_SECONDS)
        if process.returncode:
            raise RuntimeError(f"the shim does not compile: {told.decode()}")
        draft.rename(built)
    return built


async def under_shim(module: str, **arguments: object) -> dict[str, object] | None:
    """Run `python -m module JSON` with the shim loaded and read its JSON answer; None without a compiler."""
    built = await build()
    if built is None:
        return None
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        json.dumps(arguments),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "LD_PRELOAD": str(built), "PYTHONHASHSEED": "0"},
    )
    answer, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"{module} ended with {process.returncode}")
    return json.loads(answer.splitlines()[-1])


def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(None)
    library.shim_calls.restype = ctypes.c_long
    return library


def arm(folder: Path, mode: Mode, at: int, error: int = 5) -> None:
    """Choose the folder and the call, counted from now."""
    _library().shim_arm(str(folder).encode(), int(mode), ctypes.c_long(at), error)


def calls() -> int:
    """Tell the durable calls since `arm`."""
    return _library().shim_calls()


def trace(descriptor: int) -> None:
    """Write every call from now on to this file."""
    _library().shim_trace(descriptor)


def mark(number: int) -> None:
    """Put a number into the trace: an acknowledgement."""
    _library().shim_mark(ctypes.c_int64(number))


def read_trace(text: bytes) -> list[Call]:
    """Read a whole trace."""
    found, at = [], 0
    while at < len(text):
        kind, name_length, offset, length = HEAD.unpack_from(text, at)
        at += HEAD.size
        name = text[at : at + name_length].decode()
        at += name_length
        found.append(Call(kind.decode(), name, offset, text[at : at + length]))
        at += length
    return found


def scratch() -> Path:
    """Make a folder in memory where there is one: what is shown does not depend on the disk's own speed."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="passeur-torture-", dir=memory if memory.is_dir() else None))
