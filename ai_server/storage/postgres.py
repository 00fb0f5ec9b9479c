"""The state store in PostgreSQL, for several AI servers on one ledger. Needs the extra `postgres`."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

from ai_server.storage import stores
from ai_server.storage.postgres_writer import PostgresWriter
from shared import logs

if TYPE_CHECKING:
    from shared.clock import Clock

INSTANCE_BITS: Final = 31

log = logs.logger(__name__)


class PostgresStateStore(stores.ProgramStores):
    """`StateStore` for several servers. Make it, `open` it, and `close` it last."""

    def __init__(self, dsn: str, clock: Clock) -> None:
        """Use the database at `dsn` (`postgresql://user:password@host/name`), which must exist."""
        self._clock = clock
        self._instance = secrets.randbits(INSTANCE_BITS)
        self._writer = PostgresWriter(dsn, self._instance)
        super().__init__(self._writer, self._instance)

    async def open(self) -> None:
        """Connect, create the schema if the database is empty; may be retried after a failure."""
        await self._writer.start()
        log.info("state store open", kind="postgresql", instance=self._instance)

    async def probe(self) -> None:
        """Write and sync one small row."""
        await self._writer.run(stores.probe)

    async def close(self) -> None:
        """Finish what is queued and disconnect."""
        await self._writer.stop()
