"""One database connection as the rooms of storage use it, whichever database it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import sqlalchemy as sa


class Connection(Protocol):
    """A connection inside a transaction."""

    async def rows(self, statement: sa.Executable) -> Sequence[Mapping[str, Any]]:
        """Run a statement and read all its rows; queries are bounded by their LIMIT."""
        ...

    async def run(self, statement: sa.Executable) -> int:
        """Run a statement and tell how many rows it changed."""
        ...

    def insert(self, table: sa.Table) -> Any:
        """Start an INSERT that knows `on_conflict_do_nothing` and `on_conflict_do_update`."""
        ...


async def one(connection: Connection, statement: sa.Executable) -> Mapping[str, Any] | None:
    """Read the first row, if any."""
    found = await connection.rows(statement)
    return found[0] if found else None


async def number(connection: Connection, statement: sa.Executable) -> int:
    """Read the one number of the first row; 0 when there is none."""
    found = await one(connection, statement)
    return 0 if found is None else int(next(iter(found.values())))
