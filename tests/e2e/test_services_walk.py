"""The two cases of the source document, with both real processes, a real browser and two live services (issue 8):
"cherche batman" → choice → result, and a search that finds nothing → suggestion → result.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
import pytest_asyncio
from aiohttp import web
from aiohttp.test_utils import TestServer
from playwright.async_api import Browser, Page, Request, expect

from tests.e2e.conftest import DESK, WAIT_MS, ask, said
from tests.e2e.installation import Installation, Visitor, free_port, installed
from tests.fakes.described_service import DescribedService

pytestmark = [pytest.mark.service("chromium"), pytest.mark.asyncio(loop_scope="session")]

SECRET = "k3y-of-the-media-server"
SHOTS = os.environ.get("PASSEUR_SCREENSHOTS", "")
"""A folder for pictures of each state, for a person to look at; empty: none are made."""
BATMAN = {
    "Id": "b1",
    "Name": "The Batman",
    "Type": "Movie",
    "ProductionYear": 2022,
    "PremiereDate": "2022-03-04T00:00:00Z",
    "Overview": "A <b>masked</b> detective in a city of rain.",
}
AWAKENING = {"Id": "a1", "Name": "The Awakening", "Type": "Movie", "ProductionYear": 2011, "Overview": "A haunting."}
PAGES = [{"title": "Batman reading list", "link": "/p/7", "date": "2026-01-05", "text": "Comics kept in room 3."}]

CONNECTORS = """
[[connectors]]
type = "jellyfin"
instance = "home"
url = "{media}"
secret_env = "PASSEUR_CONNECTOR_MEDIA"
rights = {{ scope = "docs", audience = "public" }}
networks = ["127.0.0.0/8"]

[[connectors]]
type = "openapi"
instance = "wiki"
name = "Wiki"
url = "{wiki}"
rights = {{ scope = "docs", audience = "public" }}
networks = ["127.0.0.0/8"]

