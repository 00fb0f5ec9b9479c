"""An upper bound of what a request is billed as input, without a tokenizer and without a download.

Byte-pair and SentencePiece vocabularies give a token at least one byte of the text (unknown characters fall back to
single bytes, special tokens written out in a text are longer than one byte), so the length in UTF-8 bounds the count
of the text. Templates, tools and images add what the constants say. It is coarse, three to five times the real count
of English, and that is its use: a reservation made from it is never exceeded.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from ai_server.providers.contract import ImagePart, TextPart, TokenCount, ToolCallPart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_server.providers.contract import GenerationRequest, Part

REQUEST_TOKENS: Final = 64
"""Template around a whole request."""

MESSAGE_TOKENS: Final = 16
"""Template around a message, a part or a text to embed."""

TOOLS_TOKENS: Final = 1_024
"""Prompt that a provider adds once there are tools; Claude's is the longest documented, under 600
(https://platform.claude.com/docs/en/agents-and-tools/tool-use/overview, pricing).
"""

TOOL_TOKENS: Final = 64
"""Template around one tool."""

IMAGE_TOKENS: Final = 6_144
"""Most that an image costs: OpenAI's tiles at high detail are the dearest, 2048 x 2048 at patches of 32 times 1.5
(https://platform.openai.com/docs/guides/images-vision).
"""


COUNTED_REMOTELY: Final = 256 * 1024
"""Past this bound a provider's own counter is not asked: sending the text would take longer than it is worth."""


class UpperBoundTokenizer:
    """Bounds by bytes. A million characters take about a millisecond, so it runs where it is called."""

    async def count(self, request: GenerationRequest) -> TokenCount:
        """Bound a request."""
        return TokenCount(request_bound(request), exact=False)

    async def count_texts(self, texts: Sequence[str]) -> TokenCount:
        """Bound texts to embed."""
        return TokenCount(sum(text_bound(text) + MESSAGE_TOKENS for text in texts), exact=False)


def text_bound(text: str) -> int:
    """Bound one text."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def tools_bound(request: GenerationRequest) -> int:
    """Bound the tools of a request; 0 without any."""
    if not request.tools:
        return 0
    described = (
        text_bound(tool.name) + text_bound(tool.description) + text_bound(json.dumps(tool.input_schema)) + TOOL_TOKENS
        for tool in request.tools
    )
    return TOOLS_TOKENS + sum(described)


def request_bound(request: GenerationRequest) -> int:
    """Bound everything that is sent."""
    parts = (part_bound(part) for message in request.messages for part in message.parts)
    messages = len(request.messages) * MESSAGE_TOKENS
    return REQUEST_TOKENS + text_bound(request.instructions) + messages + sum(parts) + tools_bound(request)


def part_bound(part: Part) -> int:
    """Bound one part of a message."""
    if isinstance(part, TextPart):
        return text_bound(part.text) + MESSAGE_TOKENS
    if isinstance(part, ImagePart):
        return IMAGE_TOKENS
    if isinstance(part, ToolCallPart):
        named = text_bound(part.call_id) + text_bound(part.name) + text_bound(part.signature)
        return named + text_bound(part.arguments_json) + MESSAGE_TOKENS
    return text_bound(part.call_id) + text_bound(part.name) + text_bound(part.text) + MESSAGE_TOKENS
