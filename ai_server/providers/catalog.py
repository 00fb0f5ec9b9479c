"""The catalogue of models: what `catalog.toml` says, checked whole before anything is served.

A row that cannot be believed stops the process with every fault named; nothing here knows an SDK.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final, Literal, cast

from ai_server.providers.catalog_check import row_faults
from shared.errors import SettingsError

CATALOG_FILE: Final = Path(__file__).with_name("catalog.toml")
ANY_MODEL: Final = "*"

Prices = Mapping[str, int]
"""Nanodollars for a million tokens, by bucket."""


@dataclass(frozen=True, slots=True)
class InputTier:
    """Prices of a whole call whose input has at least `input_from` tokens (inclusive)."""

    input_from: int
    prices: Prices


@dataclass(frozen=True, slots=True)
class Period:
    """Prices that hold from a day on, or between two hours of every day (UTC, the second exclusive)."""

    starts: date | None
    hours: tuple[int, int] | None
    prices: Prices


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model as we bill it. `max_billable_output` is 0 for what writes nothing that is billed.
    `reported_cost_rounding`: how far rounding may put a reported cost from the exact one, in nanodollars.
    """

    id: str
    provider: str
    endpoint: str
    window: int
    max_billable_output: int
    cap_bounds_reasoning: bool
    capabilities: frozenset[str]
    billing: Literal["metered", "free"]
    dimension: int | None
    locations: frozenset[str]
    reports_cost: bool
    reported_cost_rounding: int
    prices: Prices
    units: Mapping[str, int]
    tiers: tuple[InputTier, ...]
    periods: tuple[Period, ...]
    service_tiers: Mapping[str, Prices]
    checked: date
    source: str

    @property
    def metered(self) -> bool:
        """Say whether calls cost money."""
        return self.billing == "metered"

    @property
    def price_version(self) -> str:
        """Name the row that bills are computed by: provider, model and the day it was checked."""
        return f"{self.provider}/{self.id}@{self.checked.isoformat()}"


class Catalog:
    """All rows, found by provider and model."""

    def __init__(self, rows: tuple[ModelRow, ...]) -> None:
        """Index `rows`, which are valid and unique."""
        self.rows = rows
        self._by_key = {(row.provider, row.id): row for row in rows}

    def find(self, provider: str, model: str) -> ModelRow | None:
        """Look a model up; a provider's `*` row serves the models that it does not name."""
        return self._by_key.get((provider, model)) or self._by_key.get((provider, ANY_MODEL))

    def require(self, provider: str, model: str) -> ModelRow:
        """Look a model up.

        Raises:
            SettingsError: the model has no row, so nobody knows what it costs.
        """
        row = self.find(provider, model)
        if row is None:
            known = ", ".join(sorted(each.id for each in self.rows if each.provider == provider)) or "none"
            raise SettingsError(
                [f"{provider}: the model {model!r} has no price in catalog.toml; use one of {known}, or add its row"]
            )
        return row


def load(path: Path = CATALOG_FILE) -> Catalog:
    """Read and check the catalogue.

    Raises:
        SettingsError: with every fault of every row.
    """
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        raise SettingsError([f"{path.name}: cannot be read: {exc}"]) from exc
    entries = document.get("models")
    if not isinstance(entries, list) or not entries:
        raise SettingsError([f"{path.name}: has no [[models]] rows"])
    faults: list[str] = []
    rows: list[ModelRow] = []
    seen: set[tuple[object, object]] = set()
    for number, entry in enumerate(entries, start=1):
        where = f"{path.name}, row {number} ({entry.get('provider', '?')}/{entry.get('id', '?')})"
        found = [f"{where}: {fault}" for fault in row_faults(entry)]
        key = (entry.get("provider"), entry.get("id"))
        if key in seen:
            found.append(f"{where}: appears twice")
        seen.add(key)
        faults += found
        if not found:
            rows.append(_row(entry))
    if faults:
        raise SettingsError(faults)
    return Catalog(tuple(rows))


def _row(entry: Mapping[str, object]) -> ModelRow:
    def listed(name: str) -> list[Mapping[str, object]]:
        return cast("list[Mapping[str, object]]", entry.get(name, []))

    def prices(variant: Mapping[str, object]) -> Prices:
        return dict(cast("Prices", variant.get("prices", {})))

    tiers = [InputTier(_first_token_of(tier), prices(tier)) for tier in listed("tiers")]
    periods = [
        Period(
            starts=cast("date | None", each.get("from")),
            hours=cast("tuple[int, int] | None", tuple(cast("list[int]", each["hours"])) if "hours" in each else None),
            prices=prices(each),
        )
        for each in listed("periods")
    ]
    return ModelRow(
        id=cast("str", entry["id"]),
        provider=cast("str", entry["provider"]),
        endpoint=cast("str", entry["endpoint"]),
        window=cast("int", entry["window"]),
        max_billable_output=cast("int", entry["max_billable_output"]),
        cap_bounds_reasoning=cast("bool", entry["cap_bounds_reasoning"]),
        capabilities=frozenset(cast("list[str]", entry["capabilities"])),
        billing=cast("Literal['metered', 'free']", entry["billing"]),
        dimension=cast("int | None", entry.get("dimension")),
        locations=frozenset(cast("list[str]", entry.get("locations", []))),
        reports_cost=bool(entry.get("reports_cost", False)),
        reported_cost_rounding=cast("int", entry.get("reported_cost_rounding", 0)),
        prices=prices(entry),
        units=dict(cast("Mapping[str, int]", entry.get("units", {}))),
        tiers=tuple(sorted(tiers, key=lambda tier: tier.input_from)),
        periods=tuple(periods),
        service_tiers={cast("str", each["name"]): prices(each) for each in listed("service_tiers")},
        checked=date.fromisoformat(cast("str", entry["checked"])),
        source=cast("str", entry["source"]),
    )


def _first_token_of(tier: Mapping[str, object]) -> int:
    if "input_from" in tier:
        return cast("int", tier["input_from"])
    return cast("int", tier["input_over"]) + 1
