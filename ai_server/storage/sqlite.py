"""The state store in one SQLite file: one process, one connection, one writer thread, every commit synced."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Final

from ai_server.storage import stores
from ai_server.storage.sqlite_connection import InstanceLock, Tuning
from ai_server.storage.sqlite_writer import SqliteWriter
from shared import logs

if TYPE_CHECKING:
    from pathlib import Path

    from shared.clock import Clock

INSTANCE: Final = 0
"""There is never a second process, so all of them have the same number."""

log = logs.logger(__name__)


class SqliteStateStore(stores.ProgramStores):
    """`StateStore` for one machine. Make it, `open` it, and `close` it last."""

    def __init__(self, path: Path, clock: Clock, tuning: Tuning | None = None) -> None:
        """Use the file at `path`; its folder is made on opening."""
        self._path = path
        self._clock = clock
        self._lock = InstanceLock(path)
        self._writer = SqliteWriter(path, tuning or Tuning())
        super().__init__(self._writer, INSTANCE)

    async def open(self) -> None:
        """Take the instance lock, open the file, create its schema; may be retried after a failure."""
        self._lock.take()
        try:
            await self._writer.start()
        except BaseException:
            await self.close()
            raise
        version = sqlite3.sqlite_version
        log.info("state store open", kind="sqlite", path=str(self._path), version=version, journal="wal, exclusive")

    async def probe(self) -> None:
        """Write and sync one small row."""
        await self._writer.run(stores.probe)

    async def close(self) -> None:
        """Finish what is queued, close the file, release the lock."""
        await self._writer.stop()
        self._lock.release()
