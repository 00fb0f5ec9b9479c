"""Where nothing before the question changes, Claude's history is read from the cache."""

from __future__ import annotations

import pytest

from ai_server.providers.contract import Message, TextPart
from tests.simulator.server import Simulator
from tests.wire.conftest import Bundles
from tests.wire.subjects import CLAUDE, DEEPSEEK, MISTRAL, OPENAI, request_for, told_by

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("subject", [OPENAI, MISTRAL, DEEPSEEK, CLAUDE], ids=lambda each: each.name)
async def test_a_repeated_beginning_is_billed_as_cached(subject, shared: Bundles, simulator: Simulator) -> None:
    bundle = await shared(subject)
    instructions = "Answer from the passages. " * 200
    history: tuple[Message, ...] = ()
    simulator.caching = True
    try:
        for turn in range(3):
            asked = Message("user", (TextPart(f"Question {turn}? " * 60),))
            request = request_for(
                subject,
                instructions=instructions,
                messages=(*history, asked),
                stable_characters=len(instructions),
            )
            told = await told_by(bundle, request)
            assert told.usage is not None
            assert bundle.pricing.cost(told.usage) == simulator.lines[-1].cost_nanousd
            history = (*history, asked, Message("assistant", (TextPart(told.text),)))
        assert told.usage.cached_input > 1_200, "the second turn is in the cache by the third"
    finally:
        simulator.caching = False
