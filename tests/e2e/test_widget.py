"""The widget on a host's page of another origin: one script tag, and the host's page stays its own."""

from dataclasses import replace

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey
from playwright.async_api import expect

from gateway.identity.entitlements import Entitlement
from gateway.identity.proofs import HostIdentity, HostKey
from shared.clock import SystemClock
from shared.errors import Unauthenticated
from tests.e2e.conftest import Stage, ask, said
from tests.fakes.assistant import answering
from tests.fakes.gateway import DEMO

pytestmark = [pytest.mark.service("chromium"), pytest.mark.asyncio(loop_scope="session")]

KEY = OctKey.import_key("k" * 32)
SHOP = replace(
    DEMO,
    name="Vélo du Canal",
    languages=("fr", "en"),
    greeting={"en": "Hello! A question about your bike?"},
    host=HostIdentity("https://host.example", "passeur", {"main": HostKey("HS256", KEY)}),
    entitlements=(Entitlement("plan", frozenset({"pro"}), ({"scope": ("docs",), "audience": ("members",)},)),),
)
LISTED, UNLISTED = "https://listed.example", "https://unlisted.example"
HOST_POLICY = "default-src 'none'; script-src {url}; frame-src {url}; style-src 'none'"


@pytest.fixture
def projects():
    return (SHOP,)


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
    await expect(page.get_by_role("dialog", name="Vélo du Canal")).to_be_visible()  # only the passage closed
    await inside.locator("#composer-field").press("Escape")
    await expect(page.get_by_role("button", name="Ask a question")).to_be_focused()
    await page.reload()
    await page.get_by_role("button", name="Ask a question").click()
    await expect(inside.locator('passeur-message[data-role="ai"]')).to_contain_text("vos documents")
    await page.get_by_role("button", name="New conversation").click()
    await expect(inside.get_by_role("heading", name="Hello! A question about your bike?")).to_be_visible()


async def test_a_site_that_is_not_listed_cannot_frame_the_page(stage: Stage):
    """P32: the browser itself refuses, by the project's list."""
    page = await host_page(stage, UNLISTED)
    refused = []
    page.on("console", lambda said: refused.append(said.text) if "frame-ancestors" in said.text else None)
    async with page.expect_event("console", lambda said: "frame-ancestors" in said.text):
        await page.get_by_role("button", name="Ask a question").click()
    await expect(page.frame_locator("iframe").locator("#composer-field")).to_have_count(0)
    assert refused
    panel = page.get_by_role("dialog", name="Assistant")
    await expect(panel).to_contain_text("not available on this page")
    await expect(panel).to_contain_text(f"{UNLISTED} must be listed in allowed_origins of the key pk_demo")
    await expect(page.locator("iframe")).to_be_hidden()  # the browser's own page of refusal


class Site:
    """A site where people sign in: its page asks its own server for a token, as `docs/identity.md` shows."""

    def __init__(self) -> None:
        self.user = ""
        self.audience = "passeur"
        self.asked = 0

    def token(self) -> str:
        """What the site's server signs for whoever is signed in; nothing for nobody."""
        self.asked += 1
        claims = {"iss": "https://host.example", "aud": self.audience, "sub": self.user, "plan": "pro"}
        claims["exp"] = int(SystemClock().now().timestamp()) + 300
        return jwt.encode({"alg": "HS256", "kid": "main"}, claims, KEY) if self.user else ""


HOST_SCRIPT = """
const sign = async () => (await fetch("/token")).text();
document.addEventListener("DOMContentLoaded", () => Passeur.identify(sign));
document.querySelector("#out").addEventListener("click", () => Passeur.identify(null));
"""


async def site_page(stage: Stage, site: Site):
    visitor = await stage.visitor(language="en-GB")
    stage.hosts.add(LISTED)
    widget = f'<script src="{stage.url}/static/widget/passeur.js" data-public-key="pk_demo" defer></script>'
    html = (
        f'<!doctype html><html lang="en"><title>Shop</title><body><button id="out">Sign out</button>{widget}'
        '<script src="/host.js" defer></script></body></html>'
    )
    policy = f"default-src 'none'; script-src 'self' {stage.url}; frame-src {stage.url}; connect-src 'self'"

    async def serve(route):
        if route.request.url.endswith("/token"):
            await route.fulfill(body=site.token(), content_type="text/plain")
        elif route.request.url.endswith("/host.js"):
            await route.fulfill(body=HOST_SCRIPT, content_type="text/javascript")
        else:
            headers = {"content-security-policy": policy, "content-type": "text/html"}
            await route.fulfill(body=html, headers=headers)

    page = await visitor.context.new_page()
    await page.route(f"{LISTED}/**", serve)
    await page.goto(f"{LISTED}/")
    return page


