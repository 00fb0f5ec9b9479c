"""What usage costs: whole, rounded up once, never below what a public calculator says, never free by default."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ai_server.providers import catalog
from ai_server.providers.pricing import REPORTED_COST, CatalogPricing
from shared.usage import Usage
from tests.fakes.clock import ManualClock
from tests.simulator.invoice import Used, price

CATALOG = catalog.load()
METERED = [row for row in CATALOG.rows if row.metered]
WRITERS = [row for row in METERED if "text" in row.capabilities and not row.units]
FAMILY = {"x-ai": "xai"}

counts = st.one_of(
    st.integers(0, 5_000), st.sampled_from([99_999, 100_000, 100_001, 199_999, 200_000, 200_001, 272_001])
)


def pricing(provider: str, model: str, at: datetime = datetime(2026, 11, 30, 12, tzinfo=UTC)) -> CatalogPricing:
    return CatalogPricing(CATALOG.require(provider, model), ManualClock(at))


@settings(max_examples=400, deadline=None)
@given(row=st.sampled_from(WRITERS), input_=counts, cached=counts, written=counts, output=counts, reasoning=counts)
def test_costs_equal_the_public_calculator_s(row, input_, cached, written, output, reasoning) -> None:
    cached = cached if "cached_input" in row.prices else 0
    written = written if "cache_write_short" in row.prices else 0
    usage = Usage(input=input_, cached_input=cached, cache_write_short=written, output=output, reasoning=reasoning)
    at = datetime(2026, 11, 30, 12, tzinfo=UTC)
    ours = CatalogPricing(row, ManualClock(at)).cost(usage)
    used = Used(input=input_, cached=cached, cache_write=written, output=output, reasoning=reasoning)
    assert ours == price(row.provider, row.id, used, at)


@settings(max_examples=400, deadline=None)
@example(
    row=CATALOG.require("deepseek", "deepseek-v4-flash"),
    input_=0,
    cached=0,
    written=0,
    output=0,
    reasoning=1,
    slack=0,
    hour=10,
    minute=0,
)
@given(
    row=st.sampled_from(METERED),
    input_=counts,
    cached=counts,
    written=counts,
    output=counts,
    reasoning=counts,
    slack=st.integers(0, 500_000),
    hour=st.integers(0, 23),
    minute=st.integers(0, 59),
)
def test_no_cost_within_the_bounds_is_over_the_ceiling(
    row, input_, cached, written, output, reasoning, slack, hour, minute
) -> None:
    """The reservation holds: more input than counted never happens, and a cheaper tier may turn out to hold."""
    cached = cached if "cached_input" in row.prices else 0
    written = written if "cache_write_short" in row.prices else 0
    output, reasoning = (output, reasoning) if "output" in row.prices else (0, 0)
    cap = output + reasoning if row.cap_bounds_reasoning else output
    reasoning = min(reasoning, max(0, row.max_billable_output - output)) if not row.cap_bounds_reasoning else reasoning
    clock = ManualClock(datetime(2026, 12, 31, hour, minute, tzinfo=UTC))
    priced = CatalogPricing(row, clock)
    ceiling = priced.ceiling(input_ + cached + written + slack, cap)
    clock.advance(120)
    usage = Usage(
        input=input_,
        cached_input=cached,
        cache_write_short=written,
        output=output,
        reasoning=reasoning,
        units=dict.fromkeys(row.units, 1),
    )
    cost = priced.cost(usage)
    assert cost is not None
    assert cost <= ceiling


def test_one_ceiling_division_rounds_a_call_up() -> None:
    assert pricing("mistral", "mistral-embed").cost(Usage(input=1)) == 100
    assert pricing("openai", "text-embedding-3-small").cost(Usage(input=3)) == 60
    assert pricing("groq", "openai/gpt-oss-20b").cost(Usage(input=1, cached_input=1)) == 113


@pytest.mark.parametrize(
    ("provider", "model", "tokens", "dear"),
    [
        ("gemini", "gemini-3.1-pro-preview", 200_000, False),
        ("gemini", "gemini-3.1-pro-preview", 200_001, True),
        ("anthropic", "claude-haiku-5-5", 100_000, False),
        ("anthropic", "claude-haiku-5-5", 100_001, True),
        ("xai", "grok-4.7", 199_999, False),
        ("xai", "grok-4.7", 200_000, True),
    ],
)
def test_a_tier_begins_where_its_provider_says(provider: str, model: str, tokens: int, dear: bool) -> None:  # noqa: FBT001 - a column of the table
    """TRIED: inclusive at xAI, exclusive at Google and Anthropic."""
    row = CATALOG.require(provider, model)
    table = row.tiers[0].prices if dear else row.prices
    cost = pricing(provider, model).cost(Usage(input=tokens - 10, cached_input=10, output=1))
    exact = (tokens - 10) * table["input"] + 10 * table["cached_input"] + table["output"]
    assert cost == -(-exact // 1_000_000)


@pytest.mark.parametrize(
    ("hour", "minute", "dear"),
    [(0, 59, False), (1, 0, True), (3, 59, True), (4, 2, True), (4, 6, False), (9, 59, True), (12, 0, False)],
)
def test_peak_hours_cost_twice_and_a_call_over_the_border_takes_the_dearer(hour: int, minute: int, dear: bool) -> None:  # noqa: FBT001 - a column of the table
    """DeepSeek's peak hours in UTC; a call that ends just after them may have begun inside."""
    priced = pricing("deepseek", "deepseek-v4-flash", datetime(2026, 11, 30, hour, minute, tzinfo=UTC))
    assert priced.cost(Usage(input=1_000_000)) == (300_000_000 if dear else 150_000_000)


