"""What a provider is, in normal form. No SDK object, field name or exception crosses this line.

A provider folder offers up to four things: `generation`, `embedding`, `tokenizer`, `pricing`. The keyless twins
live in `embedded` and ship with the product.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from ai_server.ledger.contract import Permit
    from shared.usage import Usage

UNSUPPORTED_MARKER = "[[unsupported]]"
"""What a generator writes, alone, when the passages do not hold the answer."""


@dataclass(frozen=True, slots=True)
class TextPart:
    """Plain text or Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image of the current turn, at most 3 MiB."""

    mime_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    """A call that the model made in an earlier round. `arguments_json` is the exact text. `signature` is what came
    with `ToolCallMade`: some models refuse a history without it.
    """

    call_id: str
    name: str
    arguments_json: str
    signature: str = ""


@dataclass(frozen=True, slots=True)
class ToolResultPart:
    """What a call returned, already wrapped as untrusted."""

    call_id: str
    name: str
    text: str


Part = TextPart | ImagePart | ToolCallPart | ToolResultPart


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `user` carries text, images and tool results; `assistant` text and tool calls."""

    role: Literal["user", "assistant"]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A function that the model may call."""

    name: str
    description: str
    input_schema: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ScoredSentence:
    """A sentence of a passage, verbatim; `score` is its closeness to the question (higher is closer)."""

    text: str
    score: float


@dataclass(frozen=True, slots=True)
class Passage:
    """A kept chunk, or a file that the person sent. `marker` is what the model writes to cite it; a file has none.

    `quotable` false: paraphrase, never quote.
    """

    marker: str
    title: str
    heading: str
    text: str
    language: str
    sentences: tuple[ScoredSentence, ...]
    quotable: bool


class Thinking(StrEnum):
    """How much a model may reason before it answers."""

    OFF = "off"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """Everything for one round. The last message holds the rendered passages and the question; generators that read
    structure instead take `question` and `passages`.
    """

    model: str
    instructions: str
    messages: tuple[Message, ...]
    question: str
    passages: tuple[Passage, ...]
    language: str
    max_output_tokens: int
    temperature: float | None = None
    thinking: Thinking = Thinking.LOW
    tools: tuple[ToolSpec, ...] = ()
    deadline_s: float = 120.0
    least_output_tokens: int = 0
    """How far the output cap may be lowered where the budget has no room for all of it; 0: not at all."""
    stable_characters: int = 0
    """So many of the first characters of `instructions` are the same in every turn of the assistant: worth a cache
    breakpoint where a provider wants to be told; 0: unknown.
    """
    stream: bool = True
    """False: the answer is asked for whole, and comes as the same events in one go."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More text."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallMade:
    """A complete call; `arguments_json` parses as an object or the call is reported as malformed: `malformed` true.
    `signature` is opaque, at most 64 KiB, and goes back unread in `ToolCallPart`.
    """

    call_id: str
    name: str
    arguments_json: str
    signature: str = ""
    malformed: bool = False


@dataclass(frozen=True, slots=True)
class UsageReport:
    """What the provider says was used so far; the last one wins. Absent usage: no such event."""

    usage: Usage
    service_tier: str = ""


class FinishReason(StrEnum):
    """Why the model stopped."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALLS = "tool_calls"
    REFUSED = "refused"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Finished:
    """The end of the round. The stream may still give a later `UsageReport`."""

    reason: FinishReason


GenerationEvent = TextDelta | ToolCallMade | UsageReport | Finished


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a generator can take and give."""

    image: bool
    tools: bool
    paraphrases: bool
    """False: quotes only, so `chatbot_only` text never reaches it."""


@runtime_checkable
class GenerationProvider(Protocol):
    """Writes text from messages."""

    @property
    def name(self) -> str:
        """The provider's name in configuration, bills and metrics."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What it takes."""
        ...

    async def initialize(self) -> None:
        """Make the client. No network call is needed to succeed.

        Raises:
            ProviderRefused: configuration that cannot work.
        """
        ...

    async def close(self) -> None:
        """Release connections; idempotent."""
        ...

    def generate(self, request: GenerationRequest, permit: Permit) -> AsyncIterator[GenerationEvent]:
        """Stream one round. Closing the iterator stops the call and drains up to 5 s for a last `UsageReport`.

        Raises:
            ProviderRefused, ProviderOverloaded, ProviderCut: with `started` telling whether work may be billed.
        """
        ...


@dataclass(frozen=True, slots=True)
class Embeddings:
    """`vectors` is (n, dimension) float32, unit length; `usage` None when the provider did not say."""

    vectors: NDArray[np.float32]
    usage: Usage | None


@runtime_checkable
class EmbeddingProvider(Protocol):
    """Turns texts into vectors."""

    @property
    def name(self) -> str:
        """The provider's name."""
        ...

    @property
    def model(self) -> str:
        """Catalogue id of the model."""
        ...

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        ...

    @property
    def max_batch(self) -> int:
        """Most texts in one call."""
        ...

    async def initialize(self) -> None:
        """Make the client or load the model."""
        ...

    async def close(self) -> None:
        """Release what `initialize` took; idempotent."""
        ...

    async def embed(self, texts: Sequence[str], kind: Literal["query", "document"], permit: Permit) -> Embeddings:
        """Embed 1 to `max_batch` texts, in order.

        Raises:
            ProviderRefused, ProviderOverloaded, ProviderCut: as for generation.
        """
        ...


@dataclass(frozen=True, slots=True)
class TokenCount:
    """`exact` false: an upper bound that real usage never exceeds."""

    tokens: int
    exact: bool


@runtime_checkable
class Tokenizer(Protocol):
    """Counts what a request would be billed as input; never downloads, bounded in time."""

    async def count(self, request: GenerationRequest) -> TokenCount:
        """Count instructions, messages, images and tools."""
        ...

    async def count_texts(self, texts: Sequence[str]) -> TokenCount:
        """Count texts to embed."""
        ...


@runtime_checkable
class Pricing(Protocol):
    """Prices normalised usage; knows its catalogue row and nothing of any SDK."""

    @property
    def price_version(self) -> str:
        """Names the price row that bills are computed by."""
        ...

    @property
    def metered(self) -> bool:
        """False: billing is free and every amount is 0."""
        ...

    def ceiling(self, input_tokens: int, max_output_tokens: int) -> int:
        """Nanodollars that one call can be billed at most, reasoning included; 0 when free."""
        ...

    def cost(self, usage: Usage, service_tier: str = "") -> int | None:
        """Nanodollars for a usage; None when a tier or unit in it has no price."""
        ...
