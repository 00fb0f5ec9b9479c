"""A real browser for the promises that only one can break."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from tests.e2e.conftest import FLAGS

if TYPE_CHECKING:
    from playwright.async_api import Browser

ABSENT = "chromium is not installed"


def is_there() -> bool:
    """Tell whether there is a browser."""
    return shutil.which("chromium") is not None


@asynccontextmanager
async def browsing() -> AsyncIterator[Browser]:
    """Run one while the block runs."""
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS.split())
        try:
            yield started
        finally:
            await started.close()
