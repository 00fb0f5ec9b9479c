"""What the provider bills: its own count of every accepted call, priced by `genai-prices`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache
from typing import Any

import genai_prices

PROVIDER_IDS = {
    "gemini": "google",
    "mistral": "mistral",
    "anthropic": "anthropic",
    "openai": "openai",
    "groq": "groq",
    "deepseek": "deepseek",
    "xai": "x-ai",
    "openrouter": "openrouter",
    "perplexity": "perplexity",
}
FREE = frozenset({"ollama", "compatible"})


@dataclass(frozen=True, slots=True)
class Used:
    """What one call used, in disjoint counts."""

    input: int = 0
    cached: int = 0
    cache_write: int = 0
    output: int = 0
    reasoning: int = 0
    tool_use: int = 0

    @property
    def prompt(self) -> int:
        """Everything that went in, but what tools added."""
        return self.input + self.cached + self.cache_write


@dataclass(frozen=True, slots=True)
class Line:
    """One billed call. `usage_sent`: the answer carried the whole usage to its end."""

    family: str
    model: str
    request_id: str
    used: Used
    at: datetime
    usage_sent: bool
    outcome: str

    @property
    def cost_nanousd(self) -> int:
        """Price the call, rounded up once."""
        return price(self.family, self.model, self.used, self.at)

    def to_json(self) -> dict[str, Any]:
        """Write the line for the control interface."""
        return {**asdict(self), "at": self.at.isoformat(), "cost_nanousd": self.cost_nanousd}


@lru_cache(maxsize=65_536)
def price(family: str, model: str, used: Used, at: datetime) -> int:
    """Price a usage with the public data set."""
    if family in FREE:
        return 0
    usage = genai_prices.Usage(
        input_tokens=used.prompt + used.tool_use,
        cache_read_tokens=used.cached,
        cache_write_tokens=used.cache_write,
        output_tokens=used.output + used.reasoning,
    )
    found = genai_prices.calc_price(usage, model, provider_id=PROVIDER_IDS[family], genai_request_timestamp=at)
    return int((Decimal(found.total_price) * 10**9).to_integral_value(rounding=ROUND_CEILING))
