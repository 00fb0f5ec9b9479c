"""What makes a row of the catalogue unbelievable: every fault, in words that say what to do."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Final, cast

from shared.usage import TOKEN_BUCKETS

CAPABILITIES: Final = frozenset({"text", "image", "tools", "stream", "thinking", "embedding"})
PRICE_NAMES: Final = frozenset(TOKEN_BUCKETS) - {"reasoning"}
HOURS: Final = 24

TYPES: Final[Mapping[str, type]] = {
    "id": str,
    "provider": str,
    "endpoint": str,
    "window": int,
    "max_billable_output": int,
    "cap_bounds_reasoning": bool,
    "cap_source": str,
    "capabilities": list,
    "billing": str,
    "dimension": int,
    "locations": list,
    "reports_cost": bool,
    "reported_cost_rounding": int,
    "prices": dict,
    "units": dict,
    "tiers": list,
    "periods": list,
    "service_tiers": list,
    "checked": str,
    "source": str,
}
REQUIRED: Final = (
    "id",
    "provider",
    "endpoint",
    "window",
    "max_billable_output",
    "cap_bounds_reasoning",
    "capabilities",
    "billing",
    "checked",
    "source",
)


def row_faults(entry: Mapping[str, object]) -> list[str]:
    """Name everything that is wrong with one row, without its place."""
    faults = [f"the field `{name}` is missing" for name in REQUIRED if name not in entry]
    for name, value in entry.items():
        expected = TYPES.get(name)
        if expected is None:
            faults.append(f"the field `{name}` is not known")
        elif not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
            faults.append(f"`{name}` must be {expected.__name__}")
    if faults:
        return faults
    return [*_scalar_faults(entry), *_price_faults(entry), *_variant_faults(entry)]


def _scalar_faults(entry: Mapping[str, object]) -> list[str]:
    faults: list[str] = []
    capabilities = set(cast("list[str]", entry["capabilities"]))
    if unknown := capabilities - CAPABILITIES:
        faults.append(f"capabilities {sorted(unknown)} are not known")
    if not capabilities:
        faults.append("has no capability")
    if cast("int", entry["window"]) <= 0 or cast("int", entry["max_billable_output"]) < 0:
        faults.append("`window` must be over 0 and `max_billable_output` not negative")
    if entry["billing"] not in {"metered", "free"}:
        faults.append("`billing` must be metered or free")
    if entry["cap_bounds_reasoning"] and "text" in capabilities and not entry.get("cap_source"):
        faults.append("`cap_bounds_reasoning` is true without a `cap_source` that says so")
    rounding = entry.get("reported_cost_rounding")
    if rounding is not None and not (entry.get("reports_cost") and _positive(rounding)):
        faults.append("`reported_cost_rounding` must be nanodollars over 0, beside `reports_cost`")
    try:
        date.fromisoformat(cast("str", entry["checked"]))
    except ValueError:
        faults.append("`checked` must be a day such as 2026-11-30")
    if entry["billing"] == "metered" and not cast("str", entry["source"]).startswith("https://"):
        faults.append("`source` must be the address of the price page")
    return faults


def _price_faults(entry: Mapping[str, object]) -> list[str]:
    if entry["billing"] == "free":
        extra = [name for name in ("prices", "units", "tiers", "periods", "service_tiers") if entry.get(name)]
        return [f"is free, yet has `{name}`" for name in extra]
    faults = amounts_faults("prices", entry.get("prices"))
    prices = cast("Mapping[str, int]", entry.get("prices", {}))
    writes = "text" in cast("list[str]", entry["capabilities"])
    needed = ("input", "output") if writes else ("input",)
    faults += [f"is metered without a price for {name}" for name in needed if name not in prices]
    if "units" in entry:
        units = cast("Mapping[str, object]", entry["units"])
        faults += [
            f"units.{name} must be a whole number over 0" for name, value in units.items() if not _positive(value)
        ]
    return faults


def amounts_faults(where: str, amounts: object) -> list[str]:
    """Name what is wrong with a table of prices."""
    if not isinstance(amounts, Mapping) or not amounts:
        return [f"`{where}` must be a table of nanodollars for a million tokens"]
    faults = [f"{where}.{name} is not a usage bucket with a price" for name in amounts if name not in PRICE_NAMES]
    faults += [
        f"{where}.{name} must be a whole number over 0" for name, value in amounts.items() if not _positive(value)
    ]
    return faults


def _not_positive(where: str, amounts: Mapping[str, object]) -> list[str]:
    return [f"{where}.{name} must be a whole number over 0" for name, value in amounts.items() if not _positive(value)]


def _positive(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _variant_faults(entry: Mapping[str, object]) -> list[str]:
    faults: list[str] = []
    base = set(cast("Mapping[str, int]", entry.get("prices", {})))
    groups: tuple[tuple[str, frozenset[str]], ...] = (
        ("tiers", frozenset({"input_over", "input_from"})),
        ("periods", frozenset({"from", "hours"})),
        ("service_tiers", frozenset({"name"})),
    )
    for group, keys in groups:
        for index, variant in enumerate(cast("list[Mapping[str, object]]", entry.get(group, []))):
            where = f"{group}[{index}]"
            if len(keys & variant.keys()) != 1 or variant.keys() - keys != {"prices"}:
                faults.append(f"{where} must hold `prices` and exactly one of {', '.join(sorted(keys))}")
                continue
            faults += amounts_faults(f"{where}.prices", variant["prices"])
            if isinstance(variant["prices"], Mapping) and set(variant["prices"]) != base:
                faults.append(f"{where}.prices must price the same buckets as `prices`")
            faults += [f"{where}: {fault}" for fault in _condition_faults(variant)]
    if entry.get("tiers") and (entry.get("periods") or entry.get("service_tiers")):
        faults.append("`tiers` together with `periods` or `service_tiers` is not supported")
    return faults


def _condition_faults(variant: Mapping[str, object]) -> list[str]:
    if "hours" in variant:
        hours = variant["hours"]
        valid = isinstance(hours, list) and len(hours) == 2 and all(isinstance(hour, int) for hour in hours)  # noqa: PLR2004 - a pair
        if not valid or not 0 <= cast("list[int]", hours)[0] < cast("list[int]", hours)[1] <= HOURS:
            return ["`hours` must be two hours of a day in UTC, the first before the second"]
    if "from" in variant and not isinstance(variant["from"], date):
        return ["`from` must be a day"]
    for name in ("input_over", "input_from"):
        if name in variant and not _positive(variant[name]):
            return [f"`{name}` must be a number of tokens over 0"]
    return []
