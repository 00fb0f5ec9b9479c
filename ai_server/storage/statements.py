"""Named SQL, and programs made of it.

A *program* is a generator that yields one `Statement` at a time and is sent the rows: the rules of the store without
any database driver. SQLite's writer thread and PostgreSQL's connection each run the same programs.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final, Protocol, TypeVar

T = TypeVar("T")

Row = Mapping[str, Any]
Program = Generator["Statement", "Sequence[Row]", T]

FOLDER: Final = resources.files("ai_server.storage") / "sql"
NAME: Final = re.compile(r"^-- name: (\w+)$", re.MULTILINE)
PARAMETER: Final = re.compile(r"(?<!:):(\w+)")
SHARED_FILES: Final = ("ledger", "requests", "journal", "index")


@dataclass(frozen=True, slots=True)
class Statement:
    """One named query with its values."""

    name: str
    values: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Numbered:
    """A query in PostgreSQL's notation: `$1` is the value of `parameters[0]`."""

    sql: str
    parameters: tuple[str, ...]


class Runner(Protocol):
    """Runs a program in one durable transaction of its own; what failed leaves nothing behind."""

    def run(self, program: Callable[[], Program[T]]) -> Awaitable[T]:
        """Begin to run it, to the end and to the commit whatever becomes of the caller; programs of the ledger are run
        in the order in which they were begun. What is returned need not be awaited at once.

        Raises (when awaited):
            PasseurError: what the program raised, or NotReady when the database cannot do it.
        """
        ...


def schema(dialect: str) -> str:
    """Read the schema of `sqlite` or `postgres`."""
    return (FOLDER / f"schema_{dialect}.sql").read_text(encoding="utf-8")


def additions() -> str:
    """Read the tables that an older database lacks; harmless where they are there."""
    return (FOLDER / "additions.sql").read_text(encoding="utf-8")


@cache
def queries(dialect: str) -> Mapping[str, str]:
    """Read all queries for a dialect by name: the shared ones and the dialect's own."""
    found: dict[str, str] = {}
    for stem in (*SHARED_FILES, dialect):
        _, *parts = NAME.split((FOLDER / f"{stem}.sql").read_text(encoding="utf-8"))
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            if name in found:
                raise ValueError(f"the query {name} stands twice in the SQL files")
            found[name] = text.strip()
    return found


@cache
def numbered(dialect: str, name: str) -> Numbered:
    """Give a query with numbered parameters."""
    order: list[str] = []

    def number(match: re.Match[str]) -> str:
        if match[1] not in order:
            order.append(match[1])
        return f"${order.index(match[1]) + 1}"

    return Numbered(PARAMETER.sub(number, queries(dialect)[name]), tuple(order))
