"""Generation in OpenAI's chat format."""

from __future__ import annotations

import contextlib
from functools import partial
from typing import TYPE_CHECKING, Any

from ai_server.providers.calls import Call, close_quietly, closing
from ai_server.providers.contract import Capabilities
from ai_server.providers.media import check_request
from ai_server.providers.openai_compatible.client import REQUEST_ID_HEADER, classify
from ai_server.providers.openai_compatible.reader import ChatReader
from ai_server.providers.openai_compatible.wire import body

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import openai

    from ai_server.ledger.contract import Permit
    from ai_server.providers.contract import GenerationEvent, GenerationRequest
    from ai_server.providers.openai_compatible.client import Connection


class OpenAICompatibleGeneration:
    """Writes with any model that is spoken to in OpenAI's chat format."""

    def __init__(self, connection: Connection) -> None:
        """Take where and as whom; nothing is opened yet."""
        self._connection = connection
        self._failures = connection.failures()
        self._client: openai.AsyncOpenAI | None = None

    @property
    def name(self) -> str:
        """The provider's name."""
        return self._connection.provider

    @property
    def capabilities(self) -> Capabilities:
        """What the catalogue says of the model."""
        found = self._connection.row.capabilities
        return Capabilities(image="image" in found, tools="tools" in found, paraphrases=True)

    async def initialize(self) -> None:
        """Make the client."""
        self._client = self._client or self._connection.client()

    async def close(self) -> None:
        """Release connections."""
        client, self._client = self._client, None
        if client is not None:
            await close_quietly(client.close)

    async def generate(self, request: GenerationRequest, permit: Permit) -> AsyncIterator[GenerationEvent]:
        """Stream one round; see the contract."""
        check_request(request, self._connection.row, self._failures)
        await self.initialize()
        assert self._client is not None
        call = Call(self._failures, self._classify, request.deadline_s, self._connection.stall_s)
        reader = ChatReader(self._connection.profile, self._failures)
        sent: dict[str, Any] = body(request, self._connection.row, self._connection.profile)
        create = partial(
            self._client.chat.completions.create,
            **sent,
            timeout=request.deadline_s,
            extra_headers={REQUEST_ID_HEADER: permit.reservation_id},
        )
        answer: Any = await call.whole(create())
        if not request.stream:
            for event in call.read(reader, answer):
                yield event
            for event in closing(reader, self._failures):
                yield event
            return
        try:
            async with contextlib.aclosing(call.events(answer, reader)) as events:
                async for event in events:
                    yield event
        finally:
            await close_quietly(answer.close)

    def _classify(self, exc: Exception, begun: bool) -> Exception:  # noqa: FBT001 - the shape that Call asks for
        return classify(self._failures, exc, begun=begun)
