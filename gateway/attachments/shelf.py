"""The folder where the bytes of attachments lie, named by their ids."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, Final

from shared.errors import NotReady
from shared.ids import is_id

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SUFFIX: Final = ".part"
LISTED_LIMIT: Final = 10_000


class Shelf:
    """Writes whole or not at all."""

    def __init__(self, folder: Path) -> None:
        """Take the folder; it is made when the first file comes."""
        self._folder = folder

    async def put(self, attachment_id: str, data: bytes) -> None:
        """Keep the bytes of an attachment.

        Raises:
            NotReady: the disk refuses.
        """
        try:
            await asyncio.to_thread(self._write, attachment_id, data)
        except OSError as exc:
            raise NotReady(f"The attachment cannot be kept: {exc.strerror}.") from exc

    async def get(self, attachment_id: str) -> bytes | None:
        """Read the bytes of an attachment; None when they are gone."""
        try:
            return await asyncio.to_thread(self.path(attachment_id).read_bytes)
        except OSError:
            return None

    async def drop(self, attachment_ids: Sequence[str]) -> None:
        """Remove bytes; those that are gone already are no error."""
        for each in attachment_ids:
            await asyncio.to_thread(self.path(each).unlink, missing_ok=True)

    async def ids(self) -> Sequence[str]:
        """Name what lies here, at most `LISTED_LIMIT`."""
        return await asyncio.to_thread(self._list)

    def path(self, attachment_id: str) -> Path:
        """Say where the bytes of an attachment lie."""
        if not is_id(attachment_id):
            raise ValueError(f"{attachment_id!r} is not an attachment's id")
        return self._folder / attachment_id

    def _list(self) -> list[str]:
        if not self._folder.is_dir():
            return []
        names = (each.name for each in self._folder.iterdir())
        return sorted(name for name in names if is_id(name))[:LISTED_LIMIT]

    def _write(self, attachment_id: str, data: bytes) -> None:
        path = self.path(attachment_id)
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = path.with_name(path.name + SUFFIX)
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
