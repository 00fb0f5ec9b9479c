"""The providers under test, as an operator would configure them, each against the simulator."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import SecretStr

from ai_server.ledger.contract import Permit, Quote
from ai_server.providers import catalog, registry
from ai_server.providers.contract import (
    Finished,
    GenerationEvent,
    GenerationRequest,
    Message,
    TextDelta,
    TextPart,
    ToolCallMade,
    UsageReport,
)
from ai_server.providers.registry import ModelChoice, ProviderBundle, ProviderSet, Purpose
from shared.usage import Usage
from tests.fakes.clock import ManualClock
from tests.simulator.server import Simulator

KEY = "sk-canary-7f3e9a1c5b8d2460"
CATALOG = catalog.load()


@dataclass(frozen=True)
class Subject:
    """One provider as configured. `path`: its address below the simulator's."""

    name: str
    provider: str
    model: str
    path: str
    options: Mapping[str, Any] = field(default_factory=dict)
    embedding_model: str = ""

    @property
    def family(self) -> str:
        return self.path.split("/")[1]

    @property
    def free(self) -> bool:
        return self.provider in {"ollama", "openai_compatible"}

    def settings(self, url: str, **more: str) -> dict[str, str | SecretStr]:
        settings = {"api_key": SecretStr(KEY), "base_url": url + self.path, **self.options, **more}
        return {name: value for name, value in settings.items() if value}

    def bundle(self, simulator: Simulator, purpose: Purpose = "generation", **more: str) -> ProviderBundle:
        model = self.model if purpose == "generation" else self.embedding_model
        return self.provider_set(simulator, purpose, **more).bundles()[(self.provider, model), purpose]

    def provider_set(self, simulator: Simulator, purpose: Purpose = "generation", **more: str) -> ProviderSet:
        choice = ModelChoice(self.provider, self.model if purpose == "generation" else self.embedding_model)
        chosen = ([choice], []) if purpose == "generation" else ([], [choice])
        settings = {self.provider: self.settings(simulator.url, **more)}
        return registry.build(*chosen, options=settings, catalogue=CATALOG, clock=ManualClock())


VERTEX = {"api_key": "", "project": "demo-project", "access_token": SecretStr(KEY)}

GEMINI = Subject("gemini", "gemini", "gemini-3.5-flash-lite", "/gemini", embedding_model="gemini-embedding-001")
VERTEX_AI = Subject(
    "vertex", "gemini", "gemini-3.5-flash-lite", "/gemini", VERTEX, embedding_model="gemini-embedding-001"
)
MISTRAL = Subject("mistral", "mistral", "mistral-small-2603", "/mistral", embedding_model="mistral-embed")
CLAUDE = Subject("anthropic", "anthropic", "claude-haiku-5-5", "/anthropic")
OPENAI = Subject("openai", "openai", "gpt-6-luna", "/openai/v1", embedding_model="text-embedding-3-small")
GROQ = Subject("groq", "groq", "openai/gpt-oss-20b", "/groq/v1")
DEEPSEEK = Subject("deepseek", "deepseek", "deepseek-v4-flash", "/deepseek/v1")
XAI = Subject("xai", "xai", "grok-4.7", "/xai/v1")
OPENROUTER = Subject("openrouter", "openrouter", "mistralai/mistral-small-2603", "/openrouter/v1")
PERPLEXITY = Subject("perplexity", "perplexity", "perplexity/sonar", "/perplexity/v1")
OLLAMA = Subject(
    "ollama", "ollama", "gemma3:270m", "/ollama/v1", {"dimension": "64"}, embedding_model="nomic-embed-text"
)
COMPATIBLE = Subject(
    "compatible",
    "openai_compatible",
    "any-model",
    "/compatible/v1",
    {"dimension": "64"},
    embedding_model="any-embedder",
)

ALL = (
    GEMINI,
    VERTEX_AI,
    MISTRAL,
    CLAUDE,
    OPENAI,
    GROQ,
    DEEPSEEK,
    XAI,
    OPENROUTER,
    PERPLEXITY,
    OLLAMA,
    COMPATIBLE,
)
EACH_WIRE = (GEMINI, MISTRAL, CLAUDE, OPENAI, PERPLEXITY)
"""One of each wire format."""
EACH_SDK = (GEMINI, MISTRAL, CLAUDE, OPENAI)
"""One of each client library."""

EMBEDDERS = tuple(each for each in ALL if each.embedding_model)


@dataclass
class Told:
    """What one round gave."""

    events: list[GenerationEvent]

    @property
    def text(self) -> str:
        return "".join(each.text for each in self.events if isinstance(each, TextDelta))

    @property
    def calls(self) -> list[ToolCallMade]:
        return [each for each in self.events if isinstance(each, ToolCallMade)]

    @property
    def report(self) -> UsageReport | None:
        return next((each for each in reversed(self.events) if isinstance(each, UsageReport)), None)

    @property
    def usage(self) -> Usage | None:
        return self.report.usage if self.report else None

    @property
    def finish(self) -> str:
        return next(each.reason.value for each in self.events if isinstance(each, Finished))


def request_for(subject: Subject, **changes: Any) -> GenerationRequest:
    request = GenerationRequest(
        model=subject.model,
        instructions="Answer from the passages.",
        messages=(Message("user", (TextPart("What is the answer?"),)),),
        question="What is the answer?",
        passages=(),
        language="en",
        max_output_tokens=200,
        deadline_s=20.0,
    )
    return dataclasses.replace(request, **changes)


def permit_for(bundle: ProviderBundle, reservation_id: str = "res-1") -> Permit:
    quote = Quote("generate", "p", "m", "", bundle.pricing.price_version, 1, bundle.pricing.metered)
    return Permit(reservation_id, "turn/0/0", quote)


async def told_by(
    bundle: ProviderBundle, request: GenerationRequest, see: Callable[[GenerationEvent], None] = lambda _: None
) -> Told:
    assert bundle.generation is not None
    events: list[GenerationEvent] = []
    async for event in bundle.generation.generate(request, permit_for(bundle)):
        see(event)
        events.append(event)
    return Told(events)
