"""Files that a person sent with their questions, as passages for generators that quote instead of reading a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_server.answering.markers import inert
from ai_server.providers.contract import Passage

if TYPE_CHECKING:
    from ai_server.answering.contract import AnswerInput


def files(asked: AnswerInput) -> tuple[Passage, ...]:
    """Make the files passages without a marker, the latest first: an index does not hold them, so none is cited."""
    return tuple(
        Passage("", inert(name), "", inert(text), "", (), quotable=True)
        for name, text in reversed(asked.attached_texts)
    )
