"""Where documents are parsed: behind one small door, so that untrusted files can be kept away from the server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from ai_server.knowledge import documents

if TYPE_CHECKING:
    from ai_server.knowledge.loaders.model import Loaded


class Parser(Protocol):
    """Turns a file's bytes into headed text."""

    async def load(self, name: str, data: bytes) -> Loaded:
        """Read a document by the ending of its name.

        Raises:
            Rejected: why not, and what to do.
        """
        ...

    async def close(self) -> None:
        """Release what parsing took; idempotent."""
        ...


class ThreadParser:
    """Parses in a thread of this process: for formats whose readers are bounded by the size of the file."""

    async def load(self, name: str, data: bytes) -> Loaded:
        """Read a document; see `Parser`."""
        return await asyncio.to_thread(documents.load, name, data)

    async def close(self) -> None:
        """Nothing to release."""
