"""When documents do not suffice: ask to rephrase twice, then suggest a person; an answer starts the count again.

Who asks for a person in words is offered one at once, and the count stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gateway.conversation.model import Kind, ServerText

REPHRASE_TIMES: Final = 2


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What to say, and the count to keep."""

    kind: Kind
    text: ServerText
    insufficient_count: int


def suggest(insufficient_count: int) -> Suggestion:
    """Word the reply to a question that the documents cannot answer, after `insufficient_count` such in a row."""
    if insufficient_count < REPHRASE_TIMES:
        return Suggestion(Kind.REPHRASE, ServerText("support_ai_clarify"), insufficient_count + 1)
    return Suggestion(Kind.SUGGEST_HUMAN, ServerText("support_suggest_escalation"), insufficient_count + 1)


def offer_a_person() -> tuple[Kind, ServerText]:
    """Word the reply to someone who asks for a person; they press the button that comes with it, or write on."""
    return Kind.SUGGEST_HUMAN, ServerText("support_offer_person")
