"""A cap is lowered rather than a call refused, where the assistant allows it and the cap binds."""

from __future__ import annotations

import pytest

from ai_server.ledger.contract import Payer
from ai_server.ledger.meter import LedgerMeter
from ai_server.ledger.model import BudgetSeed
from ai_server.ledger.service import Ledger
from ai_server.providers.contract import GenerationRequest
from ai_server.providers.metered import MeteredGenerator
from ai_server.providers.registry import ProviderBundle
from ai_server.settings import read
from ai_server.storage.ledger_contract import Period, ScopeKind
from shared.errors import BudgetExhausted, SettingsError
from tests.fakes.clock import ManualClock
from tests.fakes.generation import FixedTokenizer, ScriptedGenerator, saying
from tests.fakes.state_store import MemoryStateStore

PAYER = Payer("demo", "documents", "")
TOKENS, BUDGET = 100, 600


class PerToken:
    """One nanodollar a token; the cap binds, or the model's maximum of 1,000 is held."""

    price_version = "test"
    metered = True

    def __init__(self, *, binds: bool) -> None:
        self._binds = binds

    def ceiling(self, input_tokens: int, max_output_tokens: int) -> int:
        return input_tokens + (max_output_tokens if self._binds else 1000)

    def cost(self, usage, service_tier="") -> int:
        return usage.input + usage.output


async def asked(least, *, binds=True):
    store, clock, records = MemoryStateStore(), ManualClock(), []
    ledger = Ledger(store, clock)
    await ledger.seed("demo", (BudgetSeed(ScopeKind.PROJECT, Period.MONTHLY, BUDGET),))
    provider = ScriptedGenerator(lambda _: saying("text"))
    bundle = ProviderBundle(provider, None, FixedTokenizer(TOKENS), PerToken(binds=binds))
    generator = MeteredGenerator(
        bundle, model="m", window=0, max_output=0, meter=LedgerMeter(ledger, clock), clock=clock, observe=records.append
    )
    request = GenerationRequest("m", "", (), "q", (), "en", 1000, least_output_tokens=least)
    async for _ in generator.generate(request, key="t/1/0", payer=PAYER, operation="answer"):
        pass
    [made] = provider.requests
    return made.max_output_tokens, records[0].lowered_cap


async def test_the_cap_is_lowered_to_what_fits_and_said_so():
    assert await asked(least=200) == (BUDGET - TOKENS, BUDGET - TOKENS)


@pytest.mark.parametrize(("least", "binds"), [(0, True), (501, True), (200, False)])
async def test_a_cap_that_may_not_or_cannot_be_lowered_ends_in_a_refusal(least, binds):
    with pytest.raises(BudgetExhausted):
        await asked(least, binds=binds)


def test_a_state_address_that_is_not_postgresql_is_named():
    with pytest.raises(SettingsError, match="PASSEUR_AI_STATE_URL"):
        read({"state_url": "mysql://host/db"})
    assert read({"state_url": "postgresql://u:secret@host/db"}).state_url is not None
    assert "secret" not in repr(read({"state_url": "postgresql://u:secret@host/db"}))
