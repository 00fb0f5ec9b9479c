"""Makes the bytes of events as they stand in an HTTP/1.1 response: SSE blocks in chunks, ready for any transport."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from gateway.conversation.model import (
    AnswerFacts,
    AttachedFile,
    Author,
    CitedPassage,
    Kind,
    Message,
    Role,
    ServerText,
    is_of_staff,
)
from gateway.events import sse
from gateway.web.notices import rendered
from gateway.web.views import message_view, problem_view

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.identity.projects import Projects
    from gateway.storage.contract import StoredEvent

RETRY_MS: Final = 2_000


def chunk(data: bytes) -> bytes:
    """Put bytes in one chunk of the chunked transfer coding (RFC 9112 §7.1)."""
    return b"%x\r\n%b\r\n" % (len(data), data)


class HttpEncoder:
    """The hub's encoder for HTTP readers; see `gateway.events.contract.Encoder`."""

    def __init__(self, projects: Projects) -> None:
        """Take the projects, which decide what of an answer is shown."""
        self._projects = projects
        self.ping = chunk(sse.comment("ping"))

    def event(self, event: StoredEvent, language: str) -> bytes:
        """Encode a stored event as a reader of `language` sees it."""
        shown = self.view(event.type, event.data, language, for_staff=is_of_staff(event.stream_id))
        return chunk(sse.frame(event.type, _json(shown), event.id))

    def passing(self, event_type: str, data: Mapping[str, Any]) -> bytes:
        """Encode something that is not stored and has no id."""
        return chunk(sse.frame(event_type, _json(data)))

    def opening(self, cursor: str | None) -> bytes:
        """Encode what a stream begins with."""
        return chunk(sse.opening(RETRY_MS, cursor))

    def resync(self, cursor: str, reason: str) -> bytes:
        """Encode that events are missing."""
        return chunk(sse.frame("resync", _json({"reason": reason, "cursor": cursor}), cursor))

    def view(
        self, event_type: str, data: Mapping[str, Any], language: str, *, for_staff: bool = False
    ) -> Mapping[str, Any]:
        """Make what a reader sees of a stored event's data."""
        if event_type == "message.created":
            project = self._projects.get(data["project_id"])
            return data if project is None else message_view(message_of(data), project, language, for_staff=for_staff)
        if event_type == "turn.step" and "problem" in data:
            return {**data, "problem": problem_view(data["problem"], language)}
        if event_type == "notification.created":
            return {"notification": rendered(data["notification"], language)}
        return data


def message_of(data: Mapping[str, Any]) -> Message:
    """Read back the message that an event carries."""
    fields = {name: value for name, value in data.items() if name != "project_id"}
    fields["role"] = Role(fields["role"])
    fields["kind"] = None if fields["kind"] is None else Kind(fields["kind"])
    fields["created_at"] = datetime.fromisoformat(fields["created_at"])
    fields["citations"] = tuple(CitedPassage(**each) for each in fields["citations"])
    if fields["server_text"] is not None:
        fields["server_text"] = ServerText(**fields["server_text"])
    if fields["facts"] is not None:
        fields["facts"] = AnswerFacts(**fields["facts"])
    if fields.get("author") is not None:
        fields["author"] = Author(**fields["author"])
    fields["attachments"] = tuple(AttachedFile(**each) for each in fields.get("attachments", ()))
    return Message(**fields)


def _json(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
