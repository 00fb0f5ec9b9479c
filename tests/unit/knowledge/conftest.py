"""A desk: a small project over an in-memory index."""

from __future__ import annotations

import pytest

from tests.fakes.library import Desk


@pytest.fixture
async def desk(tmp_path):
    made = Desk(tmp_path)
    await made.service.start()
    yield made
    await made.service.close()