[[connectors.endpoints]]
name = "pages"
holds = {{ fr = "pages", en = "pages", es = "páginas" }}
hints = ["wiki", "page"]
path = "/search"
query = {{ q = "{{terms}}" }}
items = "items"
title = "title"
link = "link"
date = "date"
snippet = "text"
"""


@dataclass
class Walk:
    """An installation with two services beside its documents, and a browser."""

    installation: Installation
    http: aiohttp.ClientSession
    browser: Browser
    media: DescribedService
    metrics: str
    faults: list[str]

    async def page(self) -> Page:
        """Be a new visitor with the chat page open."""
        context = await self.browser.new_context(viewport=DESK, locale="fr", reduced_motion="reduce")
        context.set_default_timeout(WAIT_MS)
        context.on("request", self._watch)
        page = await context.new_page()
        await page.goto(f"{self.installation.url}/chat")
        await expect(page.locator("#composer-field")).to_be_visible()
        return page

    def _watch(self, request: Request) -> None:
        if not request.url.startswith((f"{self.installation.url}/", "data:", "blob:", "about:")):
            self.faults.append(request.url)

    async def counted(self, kind: str, event: str) -> float:
        """Read how often this became of questions of this kind."""
        async with self.http.get(self.metrics) as response:
            text = await response.text()
        line = re.search(
            rf'^passeur_gateway_clarifications_total{{event="{event}",kind="{kind}"}} (\S+)$', text, re.MULTILINE
        )
        return float(line[1]) if line else 0.0


def found(*items: dict) -> dict:
    return {"Items": list(items), "TotalRecordCount": len(items)}


def library(path: str, query: dict) -> dict:
    """Answer as Jellyfin: two films, found by a word of their name."""
    terms = query["searchTerm"].casefold()
    return found(*(film for film in (BATMAN, AWAKENING) if terms in film["Name"].casefold()))


async def wiki(request: web.Request) -> web.Response:
    return web.json_response({"items": PAGES if request.query["q"].casefold() == "batman" else []})


def with_services(media: str, pages: str) -> Callable[[str], str]:
    return lambda text: text + CONNECTORS.format(media=media, wiki=pages)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def walk(browser: Browser, tmp_path_factory: pytest.TempPathFactory, prepared: Path) -> AsyncIterator[Walk]:
    expect.set_options(timeout=WAIT_MS)
    media, pages = DescribedService("jellyfin.yaml", library), web.Application()
    pages.router.add_get("/search", wiki)
    async with AsyncExitStack() as stack:
        addresses = []
        for app in (media.app, pages):
            server = TestServer(app)
            await server.start_server()
            stack.push_async_callback(server.close)
            addresses.append(str(server.make_url("")).rstrip("/"))
        port = free_port()
        settings = {"PASSEUR_CONNECTOR_MEDIA": SECRET, "PASSEUR_GATEWAY_METRICS_ADDRESS": f"127.0.0.1:{port}"}
        folder = tmp_path_factory.mktemp("walk")
        installation, http = await stack.enter_async_context(
            installed(folder, prepared, settings, with_services(*addresses))
        )
        walking = Walk(installation, http, browser, media, f"http://127.0.0.1:{port}/metrics", [])
        yield walking
        for context in browser.contexts:
            await context.close()
        assert walking.faults == []
        assert media.undeclared == []
        logs = [installation.log(name) for name in ("ai_server", "gateway")]
        assert all(SECRET not in log for log in logs)


async def shoot(page: Page, name: str) -> None:
    if SHOTS:
        await page.screenshot(path=Path(SHOTS) / f"{name}.png")


async def test_cherche_batman_is_asked_about_chosen_by_a_button_found_and_its_citation_opens(walk: Walk):
    page = await walk.page()
    await ask(page, "cherche batman")
    question = said(page).last
    await expect(question).to_contain_text("Où faut-il chercher ?")
    choices = question.locator(".choices button")
    await expect(choices).to_have_text(
        ["Jellyfin – films, séries, musique", "Wiki – pages", "Documentation – pages d'aide"]
    )
    assert walk.media.requests == []
    await shoot(page, "batman-1-question")

    await choices.first.click()
    answer = said(page).last
    await expect(answer).to_contain_text("Résultats sur Jellyfin pour « batman »")
    await expect(answer.locator("strong")).to_have_text("The Batman (2022)")
    await expect(choices).to_have_count(0)
    await shoot(page, "batman-2-result")

    await answer.get_by_role("button", name="Source 1 The Batman (2022)").last.click()
    panel = page.get_by_role("dialog", name="The Batman (2022)")
    await expect(panel.locator("h3")).to_have_text("Trouvé sur Jellyfin au moment de la réponse.")
    await expect(panel.locator(".passage-text")).to_have_text(
        "2022-03-04\nA masked detective in a city of rain.", use_inner_text=True
    )
    link = panel.get_by_role("link", name="Ouvrir sur Jellyfin")
    assert (await link.get_attribute("href")).endswith("/web/#/details?id=b1")
    await shoot(page, "batman-3-passage")
    # A reload shows what is stored, and the citation still opens.
    await page.reload()
    await said(page).last.get_by_role("button", name="Source 1 The Batman (2022)").last.click()
    await expect(panel.locator(".passage-text")).to_contain_text("A masked detective")

    assert (await walk.counted("clarify_connector", "asked"), await walk.counted("clarify_connector", "selected")) == (
        1.0,
        1.0,
    )


async def test_a_search_without_a_result_offers_its_words_and_one_of_them_finds(walk: Walk):
    page = await walk.page()
    await ask(page, "cherche xenomorph awakening sur jellyfin")
    question = said(page).last
    await expect(question).to_contain_text("xenomorph awakening")
    choices = question.locator(".choices button")
    await expect(choices).to_have_text(
        ["Chercher « xenomorph » seul", "Chercher « awakening » seul", "Chercher sur un autre service"]
    )
    await shoot(page, "nothing-1-question")
    await choices.nth(1).click()
    await expect(said(page).last).to_contain_text("The Awakening (2011)")
    await shoot(page, "nothing-2-result")
    assert await walk.counted("clarify_search", "selected") == 1.0


async def test_another_service_is_chosen_by_its_name_and_the_json_endpoint_says_the_same(walk: Walk):
    visitor = await Visitor.arrive(walk.installation, walk.http)
    turn = await visitor.ask("cherche batman")
    assert (turn["outcome"], turn["ai_message"]["kind"]) == ("clarify_connector", "clarification")
    assert [each["reply"] for each in turn["ai_message"]["choices"]] == ["1", "2", "3"]
    answer = await visitor.ask("sur le wiki")
    assert answer["outcome"] == "answered"
    assert [each["title"] for each in answer["ai_message"]["citations"]] == ["Batman reading list"]


async def test_a_pending_question_outlives_a_killed_gateway(walk: Walk):
    visitor = await Visitor.arrive(walk.installation, walk.http)
    await visitor.ask("cherche batman")
    walk.installation.kill("gateway")
    walk.installation.start("gateway")
    await walk.installation.wait_ready(walk.http)
    answer = await visitor.ask("1.")
    assert answer["outcome"] == "answered"
    assert "The Batman (2022)" in answer["ai_message"]["text"]
