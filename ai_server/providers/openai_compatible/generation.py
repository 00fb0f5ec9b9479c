"""Generation in OpenAI's formats: chat completions, or Responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ai_server.providers.network import REQUEST_ID_HEADER, NetworkGeneration
from ai_server.providers.openai_compatible.client import classify
from ai_server.providers.openai_compatible.http import JsonClient
from ai_server.providers.openai_compatible.wires import WIRES

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from ai_server.ledger.contract import Permit
    from ai_server.providers.calls import Reader
    from ai_server.providers.contract import GenerationRequest
    from ai_server.providers.openai_compatible.client import Connection
    from ai_server.providers.openai_compatible.http import Events


class OpenAICompatibleGeneration(NetworkGeneration[JsonClient]):
    """Writes with any model that is spoken to in one of OpenAI's formats."""

    def __init__(self, connection: Connection) -> None:
        """Take where and as whom; nothing is opened yet."""
        super().__init__(
            connection.provider, connection.row, connection.model, connection.failures(), connection.stall_s
        )
        self._connection = connection
        self._wire = WIRES[connection.profile.wire]

    def connect(self) -> JsonClient:
        """Make the client."""
        return self._connection.client()

    async def disconnect(self, client: JsonClient) -> None:
        """Close the client."""
        await client.close()

    def reader(self, request: GenerationRequest) -> Reader:
        """Read in the dialect of the profile."""
        del request
        return self._wire.reader(self._connection.profile, self.failures)

    def ask(self, client: JsonClient, request: GenerationRequest, permit: Permit) -> Awaitable[Any]:
        """Post where the format says, and take the answer as plain data."""
        post = client.stream if request.stream else client.post
        body = self._wire.body(request, self.row, self._connection.profile)
        return post(self._wire.path, body, {REQUEST_ID_HEADER: permit.reservation_id})

    async def hang_up(self, answer: Events) -> None:
        """Close the stream."""
        answer.close()

    def classify(self, exc: Exception, begun: bool) -> Exception:  # noqa: FBT001 - the shape that Call asks for
        """Classify by what the client raises."""
        return classify(self.failures, exc, begun=begun)
