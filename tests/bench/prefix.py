"""Billed input by prompt order, on the simulator's prefix caches: 200 conversations of 8 turns.

No call is made: each request is written as its provider would get it, counted, and priced with the cache rules and
prices that providers publish. Naive order puts what changes first (the time, the visitor), as many prompts do.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from ai_server.answering.contract import AnswerInput, Assistant, HistoryMessage, Mode, Project, PromptOverride
from ai_server.answering.prompt import Draft
from ai_server.ledger.model import BudgetSeed
from ai_server.providers import catalog
from ai_server.providers.anthropic.wire import body as claude_body
from ai_server.providers.contract import GenerationRequest, Message, Passage, TextPart
from ai_server.providers.mistral.wire import body as mistral_body
from ai_server.providers.openai_compatible.profiles import PROFILES
from ai_server.providers.openai_compatible.wire import body as openai_body
from ai_server.providers.registry import ModelChoice
from tests.bench.measure import Measure
from tests.simulator.anthropic_wire import AnthropicWire
from tests.simulator.invoice import Used, price
from tests.simulator.mistral_wire import MistralWire
from tests.simulator.openai_wire import OpenAIWire
from tests.simulator.prompt import PrefixCache

WHAT = "input billed by prompt order, 200 conversations x 8 turns, with the providers' published cache rules"
CONVERSATIONS = 200
TURNS = 8
TURN_EVERY_S = 40.0
CONVERSATION_EVERY_S = 5.0
GOAL = 0.40
CATALOG = catalog.load()
AT = datetime(2026, 11, 30, 12, tzinfo=UTC)

WORDS = """
the invoice page shows what was paid and when a refund can be asked for by a member of the team
""".strip().split(" ")


@dataclass(frozen=True)
class Case:
    """One provider's way of writing and caching."""

    family: str
    model: str
    write: Callable[[GenerationRequest, Any], dict[str, Any]]
    wire: Any


CASES = (
    Case("openai", "gpt-6-luna", lambda request, row: openai_body(request, row, PROFILES["openai"]), OpenAIWire()),
    Case(
        "deepseek",
        "deepseek-v4-flash",
        lambda request, row: openai_body(request, row, PROFILES["deepseek"]),
        OpenAIWire(),
    ),
    Case("mistral", "mistral-small-2603", mistral_body, MistralWire()),
    Case("anthropic", "claude-haiku-5-5", claude_body, AnthropicWire()),
)


def words(dice: random.Random, count: int) -> str:
    return " ".join(dice.choice(WORDS) for _ in range(count))


def project() -> Project:
    """A project with instructions of its own, about 1,000 tokens: conventions, tone, glossary."""
    own = PromptOverride(words(random.Random(0), 800), replaces=False)
    assistant = Assistant("documents", Mode.DOCUMENTS, (), 400, None)
    seeds: tuple[BudgetSeed, ...] = ()
    knowledge: Any = None
    return Project(
        "demo",
        ("en",),
        knowledge,
        {"documents": assistant},
        "documents",
        ModelChoice("embedded", "x"),
        seeds,
        {("documents", "en"): own},
    )


def conversations() -> Iterator[tuple[float, int, Draft, datetime]]:
    """Give every turn with its time: questions, answers, and four passages of which two come again, at any rank."""
    found: list[tuple[float, int, Draft, datetime]] = []
    made = project()
    for number in range(CONVERSATIONS):
        dice = random.Random(number)
        history: list[HistoryMessage] = []
        kept: list[Passage] = []
        for turn in range(TURNS):
            fresh = [_passage(dice, f"[[{number}-{turn}-{index}]]") for index in range(4 - min(2, len(kept)))]
            kept = [*dice.sample(kept, min(2, len(kept))), *fresh]
            dice.shuffle(kept)
            question = words(dice, 16)
            asked = AnswerInput(f"k{number}-{turn}", "demo", "documents", "u", question, tuple(history))
            draft = Draft(made, made.assistants["documents"], asked, "documents", "en", tuple(kept))
            at = number * CONVERSATION_EVERY_S + turn * TURN_EVERY_S
            found.append((at, number, draft, AT))
            history += [HistoryMessage("user", question), HistoryMessage("ai", words(dice, 110))]
    return iter(sorted(found, key=lambda each: each[0]))


def _passage(dice: random.Random, marker: str) -> Passage:
    return Passage(marker, words(dice, 4), "", words(dice, 220), "en", (), quotable=True)


def link(case: Case) -> Any:
    able = SimpleNamespace(paraphrases=True, image=True, tools=True)
    generator = SimpleNamespace(provider=SimpleNamespace(capabilities=able), max_output=64_000)
    return SimpleNamespace(generator=generator, choice=ModelChoice(case.family, case.model))


def naive(request: GenerationRequest, at: float, number: int) -> GenerationRequest:
    """Put what changes first."""
    head = f"It is second {at}. The visitor is {number}. They ask: {request.question}\n"
    return dataclasses.replace(request, instructions=head + request.instructions, stable_characters=0)


def passages_first(request: GenerationRequest, at: float, number: int) -> GenerationRequest:
    """Put the passages behind the instructions, before the history: good for one question, bad for a conversation."""
    *before, last = request.messages
    read, *asked = last.parts
    assert isinstance(read, TextPart)
    return dataclasses.replace(
        request,
        instructions=f"{request.instructions}\n\n{read.text}",
        messages=(*before, Message("user", tuple(asked))),
    )


def billed(case: Case, arrange: Callable[[GenerationRequest, float, int], GenerationRequest]) -> tuple[int, float]:
    """Bill the input of all turns; also tell the share of tokens that came from the cache."""
    cache = PrefixCache()
    row = CATALOG.require(case.family, case.model)
    cost = read_tokens = all_tokens = 0
    for at, number, draft, day in conversations():
        request = arrange(draft.request(link(case)), at, number)
        prompt = case.wire.prompt(case.write(request, row))
        read, written = cache.use(case.family, case.model, prompt, at)
        used = Used(input=prompt.tokens - read - written, cached=read, cache_write=written)
        cost += price(case.family, case.model, used, day)
        read_tokens += read
        all_tokens += prompt.tokens
    return cost, read_tokens / all_tokens


async def run() -> list[Measure]:
    """Bill the naive order, the product's, and the one with the passages before the history."""
    found: list[Measure] = []
    for case in CASES:
        base, _ = billed(case, naive)
        ours, share = billed(case, lambda request, at, number: request)
        first, first_share = billed(case, passages_first)
        found += [
            Measure(f"{case.family} billed input", ours / base, "ratio", "naive order", ours / base, GOAL),
            Measure(f"{case.family} cached share", share, "of input tokens"),
            Measure(f"{case.family} passages before the history", first / base, "ratio", "naive order", first / base),
            Measure(f"{case.family} cached share, passages before", first_share, "of input tokens"),
        ]
    return found
