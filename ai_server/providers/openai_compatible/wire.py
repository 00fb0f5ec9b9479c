"""Writes a request in OpenAI's chat format."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from ai_server.providers.caching import cache_key
from ai_server.providers.contract import ImagePart, TextPart, ToolCallPart, ToolResultPart

if TYPE_CHECKING:
    from ai_server.providers.catalog import ModelRow
    from ai_server.providers.contract import GenerationRequest, Message, ToolSpec
    from ai_server.providers.openai_compatible.profiles import Profile

Json = dict[str, object]


def body(request: GenerationRequest, row: ModelRow, profile: Profile) -> Json:
    """Write the body."""
    sent: Json = {
        "model": request.model,
        "messages": [
            {"role": "system", "content": request.instructions},
            *(written for message in request.messages for written in messages(message)),
        ],
        profile.cap_field: request.max_output_tokens,
        "stream": request.stream,
    }
    extra: Json = dict(profile.extra_body)
    if request.stream:
        sent["stream_options"] = {"include_usage": True}
    if request.tools:
        sent["tools"] = [{"type": "function", "function": declared(tool)} for tool in request.tools]
    sent |= in_common(request, row, profile)
    if effort := effort_of(request, row, profile):
        if profile.effort_style == "reasoning_effort":
            sent["reasoning_effort"] = effort
        elif profile.effort_style == "reasoning":
            extra["reasoning"] = {"effort": effort}
        else:
            extra["thinking"] = {"type": effort}
    return sent | extra


def declared(tool: ToolSpec) -> Json:
    """Write what a model is told of a tool; both formats say it so."""
    return {"name": tool.name, "description": tool.description, "parameters": dict(tool.input_schema)}


def in_common(request: GenerationRequest, row: ModelRow, profile: Profile) -> Json:
    """Write the fields that have the same names in both formats."""
    sent: Json = {}
    if profile.cache_key:
        sent["prompt_cache_key"] = cache_key(request)
    if request.temperature is not None and not (_thinks(row) and profile.fixed_temperature):
        sent["temperature"] = request.temperature
    return sent


def effort_of(request: GenerationRequest, row: ModelRow, profile: Profile) -> str:
    """Tell how hard a model that thinks is asked to, in the profile's words; "" where that is not said."""
    return profile.efforts.get(request.thinking, "") if _thinks(row) else ""


def _thinks(row: ModelRow) -> bool:
    return "thinking" in row.capabilities


def messages(message: Message) -> list[Json]:
    """Write one of our messages as the one or several that the format wants."""
    results: list[Json] = [
        {"role": "tool", "tool_call_id": part.call_id, "content": part.text}
        for part in message.parts
        if isinstance(part, ToolResultPart)
    ]
    written = [_content(part) for part in message.parts if isinstance(part, (TextPart, ImagePart))]
    calls: list[Json] = [
        {"id": part.call_id, "type": "function", "function": {"name": part.name, "arguments": part.arguments_json}}
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    if not written and not calls:
        return results
    told: Json = {"role": message.role, "content": _joined(written)}
    if calls:
        told["tool_calls"] = calls
    return [*results, told]


def _joined(written: list[Json]) -> object:
    """Give plain text where there is only text: every server takes that."""
    if all(part["type"] == "text" for part in written):
        return "\n\n".join(str(part["text"]) for part in written) or None
    return written


def _content(part: TextPart | ImagePart) -> Json:
    if isinstance(part, TextPart):
        return {"type": "text", "text": part.text}
    data = base64.b64encode(part.data).decode()
    return {"type": "image_url", "image_url": {"url": f"data:{part.mime_type};base64,{data}"}}
