"""The catalogue: believed only when it can be, and compared with a public price list."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import genai_prices.data
import pytest

from ai_server.providers import catalog
from ai_server.providers.catalog_check import row_faults
from ai_server.providers.openai_compatible.profiles import PROFILES
from ai_server.providers.registry import ENTRIES
from shared.errors import SettingsError

CATALOG = catalog.load()
AT = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
PUBLIC = {
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
NAMES = {
    "input": "input_mtok",
    "cached_input": "cache_read_mtok",
    "cache_write_short": "cache_write_mtok",
    "cache_write_long": "cache_write_1h_mtok",
    "output": "output_mtok",
}
GOOD: dict[str, object] = {
    "id": "m",
    "provider": "p",
    "endpoint": "chat",
    "window": 1000,
    "max_billable_output": 100,
    "cap_bounds_reasoning": False,
    "capabilities": ["text"],
    "billing": "metered",
    "prices": {"input": 1, "output": 2},
    "checked": "2026-11-30",
    "source": "https://example.org/prices",
}


def _public_prices(row: catalog.ModelRow) -> tuple[dict[str, Decimal], dict[str, tuple[int, Decimal]]]:
    """Read the base prices and the first tier of a model from the public data set."""
    provider = next(each for each in genai_prices.data.providers if each.id == PUBLIC[row.provider])
    model = provider.find_model(row.id)
    assert model is not None, f"the data set does not know {row.id}"
    prices = model.get_prices(AT)
    base: dict[str, Decimal] = {}
    tiers: dict[str, tuple[int, Decimal]] = {}
    for ours, theirs in NAMES.items():
        value = getattr(prices, theirs, None)
        if value is None:
            continue
        if hasattr(value, "base"):
            base[ours] = value.base
            tiers[ours] = (value.tiers[0].start, value.tiers[0].price)
        else:
            base[ours] = value
    return base, tiers


METERED = [row for row in CATALOG.rows if row.metered]


@pytest.mark.parametrize("row", METERED, ids=lambda row: f"{row.provider}/{row.id}")
def test_our_prices_are_those_of_the_public_data_set(row: catalog.ModelRow, capsys: pytest.CaptureFixture[str]) -> None:
    """Prints the drift. A difference is a reason to look at the source of the row, and to correct one of the two."""
    base, tiers = _public_prices(row)
    for bucket, price in row.prices.items():
        # The data set bills what is written to a cache as input where it has no other price.
        theirs = base.get(bucket, base["input"] if bucket == "cache_write_short" else None)
        if theirs is None:
            print(f"{row.provider}/{row.id}: {bucket} is not in the data set")
            continue
        ours = Decimal(price) / 10**9
        if ours != theirs:
            print(f"{row.provider}/{row.id}: {bucket} is ${ours} here and ${theirs} there")
    for tier in row.tiers:
        for bucket, price in tier.prices.items():
            start, theirs = tiers[bucket]
            if (tier.input_from, Decimal(price) / 10**9) != (start + 1, theirs):
                print(f"{row.provider}/{row.id}: tier {bucket} differs: {tier.input_from} {price}, {start} {theirs}")
    drift = capsys.readouterr().out
    assert drift == ""


def test_every_provider_of_the_registry_has_rows_and_every_row_a_provider() -> None:
    assert {row.provider for row in CATALOG.rows} == set(ENTRIES)
    assert set(PROFILES) <= set(ENTRIES)


def test_the_prices_to_start_from_are_those_of_the_contracts() -> None:
    row = CATALOG.require("gemini", "gemini-3.5-flash-lite")
    assert row.prices == {"input": 300_000_000, "cached_input": 30_000_000, "output": 2_500_000_000}
    assert (row.window, row.max_billable_output, row.cap_bounds_reasoning) == (1_048_576, 65_536, False)
    assert CATALOG.require("gemini", "gemini-embedding-001").prices == {"input": 150_000_000}
    small = CATALOG.require("mistral", "mistral-small-2603")
    assert small.prices == {"input": 150_000_000, "cached_input": 15_000_000, "output": 600_000_000}
    assert CATALOG.require("mistral", "mistral-embed").prices == {"input": 100_000_000}


def test_a_model_without_a_row_is_refused_with_those_that_have_one() -> None:
    with pytest.raises(SettingsError, match="mistral-small-2603"):
        CATALOG.require("mistral", "mistral-gigantic")


@pytest.mark.parametrize("model", ["sonar", "sonar-pro", "sonar-reasoning-pro"])
def test_a_model_of_the_retired_sonar_chat_is_refused_with_the_name_that_took_its_place(model: str) -> None:
    with pytest.raises(SettingsError, match=f"perplexity: the model '{model}' .* use one of perplexity/sonar"):
        CATALOG.require("perplexity", model)


def test_a_star_row_serves_any_model_of_its_provider() -> None:
    assert CATALOG.require("ollama", "whatever").metered is False
    assert CATALOG.find("openai", "whatever") is None


def test_a_good_row_has_no_faults() -> None:
    assert row_faults(GOOD) == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"window": 0}, "`window` must be over 0"),
        ({"window": "big"}, "`window` must be int"),
        ({"window": True}, "`window` must be int"),
        ({"max_billable_output": -1}, "not negative"),
        ({"capabilities": ["telepathy"]}, "not known"),
        ({"capabilities": []}, "no capability"),
        ({"billing": "maybe"}, "metered or free"),
        ({"cap_bounds_reasoning": True}, "without a `cap_source`"),
        ({"checked": "last week"}, "must be a day"),
        ({"reported_cost_rounding": 5}, "beside `reports_cost`"),
        ({"reports_cost": True, "reported_cost_rounding": 0}, "nanodollars over 0"),
        ({"source": "trust me"}, "address of the price page"),
        ({"prices": {}}, "must be a table"),
        ({"prices": {"input": 1}}, "without a price for output"),
        ({"prices": {"output": 1}}, "without a price for input"),
        ({"prices": {"input": 0, "output": 1}}, "prices.input must be a whole number over 0"),
        ({"prices": {"input": 0.3, "output": 1}}, "prices.input must be a whole number over 0"),
        ({"prices": {"input": -1, "output": 1}}, "prices.input must be a whole number over 0"),
        ({"prices": {"input": 1, "output": 1, "reasoning": 1}}, "not a usage bucket with a price"),
        ({"units": {"requests": 0}}, "units.requests must be"),
        ({"surprise": 1}, "`surprise` is not known"),
        ({"billing": "free"}, "is free, yet has `prices`"),
        ({"tiers": [{"input_over": 5}]}, "must hold `prices` and exactly one of"),
        ({"tiers": [{"input_over": 5, "input_from": 6, "prices": {"input": 1, "output": 1}}]}, "exactly one of"),
        ({"tiers": [{"input_over": 0, "prices": {"input": 1, "output": 1}}]}, "number of tokens over 0"),
        ({"tiers": [{"input_over": 5, "prices": {"input": 1}}]}, "must price the same buckets"),
        ({"periods": [{"hours": [4, 1], "prices": {"input": 1, "output": 1}}]}, "two hours of a day"),
        ({"periods": [{"hours": [4], "prices": {"input": 1, "output": 1}}]}, "two hours of a day"),
        ({"periods": [{"from": "soon", "prices": {"input": 1, "output": 1}}]}, "`from` must be a day"),
        (
            {
                "tiers": [{"input_over": 5, "prices": {"input": 1, "output": 1}}],
                "service_tiers": [{"name": "fast", "prices": {"input": 1, "output": 1}}],
            },
            "not supported",
        ),
    ],
    ids=str,
)
def test_a_row_that_cannot_be_believed_is_refused(change: dict[str, object], said: str) -> None:
    assert any(said in fault for fault in row_faults({**GOOD, **change})), row_faults({**GOOD, **change})


@pytest.mark.parametrize("missing", sorted(GOOD.keys() - {"prices"}))
def test_a_row_without_a_field_is_refused(missing: str) -> None:
    row = {name: value for name, value in GOOD.items() if name != missing}
    assert f"the field `{missing}` is missing" in row_faults(row)


def test_all_faults_of_all_rows_are_named_at_once(tmp_path: Path) -> None:
    file = tmp_path / "catalog.toml"
    file.write_text('[[models]]\nid = "a"\nprovider = "p"\n[[models]]\nid = "a"\nprovider = "p"\nwindow = "x"\n')
    with pytest.raises(SettingsError) as raised:
        catalog.load(file)
    text = "\n".join(raised.value.faults)
    assert "row 1 (p/a): the field `endpoint` is missing" in text
    assert "row 2 (p/a): `window` must be int" in text
    assert "row 2 (p/a): appears twice" in text


@pytest.mark.parametrize("text", ["", "models = 3", "[[models", "\udcff"])
def test_a_file_that_is_no_catalogue_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "catalog.toml"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(SettingsError):
        catalog.load(file)


def test_rows_say_when_they_were_checked_and_the_version_says_so_too() -> None:
    for row in CATALOG.rows:
        assert date(2026, 10, 1) <= row.checked <= date(2026, 12, 31)
        assert row.price_version == f"{row.provider}/{row.id}@{row.checked.isoformat()}"
