"""P7: what the ledger holds is what the provider bills, whatever becomes of the call; unknown is flagged, never free.

Fixtures × modes: streamed, whole, left at chunk i, cut at chunk i, error at chunk i, stalled, and usage final, missing,
zero, inconsistent, cumulative, duplicated, late. The invoice is the simulator's own, by another price list.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ai_server.providers.contract import GenerationRequest, TextDelta
from ai_server.providers.metered import MeteredGenerator
from ai_server.storage.ledger_contract import ReservationState
from shared.errors import ProviderError
from tests.simulator.script import Script, ScriptedCall
from tests.simulator.server import Simulator
from tests.wire.subjects import ALL, CLAUDE, EACH_WIRE, GEMINI, OPENAI, VERTEX_AI, XAI, Subject, request_for
from tests.wire.till import PAYER, open_till

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass(frozen=True)
class Mode:
    """One way for a call to go. `left`: the reader leaves after so many texts."""

    name: str
    script: dict[str, Any] = dataclasses.field(default_factory=dict)
    stream: bool = True
    left: int | None = None
    exact: bool = True


MODES = (
    Mode("streamed"),
    Mode("whole", stream=False),
    Mode("left after 1", left=1, script={"pace_s": 0.002}),
    Mode("left after 3", left=3, script={"pace_s": 0.002}),
    Mode("cut after 0", script={"cut_after": 0}, exact=False),
    Mode("cut after 2", script={"cut_after": 2}, exact=False),
    Mode("error after 1", script={"error_after": 1}, exact=False),
    Mode("error after 3", script={"error_after": 3}, exact=False),
    Mode("stalled after 2", script={"stall_after": 2}, exact=False),
    Mode("dropped", script={"drop": True}, exact=False),
    Mode("usage missing", script={"usage": "missing"}, exact=False),
    Mode("usage zero", script={"usage": "zero"}, exact=False),
    Mode("usage inconsistent", script={"usage": "inconsistent"}, exact=False),
    Mode("usage cumulative", script={"usage": "cumulative"}),
    Mode("usage duplicated", script={"usage": "duplicated"}),
    Mode("usage late", script={"usage": "late"}),
)
FEW = tuple(
    mode for mode in MODES if mode.name in {"streamed", "whole", "left after 1", "error after 1", "usage missing"}
)

FIXTURES: dict[str, tuple[dict[str, Any], int]] = {
    "plain": ({"chunks": ("one ", "two ", "three ", "four ", "five.")}, 0),
    "cached": ({"chunks": ("a ", "b ", "c ", "d"), "cached_tokens": 1_024}, 8_000),
    "thoughts": ({"chunks": ("a ", "b ", "c ", "d"), "reasoning_tokens": 150, "thoughts": "hm"}, 0),
    "calls": ({"chunks": ("a ", "b ", "c ", "d"), "calls": (ScriptedCall("f", '{"x": 1}', fragments=3),)}, 0),
}
"""Script fields, and characters of instructions."""


def cases(subject: Subject) -> list[tuple[str, Mode, Script, GenerationRequest]]:
    found = []
    for name, (fields, characters) in FIXTURES.items():
        request = request_for(subject, instructions="x" * max(characters, 20), max_output_tokens=400)
        for mode in MODES if subject in EACH_WIRE else FEW:
            script = Script(**{**fields, **mode.script})
            if subject.name == "anthropic" and mode.script.get("usage") == "missing" and not mode.stream:
                continue
            found.append((name, mode, script, dataclasses.replace(request, stream=mode.stream)))
    return found


async def play(generator: MeteredGenerator, request: GenerationRequest, key: str, left: int | None) -> None:
    """Make one call, and leave after `left` texts if asked."""
    events = generator.generate(request, key=key, payer=PAYER, operation="answer")
    texts = 0
    try:
        async for event in events:
            texts += isinstance(event, TextDelta)
            if left is not None and texts >= left:
                break
    except ProviderError:
        pass
    finally:
        await events.aclose()


@pytest.mark.parametrize("subject", ALL, ids=lambda each: each.name)
async def test_the_ledger_is_the_invoice_or_flagged(subject: Subject, simulator: Simulator, tmp_path: Path) -> None:
    bundle = subject.bundle(simulator, stall_s="0.5")
    assert bundle.generation is not None
    await bundle.generation.initialize()
    table = cases(subject)
    # The first call of a client is slow; it is made apart, with patience.
    warm = subject.bundle(simulator)
    assert warm.generation is not None
    async with open_till(tmp_path) as till:
        await play(till.generator(warm, subject.model), request_for(subject), "warm", None)
        generator = till.generator(bundle, subject.model)
        for number, (_, mode, script, request) in enumerate(table):
            simulator.script(script)
            await play(generator, request, f"t{number}/0/0", mode.left)
        await till.settle()
        rows = (await till.rows())[1:]
        findings = (await till.ledger.audit()).findings
    assert findings == ()
    await bundle.generation.close()
    await warm.generation.close()

    invoice = {line.request_id: line for line in simulator.lines}
    assert len(rows) == len(table)
    for (fixture, mode, _, _), row in zip(table, rows, strict=True):
        where = f"{subject.name}, {fixture}, {mode.name}"
        billed = invoice[row.new.reservation_id].cost_nanousd
        assert row.state is ReservationState.SETTLED, where
        assert row.cost_nanousd is not None, where
        if mode.exact:
            assert (row.cost_nanousd, row.estimated) == (billed, False), where
        elif not subject.free:
            assert row.estimated, where
            assert row.cost_nanousd >= billed, where
        assert (row.cost_nanousd == 0) is subject.free, where
        assert row.overrun_nanousd == 0, where


# The SDKs hand a body of over a megabyte to aiohttp in one piece, which it remarks; the piece is theirs to cut.
@pytest.mark.filterwarnings("ignore:Sending a large body directly:ResourceWarning")
@pytest.mark.parametrize("subject", [OPENAI, CLAUDE, XAI], ids=lambda each: each.name)
async def test_a_long_input_is_billed_by_its_tier(subject: Subject, simulator: Simulator, tmp_path: Path) -> None:
    bundle = subject.bundle(simulator)
    assert bundle.generation is not None
    row = subject_row(subject)
    boundary = row.tiers[0].input_from
    async with open_till(tmp_path) as till:
        generator = till.generator(bundle, subject.model)
        for number, tokens in enumerate((boundary - 50, boundary + 50)):
            await play(generator, request_for(subject, instructions="x" * (tokens * 4)), f"t{number}", None)
        await till.settle()
        short, long = await till.rows()
    assert [each.cost_nanousd for each in (short, long)] == [line.cost_nanousd for line in simulator.lines]
    assert not short.estimated
    assert not long.estimated
    assert short.cost_nanousd is not None
    assert long.cost_nanousd is not None
    assert long.cost_nanousd > 1.5 * short.cost_nanousd
    await bundle.generation.close()


@pytest.mark.parametrize("subject", [GEMINI, VERTEX_AI, CLAUDE, OPENAI], ids=lambda each: each.name)
async def test_a_refusal_that_surely_did_not_start_is_voided(
    subject: Subject, simulator: Simulator, tmp_path: Path
) -> None:
    bundle = subject.bundle(simulator)
    assert bundle.generation is not None
    async with open_till(tmp_path) as till:
        generator = till.generator(bundle, subject.model)
        for number, status in enumerate((401, 429, 503)):
            simulator.script(Script(status=status))
            await play(generator, request_for(subject), f"t{number}", None)
        await till.settle()
        rows = await till.rows()
    assert [each.state for each in rows] == [ReservationState.VOIDED] * 3
    assert simulator.lines == []
    await bundle.generation.close()


def subject_row(subject: Subject):
    from tests.wire.subjects import CATALOG

    return CATALOG.require(subject.provider, subject.model)


async def test_unknown_outcomes_are_held_against_the_budget(simulator: Simulator, tmp_path: Path) -> None:
    """P6: a lost answer costs the ceiling, flagged, until someone knows better."""
    bundle = OPENAI.bundle(simulator)
    assert bundle.generation is not None
    async with open_till(tmp_path) as till:
        simulator.script(Script(drop=True))
        await play(till.generator(bundle, OPENAI.model), request_for(OPENAI), "t", None)
        await till.settle()
        [row] = await till.rows()
    assert row.estimated
    assert row.cost_nanousd == row.new.ceiling_nanousd
    assert row.cost_nanousd >= simulator.total_nanousd > 0
    await bundle.generation.close()
