"""The reply table of P36, read from the file beside this module."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final, NamedTuple

SERVICES: Final = "services"
TWINS: Final = "twins"
SEARCH: Final = "search"


class Row(NamedTuple):
    """One reply: to which question, in which language, and what it means."""

    question: str
    language: str
    reply: str
    expected: str


def _read() -> list[Row]:
    text = Path(__file__).with_suffix(".tsv").read_text(encoding="utf-8")
    lines = [line.split("\t") for line in text.split("\n") if line and not line.startswith("#")]
    return [Row(question, language, json.loads(reply), expected) for question, language, reply, expected in lines]


OVERLONG: Final = [
    Row(question, "any", sign * 10_000, "new") for question in (SERVICES, SEARCH) for sign in ("x", "9", "1 ")
]
REPLIES: Final = [*_read(), *OVERLONG]
