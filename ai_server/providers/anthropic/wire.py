"""Writes a request in Anthropic's Messages format, with its cache breakpoints.

A breakpoint costs a quarter more for what it writes and saves nine tenths of what it reads, so one stands only where
another request will probably begin alike: after the tools and the part of the instructions that never changes; after
the history, where all instructions are of that kind; and, while tools are in play, after the last message, because
the next round repeats everything before it.
"""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, Final

from ai_server.providers.contract import ImagePart, TextPart, Thinking, ToolCallPart

if TYPE_CHECKING:
    from ai_server.providers.catalog import ModelRow
    from ai_server.providers.contract import GenerationRequest, Message, Part

Json = dict[str, Any]

SHORT_CACHE: Final = {"type": "ephemeral"}
"""Five minutes; the hour costs twice the input price and is never asked for."""

MANUAL_THINKING: Final = ("claude-haiku-4",)
"""Models that take a thinking budget rather than an effort."""

BUDGETS: Final = {Thinking.MEDIUM: 4_096, Thinking.HIGH: 16_384}
LEAST_BUDGET: Final = 1_024


def body(request: GenerationRequest, row: ModelRow) -> Json:
    """Give the keyword arguments of `messages.create`."""
    sent: Json = {"model": request.model, "max_tokens": request.max_output_tokens, **counted(request)}
    if request.tools:
        _mark(sent["messages"][-1]["content"][-1])
    elif request.stable_characters == len(request.instructions) and len(sent["messages"]) > 1:
        # Nothing before the last message changes from turn to turn, so the history will be read again as it is.
        _mark(sent["messages"][-2]["content"][-1])
    thinking = _thinking(request, row)
    sent |= thinking
    if request.temperature is not None and not thinking:
        sent["temperature"] = min(request.temperature, 1.0)
    return sent


def counted(request: GenerationRequest) -> Json:
    """Give what is counted as input: the instructions, messages and tools."""
    sent: Json = {"system": _system(request), "messages": [_message(each) for each in request.messages]}
    if request.tools:
        sent["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.input_schema)}
            for tool in request.tools
        ]
    return sent


def _system(request: GenerationRequest) -> list[Json]:
    """Write the instructions in two blocks where a part of them is the same in every turn."""
    stable = request.stable_characters
    text = request.instructions
    blocks: list[Json] = [{"type": "text", "text": piece} for piece in (text[:stable], text[stable:]) if piece]
    if blocks and (stable or request.tools):
        _mark(blocks[0])
    return blocks


def _mark(block: Json) -> None:
    block["cache_control"] = SHORT_CACHE


def _thinking(request: GenerationRequest, row: ModelRow) -> Json:
    if "thinking" not in row.capabilities:
        return {}
    if request.model.startswith(MANUAL_THINKING):
        budget = min(BUDGETS.get(request.thinking, 0), request.max_output_tokens // 2)
        return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget >= LEAST_BUDGET else {}
    if request.thinking in {Thinking.MEDIUM, Thinking.HIGH}:
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": request.thinking.value}}
    return {"output_config": {"effort": "low"}}


def _message(message: Message) -> Json:
    content: list[Json] = []
    for part in message.parts:
        if isinstance(part, ToolCallPart) and part.signature:
            # Thinking that led to a call must come back before it, unchanged.
            content = [*json.loads(part.signature), *content]
        content.append(_block(part))
    return {"role": message.role, "content": content}


def _block(part: Part) -> Json:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    if isinstance(part, ImagePart):
        data = base64.b64encode(part.data).decode()
        return {"type": "image", "source": {"type": "base64", "media_type": part.mime_type, "data": data}}
    if isinstance(part, ToolCallPart):
        return {"type": "tool_use", "id": part.call_id, "name": part.name, "input": json.loads(part.arguments_json)}
    return {"type": "tool_result", "tool_use_id": part.call_id, "content": part.text}
