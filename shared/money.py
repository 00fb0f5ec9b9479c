"""Money is an integer of nanodollars (10⁻⁹ USD). It is never a float and never rounded down."""

from __future__ import annotations

from typing import Final

NANO_PER_USD: Final = 1_000_000_000
TOKENS_PER_PRICE: Final = 1_000_000
DECIMALS: Final = 9

MAX_AMOUNT: Final = 2**62
"""Largest amount taken anywhere (about 4.6 thousand million USD), so that sums of two stay inside a signed int64."""


def charge(tokens: int, nanousd_per_million: int) -> int:
    """Price `tokens` at a price per million, in nanodollars, with one ceiling division.

    Raises:
        ValueError: a negative count or price.
    """
    if tokens < 0 or nanousd_per_million < 0:
        raise ValueError("token counts and prices are never negative")
    return -(-tokens * nanousd_per_million // TOKENS_PER_PRICE)


def text_usd(nanousd: int | None) -> str:
    """Write an amount for people: `$0.000123`, trailing zeros cut, `unknown` for None."""
    if nanousd is None:
        return "unknown"
    sign = "-" if nanousd < 0 else ""
    whole, fraction = divmod(abs(nanousd), NANO_PER_USD)
    digits = f"{fraction:09d}".rstrip("0").ljust(2, "0")
    return f"{sign}${whole}.{digits}"


def parse_usd(text: str) -> int:
    """Read `12.34` or `$12.34` as nanodollars, exactly.

    Raises:
        ValueError: not a plain decimal, negative, more than nine decimals, or over `MAX_AMOUNT`.
    """
    whole, point, fraction = text.strip().removeprefix("$").partition(".")
    if not whole.isascii() or not whole.isdigit() or (point and not (fraction.isascii() and fraction.isdigit())):
        raise ValueError(f"{text!r} is not an amount in dollars such as 12.34")
    if len(fraction) > DECIMALS:
        raise ValueError(f"{text!r} has more than nine decimals: a nanodollar is the smallest amount")
    amount = int(whole) * NANO_PER_USD + int(fraction.ljust(DECIMALS, "0") or "0")
    if amount > MAX_AMOUNT:
        raise ValueError(f"{text!r} is over the largest amount that is kept")
    return amount
