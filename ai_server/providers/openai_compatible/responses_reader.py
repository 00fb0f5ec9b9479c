"""Reads answers of the Responses format, streamed or whole.

A stream ends with one event that holds the whole response: `response.completed`, `.incomplete`, `.failed` or
`.cancelled`. A whole answer is that response alone, and says that it failed with status 200 too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ai_server.providers.calls import texts
from ai_server.providers.contract import FinishReason
from ai_server.providers.openai_compatible.reader import CALLS_LIMIT, call_made, told_inside
from ai_server.providers.openai_compatible.usage import responses_usage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ai_server.providers.contract import GenerationEvent, ToolCallMade
    from ai_server.providers.failures import Failures
    from ai_server.providers.openai_compatible.profiles import Profile
    from shared.usage import Usage

ENDS: Final = frozenset({"response.completed", "response.incomplete", "response.failed", "response.cancelled"})
INCOMPLETE: Final = {"max_output_tokens": FinishReason.LENGTH, "content_filter": FinishReason.REFUSED}


class ResponsesReader:
    """Reads one answer from plain data."""

    def __init__(self, profile: Profile, failures: Failures) -> None:
        """Begin a new answer."""
        self._profile = profile
        self._failures = failures
        self._written: list[str] = []
        self._calls: list[ToolCallMade] = []
        self._said: object = None
        self.finish: FinishReason | None = None
        self.service_tier = ""

    @property
    def usage(self) -> Usage | None:
        """Read the usage of the end; what comes with earlier events is a part of the bill."""
        return responses_usage(self._said, self._profile, wrote=bool(self._written or self._calls))

    def read(self, chunk: Any) -> Iterator[GenerationEvent]:
        """Take one event, or a whole answer. Events that repeat text or tell of steps say nothing."""
        data: dict[str, Any] = chunk
        kind = data.get("type")
        if kind == "response.output_text.delta":
            yield from self._write(data.get("delta"))
        elif kind == "error" or data.get("error"):
            raise told_inside(self._failures, data.get("error") or data)
        elif kind in ENDS:
            yield from self._end(data.get("response") or {}, kind.removeprefix("response."))
        elif kind is None and data.get("object") == "response":
            yield from self._end(data, data.get("status"))

    def rest(self) -> Iterable[GenerationEvent]:
        """Give the calls: the end tells them whole."""
        return self._calls

    def _end(self, response: dict[str, Any], status: object) -> Iterator[GenerationEvent]:
        if error := response.get("error"):
            raise told_inside(self._failures, error)
        if status in {"failed", "cancelled"}:
            raise self._failures.overloaded(started=True)
        output = [item for item in response.get("output") or [] if isinstance(item, dict)]
        parts = [part for item in output if item.get("type") == "message" for part in item.get("content") or []]
        yield from self._missing("".join(part.get("text") or "" for part in parts if part.get("type") == "output_text"))
        calls = [item for item in output if item.get("type") == "function_call"]
        if len(calls) > CALLS_LIMIT:
            raise ValueError("too many calls")
        self._calls = [
            call_made(
                number, each.get("call_id"), each.get("name"), each.get("arguments"), each.get("thought_signature")
            )
            for number, each in enumerate(calls)
        ]
        if isinstance(response.get("service_tier"), str):
            self.service_tier = response["service_tier"]
        self._said = response.get("usage")
        self.finish = self._reason(status, response, refused=any(part.get("type") == "refusal" for part in parts))

    def _reason(self, status: object, response: dict[str, Any], *, refused: bool) -> FinishReason | None:
        if status == "incomplete":
            details = response.get("incomplete_details") or {}
            return INCOMPLETE.get(str(details.get("reason")), FinishReason.OTHER)
        if self._calls and status in {"completed", "requires_action"}:
            return FinishReason.TOOL_CALLS
        if status == "completed":
            return FinishReason.REFUSED if refused else FinishReason.STOP
        return None

    def _missing(self, whole: str) -> Iterator[GenerationEvent]:
        """Give the text of the end that no delta brought: all of a whole answer, and sometimes a piece of a stream
        (https://github.com/vercel/ai/releases/tag/@ai-sdk%2Fperplexity@5.0.0).
        """
        written = "".join(self._written)
        if whole.startswith(written):
            yield from self._write(whole[len(written) :])

    def _write(self, text: str | None) -> Iterator[GenerationEvent]:
        for event in texts(text):
            self._written.append(text or "")
            yield event
