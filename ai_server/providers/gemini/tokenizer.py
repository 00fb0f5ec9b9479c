"""Asks Gemini's own counter, which is free, for at most two seconds; then the upper bound serves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.genai import types

from ai_server.providers.contract import TokenCount
from ai_server.providers.counting import COUNTED_REMOTELY, UpperBoundTokenizer, request_bound, tools_bound
from ai_server.providers.gemini.client import call_options
from ai_server.providers.gemini.wire import contents, tools
from ai_server.providers.network import COUNT_DEADLINE_S
from shared.errors import ProviderError

if TYPE_CHECKING:
    from ai_server.providers.contract import GenerationRequest
    from ai_server.providers.gemini.generation import GeminiGeneration


class GeminiTokenizer(UpperBoundTokenizer):
    """Counts requests over the connection of the generation; bounds texts."""

    def __init__(self, generation: GeminiGeneration, *, vertex: bool) -> None:
        """Ask over `generation`, which owns the client. `vertex`: the counter takes instructions and tools."""
        self._generation = generation
        self._vertex = vertex

    async def count(self, request: GenerationRequest) -> TokenCount:
        """Ask the counter; a long request, a slow or a failing counter is bounded here instead."""
        bound = request_bound(request)
        if bound > COUNTED_REMOTELY:
            return TokenCount(bound, exact=False)
        try:
            tokens = await self._ask(request)
        except ProviderError:
            return TokenCount(bound, exact=False)
        if not tokens:
            return TokenCount(bound, exact=False)
        if self._vertex or not request.tools:
            return TokenCount(tokens, exact=True)
        return TokenCount(tokens + tools_bound(request), exact=False)

    async def _ask(self, request: GenerationRequest) -> int | None:
        """Count. The Developer API's counter takes neither instructions nor tools: instructions go as a message."""
        client = await self._generation.client()
        options = call_options(COUNT_DEADLINE_S)
        counted: Any = contents(request)
        if self._vertex:
            config = types.CountTokensConfig(
                http_options=options, system_instruction=request.instructions or None, tools=tools(request)
            )
        else:
            config = types.CountTokensConfig(http_options=options)
            first = types.Content(role="user", parts=[types.Part(text=request.instructions)])
            counted = [first, *counted] if request.instructions else counted
        answer = await self._generation.call(COUNT_DEADLINE_S).whole(
            lambda: client.aio.models.count_tokens(model=request.model, contents=counted, config=config)
        )
        return answer.total_tokens
