"""The short form of 1,000 turns under load while providers are killed and revived: `python -m tests.wire.mortality`."""

from __future__ import annotations

from pathlib import Path

from tests.wire.mortality import VICTIMS, line_of, run


async def test_nobody_is_left_without_an_answer_and_the_ledger_is_the_invoice_or_flagged(tmp_path: Path) -> None:
    outcome = await run(160, 7, tmp_path)
    told = line_of(outcome, 7)
    assert outcome.wrong == [], told
    assert outcome.dead == 0, told
    assert outcome.turns == 160
    assert outcome.kills >= len(VICTIMS), told
    assert outcome.economy > 0, told
    assert {victim.provider for victim in VICTIMS} <= set(outcome.answered_by), told
    assert outcome.ledger_nanousd >= outcome.invoice_nanousd > 0
