"""Generation with Gemini."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google import genai
from google.genai import types

from ai_server.providers.gemini.client import classify, close_client
from ai_server.providers.gemini.reader import GeminiReader
from ai_server.providers.gemini.wire import config, contents
from ai_server.providers.network import NetworkGeneration

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from ai_server.ledger.contract import Permit
    from ai_server.providers.calls import Reader
    from ai_server.providers.contract import GenerationRequest
    from ai_server.providers.gemini.client import Connection


class GeminiGeneration(NetworkGeneration[genai.Client]):
    """Writes with Gemini."""

    def __init__(self, connection: Connection) -> None:
        """Take where and as whom; nothing is opened yet."""
        super().__init__("gemini", connection.row, connection.model, connection.failures(), connection.stall_s)
        self._connection = connection

    def connect(self) -> genai.Client:
        """Make the client."""
        return self._connection.client()

    def warm(self, client: genai.Client) -> None:
        """Build the models of request and response, which pydantic puts off."""
        del client
        part: dict[str, object] = {"text": "x"}
        types.GenerateContentConfig(max_output_tokens=1)
        types.GenerateContentResponse.model_validate({"candidates": [{"content": {"parts": [part]}}]})

    async def disconnect(self, client: genai.Client) -> None:
        """Close the client."""
        await close_client(client)

    def reader(self, request: GenerationRequest) -> Reader:
        """Make what reads one answer."""
        del request
        return GeminiReader()

    def ask(self, client: genai.Client, request: GenerationRequest, permit: Permit) -> Awaitable[Any]:
        """Call `generateContent` or `streamGenerateContent`."""
        models = client.aio.models
        ask = models.generate_content_stream if request.stream else models.generate_content
        written: Any = contents(request)
        return ask(model=request.model, contents=written, config=config(request, self.row, permit))

    async def hang_up(self, answer: Any) -> None:
        """Close the stream."""
        await answer.aclose()

    def classify(self, exc: Exception, begun: bool) -> Exception:  # noqa: FBT001 - the shape that Call asks for
        """Classify by the SDK's classes."""
        return classify(self.failures, exc, begun=begun)
