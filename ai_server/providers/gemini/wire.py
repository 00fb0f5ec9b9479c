"""Writes a request as google-genai wants it."""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Final, cast

from google.genai import types

from ai_server.providers.contract import ImagePart, TextPart, Thinking, ToolCallPart, ToolResultPart
from ai_server.providers.gemini.client import call_options

if TYPE_CHECKING:
    from ai_server.ledger.contract import Permit
    from ai_server.providers.catalog import ModelRow
    from ai_server.providers.contract import GenerationRequest, Message, Part

LEVELS: Final = {
    Thinking.OFF: types.ThinkingLevel.LOW,
    Thinking.LOW: types.ThinkingLevel.LOW,
    Thinking.MEDIUM: types.ThinkingLevel.HIGH,
    Thinking.HIGH: types.ThinkingLevel.HIGH,
}
"""Low and high are taken by every model; minimal and medium are refused by some."""

OWN_ID: Final = "passeur-"
"""Begins the ids that we give to calls that came without one; they are not sent back."""

UNSIGNED: Final = b"skip_thought_signature_validator"
"""What Google asks to be sent in place of a signature that was lost
(https://ai.google.dev/gemini-api/docs/thought-signatures).
"""


def config(request: GenerationRequest, row: ModelRow, permit: Permit) -> types.GenerateContentConfig:
    """Write everything but the messages."""
    thinks = "thinking" in row.capabilities
    return types.GenerateContentConfig(
        system_instruction=request.instructions or None,
        max_output_tokens=request.max_output_tokens,
        temperature=request.temperature,
        thinking_config=types.ThinkingConfig(thinking_level=LEVELS[request.thinking]) if thinks else None,
        tools=cast("types.ToolListUnion | None", tools(request)),
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        http_options=call_options(request.deadline_s, permit),
    )


def tools(request: GenerationRequest) -> list[types.Tool] | None:
    """Write the functions."""
    if not request.tools:
        return None
    declared = [
        types.FunctionDeclaration(
            name=tool.name, description=tool.description, parameters_json_schema=dict(tool.input_schema)
        )
        for tool in request.tools
    ]
    return [types.Tool(function_declarations=declared)]


def contents(request: GenerationRequest) -> list[types.Content]:
    """Write the messages."""
    return [content(each) for each in request.messages]


def content(message: Message) -> types.Content:
    """Write one message."""
    return types.Content(
        role="model" if message.role == "assistant" else "user", parts=[_part(part) for part in message.parts]
    )


def _part(part: Part) -> types.Part:
    if isinstance(part, TextPart):
        return types.Part(text=part.text)
    if isinstance(part, ImagePart):
        return types.Part.from_bytes(data=part.data, mime_type=part.mime_type)
    call_id = None if part.call_id.startswith(OWN_ID) else part.call_id
    if isinstance(part, ToolCallPart):
        called = types.FunctionCall(id=call_id, name=part.name, args=json.loads(part.arguments_json))
        return types.Part(function_call=called, thought_signature=_signature(part.signature))
    assert isinstance(part, ToolResultPart)
    answered = types.FunctionResponse(id=call_id, name=part.name, response={"result": part.text})
    return types.Part(function_response=answered)


def _signature(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True) or UNSIGNED
    except binascii.Error:
        return UNSIGNED
