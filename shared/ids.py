"""Ids are UUIDv7 strings (RFC 9562 §5.7): sortable by the instant they were made, unguessable in the rest."""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from datetime import datetime

ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
LOW_BITS: Final = 2**62 - 1
TOKEN_BYTES: Final = 24


def new_id(now: datetime) -> str:
    """Make an id for the aware instant `now`; ids of one millisecond are in no order."""
    milliseconds = int(now.timestamp() * 1000) & 0xFFFF_FFFF_FFFF
    chance = secrets.randbits(74)
    text = f"{milliseconds << 80 | 0x7 << 76 | chance >> 62 << 64 | 0b10 << 62 | chance & LOW_BITS:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def is_id(text: str) -> bool:
    """Tell whether `text` has the shape of one of our ids."""
    return ID.fullmatch(text) is not None


def new_token() -> str:
    """Make a bearer secret of 24 random bytes, URL-safe."""
    return secrets.token_urlsafe(TOKEN_BYTES)
