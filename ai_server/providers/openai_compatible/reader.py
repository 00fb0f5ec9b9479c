"""Reads answers of OpenAI's chat format, streamed or whole, in every dialect."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ai_server.providers.calls import is_object, texts
from ai_server.providers.contract import FinishReason, ToolCallMade
from ai_server.providers.openai_compatible.usage import chat_usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ai_server.providers.contract import GenerationEvent
    from ai_server.providers.failures import Failures
    from ai_server.providers.openai_compatible.profiles import Profile
    from shared.usage import Usage

REASONS: Final = {
    "stop": FinishReason.STOP,
    "end_turn": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "tool_calls": FinishReason.TOOL_CALLS,
    "function_call": FinishReason.TOOL_CALLS,
    "content_filter": FinishReason.REFUSED,
}
CALLS_LIMIT: Final = 64
"""Most calls of one round; a server that sends more is not believed."""


@dataclass(slots=True)
class _Fragments:
    call_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class ChatReader:
    """Reads one answer from plain data."""

    def __init__(self, profile: Profile, failures: Failures) -> None:
        """Begin a new answer."""
        self._profile = profile
        self._failures = failures
        self._calls: dict[object, _Fragments] = {}
        self._said: object = None
        self._final = False
        self._wrote = False
        self.finish: FinishReason | None = None
        self.service_tier = ""

    @property
    def usage(self) -> Usage | None:
        """Read the last usage that was said at or after the end of the answer."""
        said = self._said if self._final else None
        return chat_usage(said, self._profile, wrote=self._wrote or bool(self._calls))

    def read(self, chunk: Any) -> Iterator[GenerationEvent]:
        """Take one chunk, or a whole answer."""
        data: dict[str, Any] = chunk
        said = self._note_usage(data)
        if isinstance(data.get("service_tier"), str):
            self.service_tier = data["service_tier"]
        choices = data.get("choices") or []
        if error := data.get("error") or next((each.get("error") for each in choices if each.get("error")), None):
            raise told_inside(self._failures, error)
        for choice in choices:
            yield from self._choice(choice)
        # What was said before the end is a part of the bill, and a part is worse than none.
        self._final = self._final or (said and self.finish is not None)

    def rest(self) -> Iterable[GenerationEvent]:
        """Give the calls, put together."""
        if self._calls and self.finish is FinishReason.STOP:
            self.finish = FinishReason.TOOL_CALLS
        return [
            call_made(number, call.call_id, call.name, "".join(call.arguments))
            for number, call in enumerate(self._calls.values())
        ]

    def _note_usage(self, data: dict[str, Any]) -> bool:
        elsewhere = data.get("x_groq")
        said = data.get("usage") or (elsewhere.get("usage") if isinstance(elsewhere, dict) else None)
        if said:
            self._said = said
        return bool(said)

    def _choice(self, choice: dict[str, Any]) -> Iterator[GenerationEvent]:
        message = choice.get("delta") or choice.get("message") or {}
        for event in texts(_text(message.get("content"))):
            self._wrote = True
            yield event
        for position, call in enumerate(message.get("tool_calls") or []):
            self._collect(position, call)
        reason = choice.get("finish_reason")
        if reason == "error":
            raise self._failures.overloaded(started=True)
        if reason and self.finish is None:
            # OpenRouter's last chunk says null again: the first reason stands.
            self.finish = REASONS.get(reason, FinishReason.OTHER)

    def _collect(self, position: int, call: dict[str, Any]) -> None:
        key = call.get("index")
        key = position if key is None else key
        if key not in self._calls and len(self._calls) >= CALLS_LIMIT:
            raise ValueError("too many calls")
        kept = self._calls.setdefault(key, _Fragments())
        function = call.get("function") or {}
        kept.call_id = kept.call_id or call.get("id") or ""
        kept.name = kept.name or function.get("name") or ""
        arguments = function.get("arguments")
        if arguments:
            kept.arguments.append(arguments if isinstance(arguments, str) else json.dumps(arguments))


def call_made(
    number: int, call_id: str | None, name: str | None, arguments: object, signature: str | None = None
) -> ToolCallMade:
    """Make a call of what an answer told of it, its `number` counted from 0. `arguments`: JSON, or what it stands for;
    without a name it is malformed.
    """
    arguments = (arguments if isinstance(arguments, str) else json.dumps(arguments or {})) or "{}"
    return ToolCallMade(
        call_id=call_id or f"call_{number}",
        name=name or "",
        arguments_json=arguments,
        signature=signature or "",
        malformed=not name or not is_object(arguments),
    )


def told_inside(failures: Failures, error: object) -> Exception:
    """Classify an error body that came with status 200: it may hold a status as its code."""
    code = error.get("code") if isinstance(error, dict) else None
    status = int(code) if isinstance(code, (int, str)) and str(code).isdigit() else 0
    if 400 <= status < 600:  # noqa: PLR2004 - HTTP's own range
        return failures.status(status, started=True)
    return failures.overloaded(started=True)


def _text(content: object) -> str:
    """Read content that is text, or a list of parts of which some are text."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(
            part.get("text") or "" for part in content if isinstance(part, dict) and part.get("type") == "text"
        )
    return ""
