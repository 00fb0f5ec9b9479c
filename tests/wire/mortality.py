"""Turns under load while providers are killed and revived one by one: nobody is left without an answer, and the ledger
is the invoice, or flagged.

    python -m tests.wire.mortality --turns 1000 --seed 1
"""

from __future__ import annotations

import argparse
import asyncio
import random
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from ai_server.providers import registry
from ai_server.providers.contract import GenerationRequest, Message, Passage, ScoredSentence, TextDelta, TextPart
from ai_server.providers.fallback import Chain, Chains, Chosen, Link
from ai_server.providers.registry import ModelChoice
from ai_server.storage.ledger_contract import ReservationState
from shared.errors import ProviderError
from tests.fakes.clock import ManualClock
from tests.simulator.script import Script
from tests.simulator.server import Simulator, running
from tests.wire.subjects import CATALOG, CLAUDE, GEMINI, MISTRAL, OPENAI
from tests.wire.till import PAYER, Till, open_till

VICTIMS = (OPENAI, GEMINI, CLAUDE, MISTRAL)
AT_ONCE = 16
TURN_S = 60.0
BETWEEN_TURNS_S = 5.0
"""Time that goes by with each turn, so that a revived provider is tried again however fast the machine is."""
PASSAGE = Passage(
    marker="[[1]]",
    title="Answers",
    heading="",
    text="The answer is forty-two.",
    language="en",
    sentences=(ScoredSentence("The answer is forty-two.", 0.9),),
    quotable=True,
)


@dataclass
class Outcome:
    """What happened in all turns."""

    turns: int = 0
    dead: int = 0
    truncated: int = 0
    economy: int = 0
    kills: int = 0
    answered_by: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    rows: int = 0
    exact: int = 0
    flagged: int = 0
    voided: int = 0
    wrong: list[str] = field(default_factory=list)
    ledger_nanousd: int = 0
    invoice_nanousd: int = 0


FAULTS: dict[str, Script] = {
    "cut": Script(cut_after=2),
    "cut before the first token": Script(cut_after=0),
    "error event": Script(error_after=1),
    "dropped": Script(drop=True),
    "429": Script(status=429),
    "500": Script(status=500),
    "usage missing": Script(usage="missing"),
    "usage zero": Script(usage="zero"),
}


def request(link: Link) -> GenerationRequest:
    return GenerationRequest(
        model=link.choice.model,
        instructions="Answer from the passages.\n" + PASSAGE.text,
        messages=(Message("user", (TextPart("What is the answer?"),)),),
        question="What is the answer?",
        passages=(PASSAGE,),
        language="en",
        max_output_tokens=300,
        deadline_s=30.0,
    )


async def turn(number: int, chain: Chain, outcome: Outcome) -> None:
    """Ask once; what came before a failure is kept, as the turn would."""
    text, by, economy = "", "", False
    try:
        async with asyncio.timeout(TURN_S):
            async for event in chain.stream(request, key=f"turn{number}/0", payer=PAYER, operation="answer"):
                if isinstance(event, Chosen):
                    by, economy = event.link.choice.provider, event.economy
                elif isinstance(event, TextDelta):
                    text += event.text
    except ProviderError:
        outcome.truncated += bool(text)
    except TimeoutError:
        outcome.wrong.append(f"turn {number} hung")
    outcome.turns += 1
    outcome.dead += not text
    outcome.economy += economy
    outcome.answered_by[by] += bool(text)


async def worker(numbers: asyncio.Queue[int], chain: Chain, clock: ManualClock, outcome: Outcome) -> None:
    while not numbers.empty():
        await turn(numbers.get_nowait(), chain, outcome)
        clock.advance(BETWEEN_TURNS_S)


