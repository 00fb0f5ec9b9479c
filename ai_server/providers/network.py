"""What generation and embedding over the network have in common; a folder adds its SDK.

The hooks are few: make and close a client, ask, read, hang up, and say what the SDK's exceptions mean.
"""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from ai_server.providers.calls import Call, close_quietly, closing
from ai_server.providers.contract import Capabilities
from ai_server.providers.media import check_request

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable

    from ai_server.ledger.contract import Permit
    from ai_server.providers.calls import Reader
    from ai_server.providers.catalog import ModelRow
    from ai_server.providers.contract import GenerationEvent, GenerationRequest
    from ai_server.providers.failures import Failures

ClientT = TypeVar("ClientT")

REQUEST_ID_HEADER: Final = "X-Client-Request-Id"
"""Carries the reservation's id, so that a provider's own records can be matched with the ledger."""

EMBED_DEADLINE_S: Final = 60.0
COUNT_DEADLINE_S: Final = 2.0
"""Longest wait for a provider's own token counter; then the upper bound serves."""


class Networked(ABC, Generic[ClientT]):
    """Owns one SDK client, made when it is first needed and closed once."""

    def __init__(self, name: str, row: ModelRow, model: str, failures: Failures, stall_s: float) -> None:
        """Take names, the catalogue row, how failures are told, and the longest silence inside an answer."""
        self._name = name
        self.row = row
        self._model = model
        self.failures = failures
        self._stall_s = stall_s
        self._client: ClientT | None = None

    @property
    def name(self) -> str:
        """The provider's name in configuration, bills and metrics."""
        return self._name

    async def initialize(self) -> None:
        """Make the client; no network call. SDKs load and build half of themselves at their first call: it is done
        here, off the loop, so that the first visitor does not wait for it.
        """
        if self._client is None:
            client = self._client = self.connect()
            await asyncio.to_thread(self.warm, client)

    async def close(self) -> None:
        """Release connections; idempotent."""
        client, self._client = self._client, None
        if client is not None:
            await close_quietly(lambda: self.disconnect(client))

    async def client(self) -> ClientT:
        """Give the client, made now if it was not."""
        await self.initialize()
        assert self._client is not None
        return self._client

    def call(self, deadline_s: float) -> Call:
        """Begin a bounded call."""
        return Call(self.failures, self.classify, deadline_s, self._stall_s)

    @abstractmethod
    def connect(self) -> ClientT:
        """Make the SDK's client: without retries, without redirects."""

    def warm(self, client: ClientT) -> None:
        """Make the SDK load what its first call would load; runs in a thread."""

    @abstractmethod
    async def disconnect(self, client: ClientT) -> None:
        """Close the SDK's client."""

    @abstractmethod
    def classify(self, exc: Exception, begun: bool) -> Exception:  # noqa: FBT001 - the shape that Call asks for
        """Turn an exception of the SDK into ours."""


class NetworkGeneration(Networked[ClientT]):
    """The round that all SDKs share."""

    @property
    def capabilities(self) -> Capabilities:
        """What the catalogue says of the model."""
        found = self.row.capabilities
        return Capabilities(image="image" in found, tools="tools" in found, paraphrases=True)

    async def generate(self, request: GenerationRequest, permit: Permit) -> AsyncIterator[GenerationEvent]:
        """Stream one round; see the contract."""
        check_request(request, self.row, self.failures)
        client = await self.client()
        call = self.call(request.deadline_s)
        reader = self.reader(request)
        answer = await call.whole(lambda: self.ask(client, request, permit))
        if not request.stream:
            for event in (*call.read(reader, answer), *closing(reader, self.failures)):
                yield event
            return
        try:
            async with contextlib.aclosing(call.events(answer, reader)) as events:
                async for event in events:
                    yield event
        finally:
            await close_quietly(lambda: self.hang_up(answer))

    @abstractmethod
    def reader(self, request: GenerationRequest) -> Reader:
        """Make what reads one answer."""

    @abstractmethod
    def ask(self, client: ClientT, request: GenerationRequest, permit: Permit) -> Awaitable[Any]:
        """Send the request; gives an async iterator of chunks, or the whole answer when it is not to be streamed."""

    @abstractmethod
    async def hang_up(self, answer: Any) -> None:
        """Close a stream that may not be at its end."""
