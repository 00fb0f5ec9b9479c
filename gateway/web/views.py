"""What readers see of the things in store: one place for REST answers and events alike."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from gateway.conversation.clarification_text import option_label
from gateway.conversation.model import Conversation, Kind, Message, Role, ServerText
from gateway.conversation.texts import render
from gateway.web.rendering import render_markdown, render_plain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.conversation.model import CitedPassage
    from gateway.identity.projects import Project


def message_view(message: Message, project: Project, language: str, *, for_staff: bool = False) -> dict[str, Any]:
    """Show a message to a reader of `language`. Model and cost only where the project exposes them."""
    said = message.text
    notice: str | None = None
    spoken = language
    if message.server_text is not None:
        spoken = language if for_staff else message.server_text.spoken or language
        words = render(message.server_text, spoken, for_staff=for_staff)
        said, notice = (message.text, words) if message.text else (words, None)
    facts = message.facts
    return {
        "id": message.id,
        "conversation_id": message.conversation_id,
        "turn_id": message.turn_id,
        "role": message.role.value,
        "kind": None if message.kind is None else message.kind.value,
        "text": said,
        "html": _html(message, said),
        "notice": notice,
        "language": message.language or (spoken if message.server_text is not None else ""),
        "citations": citation_views(message),
        "outcome": None if facts is None else facts.outcome,
        "confidence": None if facts is None else facts.confidence,
        "economy": facts is not None and facts.economy,
        "model": facts.model or None if facts is not None and project.expose_model else None,
        "cost_nanousd": facts.cost_nanousd if facts is not None and project.expose_cost else None,
        "cost_estimated": facts is not None and facts.estimated and project.expose_cost,
        "duration_ms": None if facts is None else facts.duration_ms,
        "unverified": facts is not None and facts.unverified,
        "choices": choices(message, spoken),
        "author": None if message.author is None else asdict(message.author),
        "attachments": [asdict(each) for each in message.attachments],
        "created_at": message.created_at.isoformat(),
    }


def choices(message: Message, language: str) -> list[dict[str, str]]:
    """Show what a question offers: what a button says, and the reply that it sends."""
    options = () if message.server_text is None else message.server_text.options
    return [
        {"label": option_label(each, language), "reply": str(number)} for number, each in enumerate(options, start=1)
    ]


def conversation_view(
    conversation: Conversation, unread: int, running_turn_id: str | None, ticket: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Show a conversation to its visitor, with the view of its newest ticket."""
    return {
        "id": conversation.id,
        "title": conversation.title,
        "created_at": conversation.created_at.isoformat(),
        "updated_at": conversation.updated_at.isoformat(),
        "unread_count": unread,
        "running_turn_id": running_turn_id,
        "escalated": conversation.escalated,
        "ticket": ticket,
    }


def citation_id(message: Message, number: int) -> str:
    """Name the `number`th source of a message; unique everywhere."""
    return f"{message.id}.{number}"


def sources(message: Message) -> list[CitedPassage]:
    """List what a message cites, each chunk once, in the order in which the text first cites them."""
    found: dict[str, CitedPassage] = {}
    for each in sorted(message.citations, key=lambda citation: citation.position):
        found.setdefault(each.chunk_id, each)
    return list(found.values())


def citation_views(message: Message) -> list[dict[str, Any]]:
    """Show the sources of a message; the number in the text is the place in this list."""
    return [
        {"id": citation_id(message, number), "title": each.title, "url": web_address(each.url), "quote": each.quote}
        for number, each in enumerate(sources(message), start=1)
    ]


def web_address(url: str | None) -> str | None:
    """Pass an absolute http(s) address, and nothing else."""
    try:
        parts = urlsplit(url or "")
    except ValueError:
        return None
    return url if parts.scheme in {"http", "https"} and parts.netloc else None


def problem_view(problem: Mapping[str, Any], language: str) -> dict[str, Any]:
    """Show why a turn failed, in the reader's words."""
    slug = str(problem["type"])
    return {"type": slug, "title": render(ServerText(problem["text_key"]), language), "resets_at": problem["resets_at"]}


def _html(message: Message, said: str) -> str:
    if message.role in {Role.USER, Role.ADMIN}:
        return render_plain(said)
    if message.kind is Kind.ANSWER and message.text:
        numbers = {each.chunk_id: number for number, each in enumerate(sources(message), start=1)}
        marks = tuple((each.position, citation_id(message, numbers[each.chunk_id])) for each in message.citations)
        return render_markdown(said, marks)
    return render_markdown(said)