def price(question):
    members = any("members" in each.get("audience", ()) for each in question.contexts)
    return answering("Members pay 10 euros." if members else "Everyone pays 15 euros.")


async def asked_price(page):
    inside = page.frame_locator("iframe")
    before = await said(inside).count()
    await ask(inside, "What is the price?")
    await expect(said(inside)).to_have_count(before + 1)
    return await said(inside).last.inner_text()


async def test_a_signed_in_visitor_of_the_site_reads_what_they_may_and_nothing_is_merged(stage: Stage, monkeypatch):
    """PROMISES.md P31, through the widget: the site's function proves, a new proof is asked for when one is over."""
    stage.assistant.script = price
    site = Site()
    page = await site_page(stage, site)
    launch, inside = page.get_by_role("button", name="Ask a question"), page.frame_locator("iframe")
    await launch.click()
    assert "Everyone" in await asked_price(page)  # nobody is signed in: the function said so
    site.user = "ana"
    await page.reload()
    await launch.click()
    await expect(inside.get_by_role("heading", name="Hello! A question about your bike?")).to_be_visible()
    await expect(said(inside)).to_have_count(0)
    assert "Members" in await asked_price(page)
    asked = site.asked
    monkeypatch.setattr(stage.services.sessions, "authenticate", once_refused(stage.services.sessions.authenticate))
    assert "Members" in await asked_price(page)
    assert site.asked > asked
    await page.get_by_role("button", name="Sign out").click()
    await expect(said(inside).first).to_contain_text("Everyone")  # the anonymous visitor's own conversation again
    await expect(said(inside)).to_have_count(1)
    assert "Everyone" in await asked_price(page)
    users = {each.budget_user for each in stage.assistant.questions}
    assert len(users) == 2
    assert "anonymous" in users


def once_refused(authenticate):
    """A session that is over: refused once, as after its twelve hours."""
    refused = []

    async def check(token):
        if not refused:
            refused.append(token)
            raise Unauthenticated
        return await authenticate(token)

    return check


async def test_a_proof_that_is_not_believed_is_told_and_nobody_becomes_anonymous(stage: Stage):
    site = Site()
    site.user, site.audience = "ana", "someone else"
    page = await site_page(stage, site)
    await page.get_by_role("button", name="Ask a question").click()
    inside = page.frame_locator("iframe")
    await expect(inside.get_by_role("alert")).to_contain_text("Your sign-in to the site was not recognised here")
    await expect(inside.locator("#composer-field")).to_be_hidden()
    assert site.asked == 2
    site.audience = "passeur"
    await inside.get_by_role("button", name="Try again").click()
    await expect(inside.locator("#composer-field")).to_be_visible()


async def test_the_page_bears_the_projects_name_greeting_and_languages_and_knows_a_wrong_key(stage: Stage):
    visitor = await stage.visitor(language="fr")
    page = await visitor.tab()  # the only project's first key, without `?key=`
    assert await page.title() == "Vélo du Canal"
    await expect(page.get_by_role("heading", level=1, name="Vélo du Canal")).to_be_visible()
    await expect(page.get_by_role("heading", name="Que souhaitez-vous savoir ?")).to_be_visible()  # no French greeting
    assert await page.get_by_role("combobox").locator("option").all_inner_texts() == ["Français", "English"]
    await page.get_by_role("combobox").select_option("en")
    await expect(page.get_by_role("heading", name="Hello! A question about your bike?")).to_be_visible()
    await page.goto(f"{stage.url}/chat?key=pk_mistyped&lang=es")
    refusal = page.get_by_role("alert")
    await expect(refusal).to_contain_text("La clave «pk_mistyped» no es de ningún proyecto")
    await expect(page.locator("#composer-field")).to_be_hidden()
    await expect(page.locator(".notice")).to_be_hidden()  # nothing about sessions or lost lines
