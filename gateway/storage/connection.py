"""One database connection as the rooms of storage use it, whichever database it is.

What every turn asks is a constant of its room, with a `bindparam` for what differs: making and naming a statement costs
SQLAlchemy several times what running it does. So what comes with parameters must be such a constant, which a connection
may keep ready for its driver (`prepared`). A parameter of a WHERE is called `of_…`, because in INSERT and UPDATE one
that is called like a column is what the column is set to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import sqlalchemy as sa

Parameters = Mapping[str, Any]


class Connection(Protocol):
    """A connection inside a transaction."""

    async def rows(self, statement: sa.Executable, parameters: Parameters | None = None) -> Sequence[Mapping[str, Any]]:
        """Run a statement and read all its rows; queries are bounded by their LIMIT."""
        ...

    async def run(self, statement: sa.Executable, parameters: Parameters | Sequence[Parameters] | None = None) -> int:
        """Run a statement, once for each of several parameters, and tell how many rows it changed where it ran once."""
        ...

    def insert(self, table: sa.Table) -> Any:
        """Start an INSERT that knows `on_conflict_do_update`."""
        ...

    def insert_new(self, table: sa.Table) -> sa.Executable:
        """Give the INSERT of a row that changes nothing where a row like it is kept; made once a table."""
        ...


async def one(
    connection: Connection, statement: sa.Executable, parameters: Parameters | None = None
) -> Mapping[str, Any] | None:
    """Read the first row, if any."""
    found = await connection.rows(statement, parameters)
    return found[0] if found else None


async def number(connection: Connection, statement: sa.Executable) -> int:
    """Read the one number of the first row; 0 when there is none."""
    found = await one(connection, statement)
    return 0 if found is None else int(next(iter(found.values())))


def plain(rows: sa.CursorResult[Any]) -> Sequence[Mapping[str, Any]]:
    """Read all rows of a result by the names of their columns."""
    names = tuple(rows.keys())
    return [dict(zip(names, row, strict=True)) for row in rows.all()]
