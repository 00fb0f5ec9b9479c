"""The short form of every promise that has a torture module: well under 10 s each."""

from __future__ import annotations

import pytest

from tests.torture.__main__ import module, names

SEED = 1


@pytest.mark.parametrize("name", names())
async def test_the_short_form_of_the_promise_holds(name):
    promise = module(name)
    figure = await promise.run(promise.SHORT, SEED)
    if figure.skipped:
        pytest.skip(figure.skipped)
    assert figure.failures == []
    assert figure.trials > 0
