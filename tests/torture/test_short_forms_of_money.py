"""The short forms of the promises about money."""

from __future__ import annotations

import pytest

from tests.torture.short_forms import OF_MONEY, holds


@pytest.mark.parametrize("name", sorted(OF_MONEY))
async def test_the_short_form_of_the_promise_holds(name):
    await holds(name)
