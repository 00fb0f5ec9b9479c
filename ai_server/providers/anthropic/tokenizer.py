"""Asks Claude's own counter, which is free, for at most two seconds; then the upper bound serves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import anthropic

from ai_server.providers.anthropic.client import classify
from ai_server.providers.anthropic.wire import counted
from ai_server.providers.contract import TokenCount
from ai_server.providers.counting import COUNTED_REMOTELY, UpperBoundTokenizer, request_bound
from ai_server.providers.network import COUNT_DEADLINE_S, Networked
from shared.errors import ProviderError

if TYPE_CHECKING:
    from ai_server.providers.anthropic.client import Connection
    from ai_server.providers.contract import GenerationRequest

MARGIN_TOKENS: Final = 64
MARGIN_SHARE: Final = 50
"""The counter is an estimate that may differ by a little from what is billed
(https://platform.claude.com/docs/en/build-with-claude/token-counting): 64 tokens and one in 50 are added.
"""


class ClaudeTokenizer(UpperBoundTokenizer, Networked[anthropic.AsyncAnthropic]):
    """Counts requests; bounds texts."""

    def __init__(self, connection: Connection) -> None:
        """Take where and as whom."""
        Networked.__init__(
            self, "anthropic", connection.row, connection.model, connection.failures(), connection.stall_s
        )
        self._connection = connection

    async def count(self, request: GenerationRequest) -> TokenCount:
        """Ask the counter; a long request, a slow or a failing counter is bounded here instead."""
        bound = request_bound(request)
        if bound > COUNTED_REMOTELY:
            return TokenCount(bound, exact=False)
        client = await self.client()
        sent: dict[str, Any] = counted(request)
        try:
            answer = await self.call(COUNT_DEADLINE_S).whole(
                client.messages.count_tokens(model=request.model, **sent, timeout=COUNT_DEADLINE_S)
            )
        except ProviderError:
            return TokenCount(bound, exact=False)
        tokens = answer.input_tokens
        if not isinstance(tokens, int) or tokens <= 0:
            return TokenCount(bound, exact=False)
        return TokenCount(tokens + tokens // MARGIN_SHARE + MARGIN_TOKENS, exact=False)

    def connect(self) -> anthropic.AsyncAnthropic:
        """Make the client."""
        return self._connection.client()

    async def disconnect(self, client: anthropic.AsyncAnthropic) -> None:
        """Close the client."""
        await client.close()

    def classify(self, exc: Exception, begun: bool) -> Exception:  # noqa: FBT001 - the shape that Call asks for
        """Classify by the SDK's classes."""
        return classify(self.failures, exc, begun=begun)
