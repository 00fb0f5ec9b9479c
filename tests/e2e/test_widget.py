"""The widget on a host's page of another origin: one script tag, and the host's page stays its own."""

import pytest
from playwright.async_api import expect

from tests.e2e.conftest import Stage, ask

pytestmark = [pytest.mark.service("chromium"), pytest.mark.asyncio(loop_scope="session")]

LISTED, UNLISTED = "https://listed.example", "https://unlisted.example"
HOST_POLICY = "default-src 'none'; script-src {url}; frame-src {url}; style-src 'none'"


async def host_page(stage: Stage, origin: str):
    """A page of a site that uses the widget, under a strict policy of its own."""
    visitor = await stage.visitor(language="en-GB")
    stage.hosts.add(origin)
    script = f'<script src="{stage.url}/static/widget/passeur.js" data-public-key="pk_demo" defer></script>'
    html = f'<!doctype html><html lang="en"><title>Host</title><body><h1>Shop</h1>{script}</body></html>'
    policy = {"content-security-policy": HOST_POLICY.format(url=stage.url), "content-type": "text/html"}
    page = await visitor.context.new_page()
    await page.route(f"{origin}/**", lambda route: route.fulfill(body=html, headers=policy))
    await page.goto(f"{origin}/")
    return page


async def test_a_listed_site_gets_a_conversation_by_one_script_tag(stage: Stage):
    page = await host_page(stage, LISTED)
    await expect(page.locator("iframe")).to_have_count(0)  # nothing is loaded before someone asks
    await page.get_by_role("button", name="Ask a question").click()
    inside = page.frame_locator("iframe")
    await ask(inside, "Que fait Passeur ?")
    await expect(inside.locator('passeur-message[data-role="ai"][data-state="whole"]')).to_contain_text("vos documents")
    await expect(inside.locator(".page-head")).to_be_hidden()
    await inside.locator(".source").first.click()
    await inside.get_by_role("dialog").press("Escape")
    await expect(page.get_by_role("dialog", name="Assistant")).to_be_visible()  # only the passage closed
    await inside.locator("#composer-field").press("Escape")
    await expect(page.get_by_role("button", name="Ask a question")).to_be_focused()
    await page.reload()
    await page.get_by_role("button", name="Ask a question").click()
    await expect(inside.locator('passeur-message[data-role="ai"]')).to_contain_text("vos documents")
    await page.get_by_role("button", name="New conversation").click()
    await expect(inside.get_by_role("heading", name="What would you like to know?")).to_be_visible()


async def test_a_site_that_is_not_listed_cannot_frame_the_page(stage: Stage):
    """P32: the browser itself refuses, by the project's list."""
    page = await host_page(stage, UNLISTED)
    refused = []
    page.on("console", lambda said: refused.append(said.text) if "frame-ancestors" in said.text else None)
    async with page.expect_event("console", lambda said: "frame-ancestors" in said.text):
        await page.get_by_role("button", name="Ask a question").click()
    await expect(page.frame_locator("iframe").locator("#composer-field")).to_have_count(0)
    assert refused
