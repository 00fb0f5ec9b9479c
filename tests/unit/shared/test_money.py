import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.money import MAX_AMOUNT, NANO_PER_USD, TOKENS_PER_PRICE, charge, parse_usd, text_usd


@given(tokens=st.integers(0, 10**12), price=st.integers(0, 10**13))
def test_a_charge_is_rounded_up_by_less_than_one_nanodollar(tokens, price):
    cost = charge(tokens, price)
    assert 0 <= cost * TOKENS_PER_PRICE - tokens * price < TOKENS_PER_PRICE


def test_one_token_at_thirty_cents_a_million_costs_three_hundred_nanodollars():
    assert charge(1, 300_000_000) == 300


@pytest.mark.parametrize(("tokens", "price"), [(-1, 1), (1, -1)])
def test_negative_counts_and_prices_are_refused(tokens, price):
    with pytest.raises(ValueError, match="never negative"):
        charge(tokens, price)


@given(amount=st.integers(0, MAX_AMOUNT))
def test_an_amount_survives_being_written_and_read(amount):
    assert parse_usd(text_usd(amount)) == amount


def test_an_unknown_amount_is_not_zero():
    assert text_usd(None) == "unknown"


@pytest.mark.parametrize(
    "text", ["", "-1", "1e3", "1,5", "١", "1.0000000001", "NaN", str(MAX_AMOUNT // NANO_PER_USD + 1)]
)
def test_amounts_that_are_not_plain_dollars_are_refused(text):
    with pytest.raises(ValueError, match=r"amount|decimals"):
        parse_usd(text)
