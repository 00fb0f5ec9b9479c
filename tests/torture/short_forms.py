"""The short form of a promise, and which of them are tested together: a test file runs on one core."""

from __future__ import annotations

import math

import pytest

from tests.torture.__main__ import module, names

SEED = 1
OF_MONEY = {"P1", "P2", "P3", "P3_POSTGRES", "P4", "P5", "P5_TURNS", "P6", "P8", "P9", "P12", "P35"}
OF_KNOWLEDGE = {"P26", "P26_RIGHTS", "P27", "P28", "P29", "P29_KILLS"}
OTHERS = set(names()) - OF_MONEY - OF_KNOWLEDGE


async def holds(name: str) -> None:
    """Run the short form: well under 10 s.

    A test hangs on no clock, because the machine may be busy: the limits that a module names in `TIMES` are for the
    full counts alone.
    """
    promise = module(name)
    with pytest.MonkeyPatch.context() as patch:
        for limit in getattr(promise, "TIMES", ()):
            patch.setattr(promise, limit, math.inf)
        figure = await promise.run(promise.SHORT, SEED)
    if figure.skipped:
        pytest.skip(figure.skipped)
    assert figure.failures == []
    assert figure.trials > 0
