"""The short forms of the promises about documents and files."""

from __future__ import annotations

import pytest

from tests.torture.short_forms import OF_KNOWLEDGE, holds


@pytest.mark.parametrize("name", sorted(OF_KNOWLEDGE))
async def test_the_short_form_of_the_promise_holds(name):
    await holds(name)