async def reaper(simulator: Simulator, clock: ManualClock, turns: int, outcome: Outcome) -> None:
    """Kill and revive one provider after the other as turns go by, then all of them together; ends when cancelled."""
    groups: list[set[str]] = [{victim.family} for victim in VICTIMS]
    groups += [{OPENAI.family, GEMINI.family}, {victim.family for victim in VICTIMS}, set()]
    span = max(1, turns // (2 * len(groups)))
    for index in range(2 * len(groups)):
        group = groups[index // 2] if index % 2 == 0 else set()
        outcome.kills += len(group - simulator.down)
        simulator.down = group
        target = (index + 1) * span
        while outcome.turns < target:
            await _pass_time(clock)
    while True:
        await _pass_time(clock)


async def _pass_time(clock: ManualClock) -> None:
    clock.advance(0.5)
    await asyncio.sleep(0.01)


async def audit(till: Till, simulator: Simulator, outcome: Outcome) -> None:
    """Compare every row with the invoice."""
    lines = {line.request_id: line for line in simulator.lines}
    rows = [row for row in await till.rows() if row.new.provider != registry.EMBEDDED]
    outcome.rows = len(rows)
    for row in rows:
        line = lines.pop(row.new.reservation_id, None)
        billed = line.cost_nanousd if line else 0
        outcome.ledger_nanousd += row.cost_nanousd or 0
        if row.state is ReservationState.VOIDED:
            outcome.voided += 1
            ok = billed == 0
        elif row.estimated:
            outcome.flagged += 1
            ok = row.cost_nanousd is not None and row.cost_nanousd >= billed
        else:
            outcome.exact += 1
            ok = row.state is ReservationState.SETTLED and row.cost_nanousd == billed > 0
        if not ok:
            outcome.wrong.append(f"{row.new.key} {row.state} {row.cost_nanousd} against {billed}")
    outcome.wrong += [f"billed without a row: {line}" for line in lines.values()]
    outcome.wrong += (await till.ledger.audit()).findings
    outcome.invoice_nanousd = simulator.total_nanousd


async def run(turns: int, seed: int, folder: Path) -> Outcome:
    """Play `turns` turns with faults drawn by `seed`."""
    dice = random.Random(seed)
    outcome = Outcome()
    clock = ManualClock()
    async with running(now=clock.now) as simulator, open_till(folder, clock) as till:
        choices = [ModelChoice(each.provider, each.model) for each in VICTIMS]
        settings = {each.provider: each.settings(simulator.url) for each in VICTIMS}
        providers = registry.build(choices, [], options=settings, catalogue=CATALOG, clock=clock)
        for choice in choices:
            generation = providers.generation(choice).generation
            assert generation is not None
            await generation.initialize()
        chains = Chains(providers, meter=till.meter, clock=clock, observe=lambda _: None)
        chain = chains.chain(choices)
        for _ in range(turns * 4):
            name = dice.choice(list(FAULTS)) if dice.random() < 0.25 else ""
            outcome.faults[name or "none"] += 1
            simulator.script(FAULTS[name] if name else Script())
        numbers: asyncio.Queue[int] = asyncio.Queue()
        for number in range(turns):
            numbers.put_nowait(number)
        death = asyncio.create_task(reaper(simulator, clock, turns, outcome))
        await asyncio.gather(*(worker(numbers, chain, clock, outcome) for _ in range(AT_ONCE)))
        death.cancel()
        await asyncio.gather(death, return_exceptions=True)
        if await chains.settle_all(20.0):
            outcome.wrong.append("calls did not settle")
        await till.settle()
        await audit(till, simulator, outcome)
        await providers.close()
    return outcome


def line_of(outcome: Outcome, seed: int) -> str:
    """Write the figure as promises are reported."""
    bound = f"{3 / outcome.turns:.2%}" if not outcome.dead else "—"
    return (
        f"never-mute: {outcome.dead} / {outcome.turns} dead answers (95 % ≤ {bound}), {outcome.kills} kills, "
        f"{outcome.economy} in economy, {outcome.truncated} truncated; {outcome.rows} paid attempts: "
        f"{outcome.exact} exact, {outcome.flagged} flagged, {outcome.voided} voided, {len(outcome.wrong)} wrong; "
        f"ledger {outcome.ledger_nanousd:,} ≥ invoice {outcome.invoice_nanousd:,} nanodollars; "
        f"answered by {dict(outcome.answered_by)}; seed {seed}"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as kept:
        result = asyncio.run(run(asked.turns, asked.seed, Path(kept)))
    for fault in result.wrong[:20]:
        print(fault)
    print(line_of(result, asked.seed))
    raise SystemExit(bool(result.dead or result.wrong))
