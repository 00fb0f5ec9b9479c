"""Which earlier messages a model gets to see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from gateway.conversation.model import Kind, Line, Message, Role

if TYPE_CHECKING:
    from collections.abc import Iterable

MESSAGE_LIMIT: Final = 20
CHARACTER_LIMIT: Final = 24_000
TEXT_LIMIT: Final = 20_000


def is_history(message: Message | Line) -> bool:
    """Tell whether a message is something a person or a model said; what the server words never is."""
    return message.role is Role.USER or (message.role is Role.AI and message.kind is Kind.ANSWER)


def select_history(messages: Iterable[Message | Line], boundary: int) -> tuple[tuple[Literal["user", "ai"], str], ...]:
    """Choose the newest messages after `boundary` as (`user` or `ai`, text), oldest first.

    At most `MESSAGE_LIMIT` messages and `CHARACTER_LIMIT` characters in all; a single text is cut at `TEXT_LIMIT`.
    """
    chosen: list[tuple[Literal["user", "ai"], str]] = []
    room = CHARACTER_LIMIT
    for message in sorted(messages, key=lambda each: each.position, reverse=True):
        if len(chosen) == MESSAGE_LIMIT or message.position <= boundary:
            break
        text = message.text[:TEXT_LIMIT]
        if not is_history(message) or not text.strip():
            continue
        if len(text) > room:
            break
        room -= len(text)
        chosen.append(("user" if message.role is Role.USER else "ai", text))
    return tuple(reversed(chosen))
