"""Generation with Mistral."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mistralai.client import Mistral

from ai_server.providers.mistral.client import classify, close_client
from ai_server.providers.mistral.reader import MistralReader
from ai_server.providers.mistral.wire import body
from ai_server.providers.network import REQUEST_ID_HEADER, NetworkGeneration

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from ai_server.ledger.contract import Permit
    from ai_server.providers.calls import Reader
    from ai_server.providers.contract import GenerationRequest
    from ai_server.providers.mistral.client import Connection


class MistralGeneration(NetworkGeneration[Mistral]):
    """Writes with Mistral's chat models."""

    def __init__(self, connection: Connection) -> None:
        """Take where and as whom; nothing is opened yet."""
        super().__init__("mistral", connection.row, connection.model, connection.failures(), connection.stall_s)
        self._connection = connection

    def connect(self) -> Mistral:
        """Make the client."""
        return self._connection.client()

    def warm(self, client: Mistral) -> None:
        """Load the chat resource and its types."""
        _ = client.chat.stream_async

    async def disconnect(self, client: Mistral) -> None:
        """Close the client."""
        await close_client(client)

    def reader(self, request: GenerationRequest) -> Reader:
        """Make what reads one answer."""
        del request
        return MistralReader(self.failures)

    def ask(self, client: Mistral, request: GenerationRequest, permit: Permit) -> Awaitable[Any]:
        """Call `chat/completions`."""
        ask = client.chat.stream_async if request.stream else client.chat.complete_async
        headers = {REQUEST_ID_HEADER: permit.reservation_id}
        return ask(**body(request, self.row), timeout_ms=int(request.deadline_s * 1000), http_headers=headers)

    async def hang_up(self, answer: Any) -> None:
        """Close the stream."""
        await answer.close()

    def classify(self, exc: Exception, begun: bool) -> Exception:  # noqa: FBT001 - the shape that Call asks for
        """Classify by the SDK's classes."""
        return classify(self.failures, exc, begun=begun)
