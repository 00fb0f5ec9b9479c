"""Opening one SQLite file safely: lock, version, pragmas, schema; and what its errors mean."""

from __future__ import annotations

import fcntl
import os
import re
import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ai_server.storage.constraints import domain_error, sqlite_constraint
from ai_server.storage.statements import additions, schema
from shared.errors import InvalidRequest, NotReady, PasseurError

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA_VERSION: Final = 1
OLDEST: Final = (3, 37, 0)
"""First version with STRICT tables (https://sqlite.org/stricttables.html, read 2026-11)."""

RESET_BUG_SINCE: Final = (3, 7, 0)
RESET_BUG_FIXED: Final = ((3, 44, 6), (3, 50, 7), (3, 51, 3))
"""A checkpoint that meets a resetting commit of another connection can lose commits in WAL mode
(https://sqlite.org/wal.html#walresetbug, read 2026-11). One exclusive connection cannot meet itself."""

CACHED_STATEMENTS: Final = 256
OWNER_ONLY: Final = 0o600

CAUSES: Final = {
    "SQLITE_FULL": "the disk is full: free some space",
    "SQLITE_READONLY": "it is read-only: check the permissions of the file and its folder",
    "SQLITE_BUSY": "another process has it open: stop that one",
    "SQLITE_LOCKED": "another process has it open: stop that one",
    "SQLITE_CANTOPEN": "it cannot be opened: check that the folder exists and is writable",
    "SQLITE_CORRUPT": "it is damaged: restore a backup",
    "SQLITE_NOTADB": "it is not a database: move it away or restore a backup",
    "SQLITE_IOERR": "the disk reports an error: check it",
    "SQLITE_PERM": "access is denied: check the permissions",
}


@dataclass(frozen=True, slots=True)
class Tuning:
    """How the writer syncs and groups. The product uses the defaults; benches compare with others."""

    synchronous: str = "FULL"
    max_batch: int = 256


class InstanceLock:
    """Keeps a second process, or a second store in this one, away from the file."""

    def __init__(self, path: Path) -> None:
        """Use a lock file beside the database at `path`."""
        self._path = path.with_name(path.name + ".lock")
        self._descriptor: int | None = None

    def take(self) -> None:
        """Take the lock; nothing when we have it.

        Raises:
            NotReady: another one has it, or the folder cannot be written.
        """
        if self._descriptor is not None:
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise NotReady(f"The state store's folder {self._path.parent} cannot be used: {error.strerror}.") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
            os.close(descriptor)
            raise NotReady(
                f"The state store {self._path.with_suffix('').name} is in use by process {owner or 'unknown'}: "
                "one process at a time may open it."
            ) from error
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._descriptor = descriptor

    def release(self) -> None:
        """Let go; idempotent. The file stays: removing it would let two processes lock two files of one name."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def version_of(text: str) -> tuple[int, ...]:
    """Read `3.40.1` as numbers."""
    return tuple(int(part) for part in re.findall(r"\d+", text)[:3])


def has_reset_bug(version: tuple[int, ...]) -> bool:
    """Tell whether this SQLite can lose commits in WAL mode with two connections."""
    fixed = any(version[:2] == each[:2] and version >= each for each in RESET_BUG_FIXED)
    return version >= RESET_BUG_SINCE and not fixed and version < max(RESET_BUG_FIXED)


def guard(version: str, journal_mode: str, locking_mode: str) -> None:
    """Refuse a mix of version and modes that can lose a commit.

    Raises:
        NotReady: says which mix, and what would do.
    """
    numbers = version_of(version)
    if numbers < OLDEST:
        raise NotReady(f"SQLite {version} is too old for the state store: 3.37 or later is needed.")
    if journal_mode == "wal" and locking_mode != "exclusive" and has_reset_bug(numbers):
        raise NotReady(
            f"SQLite {version} can lose commits in WAL mode when a second connection is possible: "
            "the state store needs an exclusive connection, or SQLite 3.51.3."
        )


def connect(path: Path, tuning: Tuning) -> sqlite3.Connection:
    """Open the one connection, create the schema if the file is new.

    Raises:
        NotReady: with the cause and what to do.
    """
    if not path.exists():
        path.touch(OWNER_ONLY)  # it names users and what they cost; the log beside it inherits the mode
    connection: sqlite3.Connection | None = None
    try:
        connection = sqlite3.connect(path, timeout=0, isolation_level=None, cached_statements=CACHED_STATEMENTS)
        connection.row_factory = sqlite3.Row
        locking = _pragma(connection, "locking_mode = EXCLUSIVE")
        journal = _pragma(connection, "journal_mode = WAL")
        guard(sqlite3.sqlite_version, str(journal), str(locking))
        connection.execute(f"PRAGMA synchronous = {tuning.synchronous}")
        connection.execute("PRAGMA foreign_keys = ON")
        _migrate(connection, path)
        connection.executescript(additions())
    except sqlite3.Error as error:
        if connection is not None:
            connection.close()
        raise not_ready(error) from error
    except NotReady:
        if connection is not None:
            connection.close()
        raise
    return connection


def _pragma(connection: sqlite3.Connection, text: str) -> object:
    row = connection.execute(f"PRAGMA {text}").fetchone()
    return row[0] if row else None


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    found = _pragma(connection, "user_version")
    if found == SCHEMA_VERSION:
        return
    if found:
        raise NotReady(f"The state store has schema {found}, and this release knows {SCHEMA_VERSION}: upgrade Passeur.")
    script = f"BEGIN IMMEDIATE;\n{schema('sqlite')}\nPRAGMA user_version = {SCHEMA_VERSION};\nCOMMIT;"
    connection.executescript(script)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def not_ready(error: Exception) -> NotReady:
    """Say what a failing database means, and what to do."""
    name = getattr(error, "sqlite_errorname", "") or ""
    cause = next((text for start, text in CAUSES.items() if name.startswith(start)), str(error))
    return NotReady(f"The state store cannot be used: {cause} ({name or type(error).__name__}).")


def operation_error(error: Exception) -> PasseurError | None:
    """Turn an error of one operation into ours; None when it is about the database, not the operation."""
    if isinstance(error, PasseurError):
        return error
    if isinstance(error, sqlite3.IntegrityError):
        return domain_error(sqlite_constraint(str(error)))
    if isinstance(error, UnicodeEncodeError):
        return InvalidRequest.of("text", "holds a lone surrogate, which is not text")
    if isinstance(error, OverflowError):
        return InvalidRequest.of("number", "is too large to be stored")
    return None
