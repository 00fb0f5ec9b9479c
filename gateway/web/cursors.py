"""Where a page of a list goes on: what we gave as `next_cursor`, handed back in the query's `cursor`."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from shared.errors import InvalidRequest
from shared.ids import is_id

if TYPE_CHECKING:
    from aiohttp import web

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
ACTIVITY: Final = re.compile(r"(\d{1,18})\.([0-9a-f-]{36})", re.ASCII)
POSITION: Final = re.compile(r"\d{1,18}", re.ASCII)
UNKNOWN: Final = "is not one that we gave"


def activity_cursor(updated_at: datetime, record_id: str) -> str:
    """Name the last one of a page that is ordered by newest activity."""
    return f"{(updated_at - EPOCH) // timedelta(microseconds=1)}.{record_id}"


def read_activity_cursor(request: web.Request) -> tuple[datetime, str] | None:
    """Read the instant and id after which a page ordered by newest activity begins; None for the first page.

    Raises:
        InvalidRequest: not one that we gave.
    """
    match = _read(request, ACTIVITY)
    if match is None:
        return None
    if not is_id(match[2]):
        raise InvalidRequest.of("cursor", UNKNOWN)
    try:
        return EPOCH + timedelta(microseconds=int(match[1])), match[2]
    except OverflowError as exc:
        raise InvalidRequest.of("cursor", UNKNOWN) from exc


def read_position_cursor(request: web.Request) -> int | None:
    """Read the position before which a page of messages ends; None for the newest page.

    Raises:
        InvalidRequest: not one that we gave.
    """
    match = _read(request, POSITION)
    return None if match is None else int(match[0])


def _read(request: web.Request, form: re.Pattern[str]) -> re.Match[str] | None:
    text = request.query.get("cursor")
    if text is None:
        return None
    match = form.fullmatch(text)
    if match is None:
        raise InvalidRequest.of("cursor", UNKNOWN)
    return match
