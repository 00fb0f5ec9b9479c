"""Reads Claude's answers, streamed or whole."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ai_server.providers.anthropic.usage import read_usage
from ai_server.providers.calls import is_object, texts
from ai_server.providers.contract import FinishReason, ToolCallMade

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ai_server.providers.contract import GenerationEvent
    from shared.usage import Usage

REASONS: Final = {
    "end_turn": FinishReason.STOP,
    "stop_sequence": FinishReason.STOP,
    "max_tokens": FinishReason.LENGTH,
    "model_context_window_exceeded": FinishReason.LENGTH,
    "tool_use": FinishReason.TOOL_CALLS,
    "refusal": FinishReason.REFUSED,
}
SIGNATURE_LIMIT: Final = 64 * 1024


@dataclass(slots=True)
class _Block:
    start: dict[str, Any]
    pieces: list[str] = field(default_factory=list)


class ClaudeReader:
    """Reads one answer. Events are read as plain data by their type; a type that we do not know says nothing."""

    def __init__(self) -> None:
        """Begin a new answer."""
        self._blocks: dict[int, _Block] = {}
        self._said: dict[str, Any] = {}
        self._final = self._wrote = False
        self.finish: FinishReason | None = None
        self.service_tier = ""

    @property
    def usage(self) -> Usage | None:
        """Read the merged usage, once the end of the answer brought its own."""
        return read_usage(self._said, wrote=self._wrote) if self._final else None

    def read(self, chunk: Any) -> Iterator[GenerationEvent]:
        """Take one event, or a whole message."""
        kind = getattr(chunk, "type", None)
        if kind == "message":
            yield from self._whole(chunk.model_dump(warnings=False))
        elif kind in {"message_start", "content_block_start", "content_block_delta", "message_delta"}:
            data = chunk.model_dump(warnings=False)
            if kind == "message_start":
                self._merge(data["message"].get("usage"))
            elif kind == "content_block_start":
                self._blocks[data["index"]] = _Block(data["content_block"])
            elif kind == "content_block_delta":
                yield from self._delta(self._blocks[data["index"]], data["delta"])
            else:
                self._merge(data.get("usage"))
                self._end(data["delta"].get("stop_reason"), data.get("usage"))

    def rest(self) -> Iterable[GenerationEvent]:
        """Give the calls; the first carries the thinking that led to them."""
        calls = [each for each in self._blocks.values() if each.start.get("type") == "tool_use"]
        signature = self._signature() if calls else ""
        for number, call in enumerate(calls):
            self._wrote = True
            # A whole message brings the input at once, a stream in pieces after an empty one.
            arguments = "".join(call.pieces) or json.dumps(call.start.get("input") or {}, ensure_ascii=False)
            yield ToolCallMade(
                call_id=call.start["id"],
                name=call.start["name"],
                arguments_json=arguments,
                signature=signature if number == 0 else "",
                malformed=not is_object(arguments),
            )

    def _whole(self, message: dict[str, Any]) -> Iterator[GenerationEvent]:
        for index, block in enumerate(message["content"]):
            self._blocks[index] = _Block(block)
            if block.get("type") == "text":
                yield from self._text(block["text"])
        self._merge(message.get("usage"))
        self._end(message.get("stop_reason"), message.get("usage"))

    def _delta(self, block: _Block, delta: dict[str, Any]) -> Iterator[GenerationEvent]:
        kind = delta.get("type")
        if kind == "text_delta":
            yield from self._text(delta["text"])
        elif kind == "input_json_delta":
            block.pieces.append(delta["partial_json"])
        elif kind == "thinking_delta":
            block.pieces.append(delta["thinking"])
        elif kind == "signature_delta":
            block.start["signature"] = delta["signature"]

    def _text(self, text: str) -> Iterable[GenerationEvent]:
        self._wrote = self._wrote or bool(text)
        return texts(text)

    def _merge(self, said: dict[str, Any] | None) -> None:
        self._said |= {name: value for name, value in (said or {}).items() if value is not None}
        tier = self._said.get("service_tier")
        self.service_tier = tier if isinstance(tier, str) else ""

    def _end(self, reason: str | None, said: dict[str, Any] | None) -> None:
        if reason is not None:
            self.finish = REASONS.get(reason, FinishReason.OTHER)
        # Counts of the beginning alone lack the output: they are no bill.
        self._final = self.finish is not None and bool(said)

    def _signature(self) -> str:
        thoughts = [_thought(each) for each in self._blocks.values() if each.start.get("type") in _THOUGHTS]
        text = json.dumps(thoughts, ensure_ascii=False) if thoughts else ""
        return text if len(text.encode("utf-8", "surrogatepass")) <= SIGNATURE_LIMIT else ""


_THOUGHTS: Final = frozenset({"thinking", "redacted_thinking"})


def _thought(block: _Block) -> dict[str, Any]:
    if block.start["type"] == "redacted_thinking":
        return {"type": "redacted_thinking", "data": block.start["data"]}
    thinking = "".join(block.pieces) or block.start.get("thinking", "")
    return {"type": "thinking", "thinking": thinking, "signature": block.start.get("signature", "")}
