"""The short forms of the promises about turns, streams and people."""

from __future__ import annotations

import pytest

from tests.torture.short_forms import OTHERS, holds


@pytest.mark.parametrize("name", sorted(OTHERS))
async def test_the_short_form_of_the_promise_holds(name):
    await holds(name)
