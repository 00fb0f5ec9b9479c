"""Column types that mean the same on SQLite and PostgreSQL."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)
ESCAPE: Final = "\U0010ffff"
"""A code point that Unicode keeps from ever meaning anything; where it comes all the same it is written in two too."""


class Instant(sa.types.TypeDecorator[datetime]):
    """An aware UTC instant, kept as whole microseconds since 1970: exact, and ordered as a number."""

    impl = sa.BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> int | None:
        """Turn an aware instant into its number."""
        del dialect
        return None if value is None else (value - EPOCH) // MICROSECOND

    def process_result_value(self, value: Any | None, dialect: sa.Dialect) -> datetime | None:
        """Turn the number back."""
        del dialect
        return None if value is None else EPOCH + timedelta(microseconds=int(value))


class Words(sa.types.TypeDecorator[str]):
    """Text from outside, whatever it holds. PostgreSQL has no NUL in text, so it is written in two characters there."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        """Hide NUL where the database refuses it."""
        if value is None or dialect.name != "postgresql":
            return value
        return value.replace(ESCAPE, f"{ESCAPE}1").replace("\x00", f"{ESCAPE}0")

    def process_result_value(self, value: Any | None, dialect: sa.Dialect) -> str | None:
        """Bring it back."""
        if value is None or dialect.name != "postgresql":
            return value
        return value.replace(f"{ESCAPE}0", "\x00").replace(f"{ESCAPE}1", ESCAPE)


class Json(sa.types.TypeDecorator[Any]):
    """Plain data as compact JSON text; what was stored comes back equal, on either database."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any | None, dialect: sa.Dialect) -> str | None:
        """Write JSON; not-a-number is refused."""
        del dialect
        return None if value is None else encode(value)

    def process_result_value(self, value: Any | None, dialect: sa.Dialect) -> Any | None:
        """Read JSON."""
        del dialect
        return None if value is None else json.loads(value)


def encode(value: Any) -> str:
    """Write plain data as compact JSON text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
