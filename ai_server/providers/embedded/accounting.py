"""Counting and pricing of the embedded models: nothing leaves the machine, nothing is paid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ai_server.providers.contract import GenerationRequest, TextPart, TokenCount

if TYPE_CHECKING:
    from collections.abc import Sequence

    from shared.usage import Usage

CHARACTERS_PER_TOKEN: Final = 4
PRICE_VERSION: Final = "embedded-free"


def tokens_in(text: str) -> int:
    """Count by length: an embedded token is four characters, by our own definition, so counts are exact."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


class LengthTokenizer:
    """Counts what the embedded generators read: the question and the passages."""

    async def count(self, request: GenerationRequest) -> TokenCount:
        """Count question, passages and the text of messages."""
        said = sum(
            tokens_in(part.text) for message in request.messages for part in message.parts if isinstance(part, TextPart)
        )
        return TokenCount(said + sum(tokens_in(each.text) for each in request.passages), exact=True)

    async def count_texts(self, texts: Sequence[str]) -> TokenCount:
        """Count texts to embed."""
        return TokenCount(sum(map(tokens_in, texts)), exact=True)


class FreePricing:
    """Everything costs nothing."""

    @property
    def price_version(self) -> str:
        """Names the rule, for the journal."""
        return PRICE_VERSION

    @property
    def metered(self) -> bool:
        """Never."""
        return False

    def ceiling(self, input_tokens: int, max_output_tokens: int) -> int:  # noqa: ARG002 - the contract's names
        """Nothing."""
        return 0

    def cost(self, usage: Usage, service_tier: str = "") -> int | None:  # noqa: ARG002 - the contract's names
        """Nothing."""
        return 0
