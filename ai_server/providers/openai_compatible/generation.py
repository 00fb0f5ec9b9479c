"""Generation in OpenAI's formats: chat completions, or Responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import openai

from ai_server.providers.network import REQUEST_ID_HEADER, NetworkGeneration
from ai_server.providers.openai_compatible.client import classify
from ai_server.providers.openai_compatible.wires import WIRES

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from ai_server.ledger.contract import Permit
    from ai_server.providers.calls import Reader
    from ai_server.providers.contract import GenerationRequest
    from ai_server.providers.openai_compatible.client import Connection

SAID_AGAIN: Final[openai.RequestOptions] = {
    "max_retries": 0,
    "timeout": None,
    "security": {"bearer_auth": True},
}
"""What the client would do anyway. It makes a deep copy of each default that a request leaves out."""


class OpenAICompatibleGeneration(NetworkGeneration[openai.AsyncOpenAI]):
    """Writes with any model that is spoken to in one of OpenAI's formats."""

    def __init__(self, connection: Connection) -> None:
        """Take where and as whom; nothing is opened yet."""
        super().__init__(
            connection.provider, connection.row, connection.model, connection.failures(), connection.stall_s
        )
        self._connection = connection
        self._wire = WIRES[connection.profile.wire]
        self._url = f"{connection.base_url}{self._wire.path}"

    def connect(self) -> openai.AsyncOpenAI:
        """Make the client."""
        return self._connection.client()

    async def disconnect(self, client: openai.AsyncOpenAI) -> None:
        """Close the client."""
        await client.close()

    def reader(self, request: GenerationRequest) -> Reader:
        """Read in the dialect of the profile."""
        del request
        return self._wire.reader(self._connection.profile, self.failures)

    def ask(self, client: openai.AsyncOpenAI, request: GenerationRequest, permit: Permit) -> Awaitable[Any]:
        """Post where the format says, and take the answer as plain data.

        The SDK's own method checks the request and builds an object for every chunk, without being sure of either:
        that is two thirds of the processor time of a call, and the reader wants plain data anyway.
        """
        return client.post(
            self._url,
            body=self._wire.body(request, self.row, self._connection.profile),
            cast_to=object,
            options={
                **SAID_AGAIN,
                "headers": {REQUEST_ID_HEADER: permit.reservation_id},
                "idempotency_key": permit.reservation_id,  # not sent; the SDK would make up another
            },
            stream=request.stream,
            stream_cls=openai.AsyncStream[object],
        )

    async def hang_up(self, answer: Any) -> None:
        """Close the stream."""
        await answer.close()

    def classify(self, exc: Exception, begun: bool) -> Exception:  # noqa: FBT001 - the shape that Call asks for
        """Classify by the SDK's classes."""
        return classify(self.failures, exc, begun=begun)
