"""Rewrites images in child processes that can be killed: at most `AT_ONCE`, each with bounded memory and time."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
from pathlib import Path
from typing import Final

from gateway.attachments.contract import Picture
from shared.env import child_environment
from shared.errors import InvalidRequest, NotImplementedHere, NotReady
from shared.logs import logger

CHILD: Final = Path(__file__).with_name("reencode.py")
AT_ONCE: Final = 2
WAIT_S: Final = 20.0
CHILD_S: Final = 20.0
"""Wall-clock seconds for one image on a busy machine; the child itself stops after 4 s of processor time."""
OUTPUT_LIMIT: Final = 3 * 1024 * 1024
FIELD: Final = "body"

log = logger(__name__)


class ChildDarkroom:
    """See `gateway.attachments.contract.Darkroom`."""

    def __init__(self) -> None:
        """Begin with no child."""
        self._places = asyncio.Semaphore(AT_ONCE)

    async def develop(self, data: bytes) -> Picture:
        """Draw an image anew in a child of its own."""
        if importlib.util.find_spec("PIL") is None:
            raise NotImplementedHere("images in messages (install the extra `documents`)")
        try:
            async with asyncio.timeout(WAIT_S):
                await self._places.acquire()
        except TimeoutError as exc:
            raise NotReady("Too many images are being read: try again in a moment.") from exc
        try:
            return await self._in_child(data)
        finally:
            self._places.release()

    async def _in_child(self, data: bytes) -> Picture:
        pipe = asyncio.subprocess.PIPE
        child = await asyncio.create_subprocess_exec(
            sys.executable, "-I", str(CHILD), stdin=pipe, stdout=pipe, stderr=pipe, env=child_environment()
        )
        try:
            async with asyncio.timeout(CHILD_S):
                told, complaint = await child.communicate(data)
        except TimeoutError as exc:
            raise InvalidRequest.of(FIELD, f"could not be read within {CHILD_S:g} s: make it smaller") from exc
        finally:
            if child.returncode is None:
                child.kill()
                await child.wait()
        return _picture(told, child.returncode, complaint)


def _picture(told: bytes, code: int | None, complaint: bytes) -> Picture:
    head, _, body = told.partition(b"\n")
    if code != 0 or not head:
        log.warning("image_child_died", code=code, said=complaint[-500:].decode("utf-8", "replace"))
        raise InvalidRequest.of(FIELD, "is an image that breaks what reads it")
    answer = json.loads(head)
    if problem := answer.get("problem"):
        raise InvalidRequest.of(FIELD, problem)
    if not body or len(body) > OUTPUT_LIMIT:
        raise InvalidRequest.of(FIELD, "is an image that cannot be made small enough")
    return Picture(answer["media_type"], body)
