"""Writes a request in Mistral's chat format."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, Final

from ai_server.providers.caching import cache_key
from ai_server.providers.contract import ImagePart, TextPart, Thinking, ToolCallPart, ToolResultPart

if TYPE_CHECKING:
    from ai_server.providers.catalog import ModelRow
    from ai_server.providers.contract import GenerationRequest, Message

Json = dict[str, Any]

EFFORTS: Final = {Thinking.OFF: "none", Thinking.LOW: "none", Thinking.MEDIUM: "high", Thinking.HIGH: "high"}
"""Mistral's models know none and high (https://docs.mistral.ai, adjustable reasoning)."""


def body(request: GenerationRequest, row: ModelRow) -> Json:
    """Give the keyword arguments of `chat.complete` and `chat.stream`."""
    sent: Json = {
        "model": request.model,
        "messages": [
            {"role": "system", "content": request.instructions},
            *(written for message in request.messages for written in messages(message)),
        ],
        "max_tokens": request.max_output_tokens,
        "prompt_cache_key": cache_key(request),
    }
    if request.temperature is not None:
        sent["temperature"] = request.temperature
    if "thinking" in row.capabilities:
        sent["reasoning_effort"] = EFFORTS[request.thinking]
    if request.tools:
        sent["tools"] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": dict(tool.input_schema),
                },
            }
            for tool in request.tools
        ]
    return sent


def messages(message: Message) -> list[Json]:
    """Write one of our messages as the one or several that the format wants."""
    results: list[Json] = [
        {"role": "tool", "tool_call_id": part.call_id, "name": part.name, "content": part.text}
        for part in message.parts
        if isinstance(part, ToolResultPart)
    ]
    written = [_content(part) for part in message.parts if isinstance(part, (TextPart, ImagePart))]
    calls = [
        {"id": part.call_id, "function": {"name": part.name, "arguments": part.arguments_json}}
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    if not written and not calls:
        return results
    told: Json = {"role": message.role, "content": written}
    if all(part["type"] == "text" for part in written):
        told["content"] = "\n\n".join(part["text"] for part in written)
    if calls:
        told["tool_calls"] = calls
    return [*results, told]


def _content(part: TextPart | ImagePart) -> Json:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    data = base64.b64encode(part.data).decode()
    return {"type": "image_url", "image_url": f"data:{part.mime_type};base64,{data}"}
