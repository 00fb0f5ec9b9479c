"""Writes a request in the Responses format (https://www.openresponses.org), as Perplexity's Agent API takes it.

Servers of the format may refuse fields that they do not know, so nothing is sent that need not be
(https://docs.perplexity.ai/docs/agent-api/migrate-from-sonar/how-to, read 2026-11-30). A search happens only where a
request names a search tool or a preset: neither is ever written here, and the model is always named.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from ai_server.providers.contract import ImagePart, TextPart, ToolCallPart, ToolResultPart
from ai_server.providers.openai_compatible.wire import declared, effort_of, in_common

if TYPE_CHECKING:
    from ai_server.providers.catalog import ModelRow
    from ai_server.providers.contract import GenerationRequest, Message
    from ai_server.providers.openai_compatible.profiles import Profile

Json = dict[str, object]


def body(request: GenerationRequest, row: ModelRow, profile: Profile) -> Json:
    """Write the body. The provider is asked not to keep the answer for later retrieval."""
    sent: Json = {
        "model": request.model,
        "instructions": request.instructions,
        "input": [item for message in request.messages for item in items(message)],
        "max_output_tokens": request.max_output_tokens,
        "stream": request.stream,
        "store": False,
    }
    if request.tools:
        sent["tools"] = [{"type": "function", **declared(tool)} for tool in request.tools]
    sent |= in_common(request, row, profile)
    if effort := effort_of(request, row, profile):
        sent["reasoning"] = {"effort": effort}
    return {**sent, **profile.extra_body}


def items(message: Message) -> list[Json]:
    """Write one of our messages as input items: results of calls, then what is said, then calls."""
    results: list[Json] = [
        {"type": "function_call_output", "call_id": part.call_id, "name": part.name, "output": part.text}
        for part in message.parts
        if isinstance(part, ToolResultPart)
    ]
    said = [part for part in message.parts if isinstance(part, (TextPart, ImagePart))]
    told: list[Json] = [{"type": "message", "role": message.role, "content": _content(said)}] if said else []
    calls = [_call(part) for part in message.parts if isinstance(part, ToolCallPart)]
    return [*results, *told, *calls]


def _call(part: ToolCallPart) -> Json:
    call: Json = {
        "type": "function_call",
        "call_id": part.call_id,
        "name": part.name,
        "arguments": part.arguments_json,
    }
    return {**call, "thought_signature": part.signature} if part.signature else call


def _content(said: list[TextPart | ImagePart]) -> object:
    """Give plain text where there is only text: the parts of an assistant's text are named otherwise than a user's."""
    texts = [part.text for part in said if isinstance(part, TextPart)]
    return "\n\n".join(texts) if len(texts) == len(said) else [_part(part) for part in said]


def _part(part: TextPart | ImagePart) -> Json:
    if isinstance(part, TextPart):
        return {"type": "input_text", "text": part.text}
    data = base64.b64encode(part.data).decode()
    return {"type": "input_image", "image_url": f"data:{part.mime_type};base64,{data}"}
