"""Finds a secret where it must not be: whole, its ends, percent-encoded, or in base64 (P34)."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from urllib.parse import quote

ENDS = 8
"""So many characters of a secret's beginning or end are enough to count as told."""
AROUND = 60


def forms_of(secret: str) -> list[str]:
    """Give every form in which a secret could come out."""
    encoded = base64.b64encode(secret.encode()).decode().rstrip("=")
    return [secret, secret[:ENDS], secret[-ENDS:], quote(secret, safe=""), encoded, encoded[:12]]


def told(forms: Iterable[str], text: str) -> list[str]:
    """Give what stands around the first place of each form that a text holds."""
    places = ((form, text.find(form)) for form in forms)
    return [text[max(0, at - AROUND) : at + len(form) + AROUND] for form, at in places if at >= 0]
