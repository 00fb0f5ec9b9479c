"""Reads Mistral's answers, streamed or whole."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ai_server.providers.calls import is_object, texts
from ai_server.providers.contract import FinishReason, ToolCallMade
from ai_server.providers.mistral.usage import read_usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ai_server.providers.contract import GenerationEvent
    from ai_server.providers.failures import Failures
    from shared.usage import Usage

REASONS: Final = {
    "stop": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "model_length": FinishReason.LENGTH,
    "tool_calls": FinishReason.TOOL_CALLS,
}
NO_ID: Final = "null"
"""What the SDK puts for an id that was not sent."""


@dataclass(slots=True)
class _Fragments:
    call_id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class MistralReader:
    """Reads one answer."""

    def __init__(self, failures: Failures) -> None:
        """Begin a new answer."""
        self._failures = failures
        self._calls: dict[int, _Fragments] = {}
        self._said: Any = None
        self._final = self._wrote = False
        self.finish: FinishReason | None = None
        self.service_tier = ""

    @property
    def usage(self) -> Usage | None:
        """Read the last usage that was said at or after the end of the answer."""
        return read_usage(self._said if self._final else None, wrote=self._wrote or bool(self._calls))

    def read(self, chunk: Any) -> Iterator[GenerationEvent]:
        """Take one event of a stream, or a whole answer."""
        data = getattr(chunk, "data", chunk)
        for choice in data.choices or []:
            message = getattr(choice, "delta", None) or choice.message
            for event in texts(_text(message.content)):
                self._wrote = True
                yield event
            for position, call in enumerate(message.tool_calls or []):
                self._collect(position, call)
            self._note_reason(choice.finish_reason)
        if data.usage is not None:
            self._said = data.usage
            self._final = self.finish is not None
            self.service_tier = data.usage.service_tier if isinstance(data.usage.service_tier, str) else ""

    def rest(self) -> Iterable[GenerationEvent]:
        """Give the calls, put together."""
        return [self._made(number, call) for number, call in enumerate(self._calls.values())]

    def _note_reason(self, reason: Any) -> None:
        if reason == "error":
            raise self._failures.overloaded(started=True)
        if isinstance(reason, str) and self.finish is None:
            self.finish = REASONS.get(reason, FinishReason.OTHER)

    def _collect(self, position: int, call: Any) -> None:
        kept = self._calls.setdefault(call.index if call.index is not None else position, _Fragments())
        if isinstance(call.id, str) and call.id != NO_ID:
            kept.call_id = kept.call_id or call.id
        kept.name = kept.name or call.function.name or ""
        arguments = call.function.arguments
        kept.arguments.append(arguments if isinstance(arguments, str) else json.dumps(arguments))

    def _made(self, number: int, call: _Fragments) -> ToolCallMade:
        arguments = "".join(call.arguments) or "{}"
        return ToolCallMade(
            call_id=call.call_id or f"call{number:05d}",
            name=call.name,
            arguments_json=arguments,
            malformed=not call.name or not is_object(arguments),
        )


def _text(content: Any) -> str:
    """Read content that is text, or a list of thinking and text chunks: thinking is no part of the answer."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "".join(part.text for part in content if getattr(part, "type", "") == "text")
