"""A real gateway, a scripted AI server, and a real browser that may speak to nobody else."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, Request, async_playwright, expect

from gateway.identity import passwords
from gateway.identity.projects import Project
from gateway.web.services import LimitSettings, Services
from tests.e2e.installation import prepare_data
from tests.fakes.assistant import ScriptedAssistant
from tests.fakes.gateway import DEMO, PASSAGES, demo_script, migrate, open_services, serving

FLAGS = (
    "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update "
    "--disable-sync --no-first-run "
    # A host's page that a test plays counts as public, our gateway on loopback as private: the browser would ask.
    # Each window would draw two pages of its own for an address bar that nobody sees: half of what a test costs.
    "--disable-features=LocalNetworkAccessChecks,WebUIOmniboxPopup,WebUIOmniboxAimPopup"
)
DESK = {"width": 1280, "height": 800}
PHONE = {"width": 360, "height": 740}
DONE = "done"
AXE = Path(__file__).parent / "vendor" / "axe.min.js"
WAIT_MS = 60_000
"""The longest that anything on the page may take to appear; nothing waits when it is there."""

CLOSE_S = 45.0
"""The longest that a context or the gateway may take to close, on a machine that is busy elsewhere."""


@dataclass
class Stage:
    """What a test plays on. `faults` collects what no page may do, and must be empty at the end."""

    url: str
    browser: Browser
    assistant: ScriptedAssistant
    services: Services
    faults: list[str] = field(default_factory=list)
    contexts: list[BrowserContext] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)
    """Origins that a test plays itself."""

    async def visitor(self, *, size: dict[str, int] | None = None, language: str = "fr", **more: object) -> Browsing:
        """Be someone new: nothing kept, nothing shared."""
        context = await self.browser.new_context(
            viewport=size or DESK, locale=language, reduced_motion="reduce", permissions=["clipboard-write"], **more
        )
        context.set_default_timeout(WAIT_MS)
        context.on("request", self._watch)
        context.on("weberror", lambda error: self.faults.append(f"uncaught: {error.error}"))
        context.on("dialog", lambda dialog: self.faults.append(f"dialog: {dialog.message}"))
        self.contexts.append(context)
        return Browsing(self, context)

    def _watch(self, request: Request) -> None:
        own = (f"{self.url}/", "data:", "blob:", "about:", *(f"{host}/" for host in self.hosts))
        if not request.url.startswith(own):
            self.faults.append(f"off-origin request: {request.url}")


@dataclass
class Browsing:
    """One visitor's browser; its pages are tabs that share what is kept."""

    stage: Stage
    context: BrowserContext

    async def tab(self, query: str = "") -> Page:
        page = await self.context.new_page()
        await page.goto(f"{self.stage.url}/chat{query}")
        await expect(page.locator("#composer-field")).to_be_visible()
        return page


async def ask(page: Page, text: str) -> None:
    """Say something as a visitor does."""
    await page.locator("#composer-field").fill(text)
    await page.locator("#composer-field").press("Enter")


def said(page: Page, role: str = "ai"):
    """The finished messages of one side."""
    return page.locator(f'passeur-message[data-role="{role}"][data-state="whole"]')


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the samples indexed, made once for all workers; only to be copied."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder = shared / "prepared"
    with (shared / "prepared.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / DONE).exists():
            folder.mkdir()
            # In a thread of its own, because the tests' loop may be running already.
            with ThreadPoolExecutor(1) as aside:
                aside.submit(asyncio.run, prepare_data(folder)).result()
            (folder / DONE).touch()
    return folder / "data"


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        started = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS.split())
        yield started
        await started.close()


@pytest.fixture
def projects() -> tuple[Project, ...]:
    """The projects of the gateway; a module may have others."""
    return (DEMO,)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def migrated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an empty store in it, only to be copied."""
    folder = tmp_path_factory.mktemp("migrated")
    await migrate(folder)
    return folder


@pytest_asyncio.fixture(loop_scope="session")
async def stage(
    browser: Browser, tmp_path: Path, migrated: Path, projects: tuple[Project, ...], monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Stage]:
    # What a password costs is tested in tests/unit/support, and paid in test_files.py.
    monkeypatch.setattr(passwords, "COST", 2**4)
    expect.set_options(timeout=WAIT_MS)
    assistant = ScriptedAssistant(demo_script, PASSAGES)
    bucket = replace(LimitSettings().messages, burst=1000, per_minute=1000)
    opened = AsyncExitStack()
    folder = Path(shutil.copytree(migrated, tmp_path / "gateway"))
    services = await opened.enter_async_context(
        open_services(folder, assistant, limits=replace(LimitSettings(), messages=bucket), projects=projects)
    )
    url = await opened.enter_async_context(serving(services))
    playing = Stage(url, browser, assistant, services)
    yield playing
    for context in playing.contexts:
        await _within(context.close(), "a browser context")
    await _within(opened.aclose(), "the gateway")
    assert playing.faults == []


async def _within(closing: Coroutine[object, object, object], what: str) -> None:
    """Close something in bounded time, or show what everyone waits for."""
    task = asyncio.ensure_future(closing)
    done, _ = await asyncio.wait({task}, timeout=CLOSE_S)
    if not done:
        stacks = "\n".join(repr(each) for each in asyncio.all_tasks())
        pytest.fail(f"{what} did not close within {CLOSE_S:g} s; these tasks are there:\n{stacks}")
    await task
