"""What differs between those who speak OpenAI's formats. A new one is a row here and its rows in the catalogue."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from ai_server.providers.contract import Thinking

if TYPE_CHECKING:
    from collections.abc import Mapping

WireName = Literal["chat", "responses"]

OWN_MACHINE: Final = "models there are taken as free; a paid service needs its own provider or catalogue rows"


@dataclass(frozen=True, slots=True)
class Profile:
    """One dialect. Defaults are OpenAI's own."""

    base_url: str
    """Where it is; "" must be set by the operator."""

    key_required: bool = True
    near_only: bool = False
    """Unnamed models are free there, so it must be on our own machine or network."""

    wire: WireName = "chat"
    """Which format it speaks: chat completions, or Responses."""

    cap_field: Literal["max_completion_tokens", "max_tokens"] = "max_completion_tokens"
    reasoning_inside: bool = True
    """Do completion tokens include reasoning tokens?"""

    efforts: Mapping[Thinking, str] = field(default_factory=dict)
    """What to send as effort to models that think."""

    effort_style: Literal["reasoning_effort", "reasoning", "thinking"] = "reasoning_effort"
    """In chat: OpenAI's field, OpenRouter's object, or DeepSeek's switch."""

    fixed_temperature: bool = False
    """Models that think refuse a temperature."""

    cost_path: tuple[str, ...] = ()
    """Where in the usage the provider says what it charged, in dollars."""

    cache_key: bool = False
    """Does it take a key that groups requests with a common beginning?"""

    extra_body: Mapping[str, object] = field(default_factory=dict)


LOW_TO_HIGH: Final = {Thinking.OFF: "low", Thinking.LOW: "low", Thinking.MEDIUM: "medium", Thinking.HIGH: "high"}

PROFILES: Final[Mapping[str, Profile]] = {
    "openai": Profile(
        base_url="https://api.openai.com/v1",
        efforts=LOW_TO_HIGH,
        fixed_temperature=True,
        cache_key=True,
    ),
    "groq": Profile(base_url="https://api.groq.com/openai/v1", efforts=LOW_TO_HIGH),
    "deepseek": Profile(
        base_url="https://api.deepseek.com/v1",
        cap_field="max_tokens",
        efforts={
            Thinking.OFF: "disabled",
            Thinking.LOW: "disabled",
            Thinking.MEDIUM: "enabled",
            Thinking.HIGH: "enabled",
        },
        effort_style="thinking",
    ),
    "xai": Profile(base_url="https://api.x.ai/v1", reasoning_inside=False),
    "openrouter": Profile(
        base_url="https://openrouter.ai/api/v1",
        cap_field="max_tokens",
        efforts=LOW_TO_HIGH,
        effort_style="reasoning",
        cost_path=("cost",),
        extra_body={"usage": {"include": True}},
    ),
    # The Agent API; chat completions ended on 2026-09-27.
    "perplexity": Profile(
        base_url="https://api.perplexity.ai/v1",
        wire="responses",
        cost_path=("cost", "total_cost"),
        cache_key=True,
    ),
    "ollama": Profile(base_url="http://127.0.0.1:11434/v1", key_required=False, near_only=True, cap_field="max_tokens"),
    "openai_compatible": Profile(base_url="", key_required=False, near_only=True, cap_field="max_tokens"),
}