def test_a_price_that_begins_on_a_day_holds_from_it_on() -> None:
    usage = Usage(input=1_000_000)
    assert pricing("gemini", "gemini-3.8-flash", datetime(2026, 12, 31, 12, tzinfo=UTC)).cost(usage) == 750_000_000
    assert pricing("gemini", "gemini-3.8-flash", datetime(2027, 1, 1, 0, 0, tzinfo=UTC)).cost(usage) == 1_500_000_000
    eve = pricing("gemini", "gemini-3.8-flash", datetime(2026, 12, 31, 23, 58, tzinfo=UTC))
    assert eve.ceiling(1_000_000, 0) >= 1_500_000_000


def test_what_has_no_price_costs_an_unknown_amount_and_not_nothing() -> None:
    priced = pricing("mistral", "mistral-small-2603")
    assert priced.cost(Usage(input=1, cache_write_short=1)) is None
    assert priced.cost(Usage(input=1, units={"searches": 1})) is None
    assert priced.cost(Usage(input=1), service_tier="priority") is None
    assert priced.cost(Usage(input=1), service_tier="standard") == 150


def test_a_cap_that_does_not_bound_reasoning_holds_the_model_s_maximum() -> None:
    lite = pricing("gemini", "gemini-3.5-flash-lite")
    assert lite.ceiling(0, 256) == lite.ceiling(0, 65_536) == 65_536 * 2_500
    assert pricing("mistral", "mistral-small-2603").ceiling(0, 256) == 256 * 600


def test_a_reported_cost_is_the_bill_only_where_the_row_says_so() -> None:
    usage = Usage(input=10, output=1, units={REPORTED_COST: 77})
    assert pricing("openrouter", "mistralai/mistral-small-2603").cost(usage) == 77
    assert pricing("mistral", "mistral-small-2603").cost(usage) == 2_100


def test_what_is_free_is_free_whatever_it_used() -> None:
    priced = pricing("ollama", "anything")
    assert (priced.metered, priced.ceiling(10**6, 10**6), priced.cost(Usage(input=10**6, output=10**6))) == (
        False,
        0,
        0,
    )
