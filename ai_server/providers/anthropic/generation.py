"""Generation with Claude."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anthropic

from ai_server.providers.anthropic.client import classify
from ai_server.providers.anthropic.reader import ClaudeReader
from ai_server.providers.anthropic.wire import body
from ai_server.providers.network import REQUEST_ID_HEADER, NetworkGeneration

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from ai_server.ledger.contract import Permit
    from ai_server.providers.anthropic.client import Connection
    from ai_server.providers.calls import Reader
    from ai_server.providers.contract import GenerationRequest


class ClaudeGeneration(NetworkGeneration[anthropic.AsyncAnthropic]):
    """Writes with Claude."""

    def __init__(self, connection: Connection) -> None:
        """Take where and as whom; nothing is opened yet."""
        super().__init__("anthropic", connection.row, connection.model, connection.failures(), connection.stall_s)
        self._connection = connection

    def connect(self) -> anthropic.AsyncAnthropic:
        """Make the client."""
        return self._connection.client()

    async def disconnect(self, client: anthropic.AsyncAnthropic) -> None:
        """Close the client."""
        await client.close()

    def reader(self, request: GenerationRequest) -> Reader:
        """Make what reads one answer."""
        del request
        return ClaudeReader()

    def ask(self, client: anthropic.AsyncAnthropic, request: GenerationRequest, permit: Permit) -> Awaitable[Any]:
        """Call `messages`."""
        sent: dict[str, Any] = body(request, self.row)
        headers = {REQUEST_ID_HEADER: permit.reservation_id}
        return client.messages.create(**sent, stream=request.stream, timeout=request.deadline_s, extra_headers=headers)

    async def hang_up(self, answer: Any) -> None:
        """Close the stream."""
        await answer.close()

    def classify(self, exc: Exception, begun: bool) -> Exception:  # noqa: FBT001 - the shape that Call asks for
        """Classify by the SDK's classes."""
        return classify(self.failures, exc, begun=begun)
