"""Reads Gemini's answers: each chunk is a whole response object, and so is an answer that is not streamed."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, Final

from google.genai import types

from ai_server.providers.calls import texts
from ai_server.providers.contract import FinishReason, ToolCallMade
from ai_server.providers.gemini.usage import read_usage
from ai_server.providers.gemini.wire import OWN_ID

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ai_server.providers.contract import GenerationEvent
    from shared.usage import Usage

REASONS: Final = {
    types.FinishReason.STOP: FinishReason.STOP,
    types.FinishReason.MAX_TOKENS: FinishReason.LENGTH,
    types.FinishReason.SAFETY: FinishReason.REFUSED,
    types.FinishReason.RECITATION: FinishReason.REFUSED,
    types.FinishReason.BLOCKLIST: FinishReason.REFUSED,
    types.FinishReason.PROHIBITED_CONTENT: FinishReason.REFUSED,
    types.FinishReason.SPII: FinishReason.REFUSED,
    types.FinishReason.LANGUAGE: FinishReason.REFUSED,
    types.FinishReason.MODEL_ARMOR: FinishReason.REFUSED,
}
SIGNATURE_LIMIT: Final = 48 * 1024
"""Bytes; a third more in base64."""


class GeminiReader:
    """Reads one answer."""

    def __init__(self) -> None:
        """Begin a new answer."""
        self._calls: list[ToolCallMade] = []
        self._said: Any = None
        self._final = self._wrote = False
        self._reason: FinishReason | None = None
        self.service_tier = ""

    @property
    def finish(self) -> FinishReason | None:
        """Why it stopped; Gemini says STOP for calls too."""
        if self._reason is FinishReason.STOP and self._calls:
            return FinishReason.TOOL_CALLS
        return self._reason

    @property
    def usage(self) -> Usage | None:
        """Read the last usage that was said at or after the end of the answer; earlier ones are parts of it."""
        return read_usage(self._said if self._final else None, wrote=self._wrote or bool(self._calls))

    def read(self, chunk: Any) -> Iterator[GenerationEvent]:
        """Take one `GenerateContentResponse`."""
        candidate = chunk.candidates[0] if chunk.candidates else None
        # With everything spent on thoughts there is a content without parts
        # (https://github.com/googleapis/python-genai/issues/1011).
        parts = (candidate.content.parts if candidate and candidate.content else None) or []
        for part in parts:
            if part.function_call is not None:
                self._calls.append(self._made(part))
            elif not part.thought:
                self._wrote = self._wrote or bool(part.text)
                yield from texts(part.text)
        self._note_reason(chunk, candidate)
        if chunk.usage_metadata is not None:
            self._said = chunk.usage_metadata
            self._final = self._reason is not None

    def rest(self) -> Iterable[GenerationEvent]:
        """Give the calls."""
        return self._calls

    def _note_reason(self, chunk: types.GenerateContentResponse, candidate: types.Candidate | None) -> None:
        reason = candidate.finish_reason if candidate else None
        if reason is not None:
            self._reason = REASONS.get(reason, FinishReason.OTHER)
        elif chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason:
            self._reason = FinishReason.REFUSED

    def _made(self, part: types.Part) -> ToolCallMade:
        call = part.function_call
        assert call is not None
        signature = part.thought_signature or b""
        return ToolCallMade(
            call_id=call.id or f"{OWN_ID}{len(self._calls)}",
            name=call.name or "",
            arguments_json=json.dumps(call.args or {}, ensure_ascii=False),
            signature=base64.b64encode(signature).decode() if len(signature) <= SIGNATURE_LIMIT else "",
            malformed=not call.name,
        )
