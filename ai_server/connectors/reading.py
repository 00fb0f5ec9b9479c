"""Turns foreign values into bounded plain text, links and dates. Everything in here is untrusted."""

from __future__ import annotations

import html
import re
from datetime import UTC, date, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin, urlsplit

from ai_server.connectors.contract import LINK_LIMIT, SNIPPET_LIMIT, TITLE_LIMIT, Item

if TYPE_CHECKING:
    from collections.abc import Mapping

_TAG: Final = re.compile(r"<[^<>]{0,500}>")
_SPACE: Final = re.compile(r"\s+")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_SCAN_LIMIT: Final = 20_000
"""Characters of a field that are looked at; a snippet is cut from their beginning."""


def text_of(value: Any, limit: int) -> str:
    """Read a string or number as one plain line of at most `limit` characters; anything else is empty."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    raw = html.unescape(_TAG.sub(" ", str(value)[:_SCAN_LIMIT]))
    raw = raw.encode("utf-8", "replace").decode("utf-8")  # half surrogates from JSON escapes
    line = _SPACE.sub(" ", _CONTROL.sub("", raw)).strip()
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def link_of(value: Any, base: str) -> str | None:
    """Read a link, relative ones against `base`; None unless it is http(s) without credentials."""
    if not isinstance(value, str) or not value.strip() or _CONTROL.search(value):
        return None
    try:
        joined = urljoin(base.rstrip("/") + "/", value.strip())
        parts = urlsplit(joined)
    except ValueError:
        return None
    fits = parts.scheme in {"http", "https"} and bool(parts.hostname) and "@" not in parts.netloc
    return joined if fits and len(joined) <= LINK_LIMIT else None


def date_of(value: Any) -> str:
    """Read a date as ISO 8601: a day stays a day, an instant becomes UTC to the second; empty when it is none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(int(value)) if 1000 <= value <= 9999 else ""  # noqa: PLR2004 - a year alone
    if not isinstance(value, str):
        return ""
    text = value.strip()[:40]
    try:
        if len(text) <= len("2026-11-30"):
            return date.fromisoformat(text).isoformat()
        if "," in text:  # Mon, 30 Nov 2026 12:00:00 GMT
            return parsedate_to_datetime(text).astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        # .NET writes seven digits of a second; Python reads six.
        moment = datetime.fromisoformat(re.sub(r"(\.\d{6})\d+", r"\1", text))
    except ValueError:
        return ""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return aware.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def item(*, title: Any, url: Any, date: Any, snippet: Any, base: str, kind: str = "") -> Item | None:
    """Make an item of foreign values; None without a title."""
    name = text_of(title, TITLE_LIMIT)
    if not name:
        return None
    return Item(name, link_of(url, base), date_of(date), text_of(snippet, SNIPPET_LIMIT), kind)


def objects(value: Any) -> list[Mapping[str, Any]]:
    """Keep the objects of a JSON array; anything else is empty."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def field(value: Any, path: str) -> Any:
    """Walk a dotted path through objects and array positions; None where it ends early."""
    for part in path.split("."):
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return None
    return value
