"""A generator that says what its script says, with a price, and counts who called it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

from ai_server.providers.contract import (
    Capabilities,
    Finished,
    FinishReason,
    GenerationEvent,
    GenerationRequest,
    TextDelta,
    TokenCount,
    UsageReport,
)
from shared.usage import Usage

Line = GenerationEvent | Exception | asyncio.Event
"""An event is given, an exception raised, an asyncio event waited for."""

Script = Callable[[GenerationRequest], Sequence[Line]]
USAGE = Usage(input=100, output=20)


def saying(*texts: str, usage: Usage | None = USAGE, reason: FinishReason = FinishReason.STOP) -> list[Line]:
    """Script an answer that ends well."""
    end: list[Line] = [UsageReport(usage)] if usage else []
    return [*map(TextDelta, texts), *end, Finished(reason)]


class ScriptedGenerator:
    """Implements `GenerationProvider`."""

    def __init__(
        self, script: Script, *, name: str = "scripted", image: bool = False, paraphrases: bool = True
    ) -> None:
        self._name = name
        self._capabilities = Capabilities(image=image, tools=False, paraphrases=paraphrases)
        self.script = script
        self.requests: list[GenerationRequest] = []
        self.permits: list[str] = []
        self.closed = 0
        self.unusable: Exception | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    async def initialize(self) -> None:
        if self.unusable is not None:
            raise self.unusable

    async def close(self) -> None:
        self.closed += 1

    async def generate(self, request, permit) -> AsyncIterator[GenerationEvent]:
        self.requests.append(request)
        self.permits.append(permit.key)
        for line in self.script(request):
            if isinstance(line, asyncio.Event):
                await line.wait()
            elif isinstance(line, Exception):
                raise line
            else:
                yield line
                await asyncio.sleep(0)


class FixedTokenizer:
    """Counts the same for everything."""

    def __init__(self, tokens: int = 100) -> None:
        self.tokens = tokens

    async def count(self, request) -> TokenCount:
        return TokenCount(self.tokens, exact=True)

    async def count_texts(self, texts) -> TokenCount:
        return TokenCount(self.tokens, exact=True)


class FlatPricing:
    """One nanodollar for each token of any kind, or free."""

    price_version = "flat-1"

    def __init__(self, *, metered: bool = True) -> None:
        self.metered = metered

    def ceiling(self, input_tokens, max_output_tokens) -> int:
        return input_tokens + max_output_tokens if self.metered else 0

    def cost(self, usage, service_tier="") -> int | None:
        if not self.metered:
            return 0
        return usage.input + usage.cached_input + usage.output + usage.reasoning
