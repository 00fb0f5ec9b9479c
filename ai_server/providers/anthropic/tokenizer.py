"""Asks Claude's own counter, which is free, for at most two seconds; then the upper bound serves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ai_server.providers.anthropic.wire import counted
from ai_server.providers.contract import TokenCount
from ai_server.providers.counting import COUNTED_REMOTELY, UpperBoundTokenizer, request_bound
from ai_server.providers.network import COUNT_DEADLINE_S
from shared.errors import ProviderError

if TYPE_CHECKING:
    from ai_server.providers.anthropic.generation import ClaudeGeneration
    from ai_server.providers.contract import GenerationRequest

MARGIN_TOKENS: Final = 64
MARGIN_SHARE: Final = 50
"""The counter is an estimate that may differ by a little from what is billed
(https://platform.claude.com/docs/en/build-with-claude/token-counting): 64 tokens and one in 50 are added.
"""


class ClaudeTokenizer(UpperBoundTokenizer):
    """Counts requests over the connection of the generation; bounds texts."""

    def __init__(self, generation: ClaudeGeneration) -> None:
        """Ask over `generation`, which owns the client."""
        self._generation = generation

    async def count(self, request: GenerationRequest) -> TokenCount:
        """Ask the counter; a long request, a slow or a failing counter is bounded here instead."""
        bound = request_bound(request)
        if bound > COUNTED_REMOTELY:
            return TokenCount(bound, exact=False)
        client = await self._generation.client()
        sent: dict[str, Any] = counted(request)
        try:
            answer = await self._generation.call(COUNT_DEADLINE_S).whole(
                lambda: client.messages.count_tokens(model=request.model, **sent, timeout=COUNT_DEADLINE_S)
            )
        except ProviderError:
            return TokenCount(bound, exact=False)
        tokens = answer.input_tokens
        if not isinstance(tokens, int) or tokens <= 0:
            return TokenCount(bound, exact=False)
        return TokenCount(tokens + tokens // MARGIN_SHARE + MARGIN_TOKENS, exact=False)
