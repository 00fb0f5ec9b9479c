"""A person takes over: the visitor's page and the team's page side by side, each always seeing the truth (issue 7)."""

import re

import pytest
from playwright.async_api import Page, expect

from tests.e2e.conftest import AXE, PHONE, Stage, ask, said
from tests.e2e.test_everyone import findings
from tests.fakes.assistant import answering
from tests.fakes.gateway import PASSWORD, staff_member

pytestmark = [pytest.mark.service("chromium"), pytest.mark.asyncio(loop_scope="session")]


async def inbox(stage: Stage, login: str, *, language: str = "en-GB", **more: object) -> Page:
    """Sign in as one of the team."""
    visitor = await stage.visitor(language=language, **more)
    await visitor.context.add_init_script(path=AXE)
    page = await visitor.context.new_page()
    await page.goto(f"{stage.url}/inbox")
    await page.locator('[autocomplete="username"]').fill(login)
    await page.locator('[autocomplete="current-password"]').fill(PASSWORD)
    await page.locator('[autocomplete="current-password"]').press("Enter")
    return page


async def handed_over(stage: Stage) -> Page:
    """Be a visitor whom the documents did not help, and ask for a person."""
    page = await (await stage.visitor()).tab()
    for count in range(1, 4):
        await ask(page, f"rien {count}")
        await expect(said(page)).to_have_count(count)
    await page.locator(".human-button").click()
    await expect(page.locator(".notice")).to_contain_text("Une personne")
    return page


async def test_both_sides_see_typing_replies_and_the_end_live(stage: Stage):
    await staff_member(stage.services, "ana", name="Ana Ortiz")
    visitor = await handed_over(stage)
    await expect(visitor.locator(".human-button")).to_be_hidden()
    team = await inbox(stage, "ana")
    ticket = team.get_by_role("navigation", name="Tickets").get_by_role("link")
    await expect(ticket).to_contain_text("Open")
    await expect(ticket).to_contain_text("3 unread messages")
    await ticket.click()
    await expect(team.locator("passeur-message")).to_have_count(7)
    await expect(ticket).not_to_contain_text("unread")
    await expect(team.locator(".ticket-head")).to_contain_text("is here now")

    await visitor.locator("#composer-field").fill("Êtes-vous là ?")
    await expect(team.locator(".typing")).to_have_text("The visitor is writing…")
    await visitor.locator("#composer-field").press("Enter")
    await expect(team.locator('[data-role="user"]').last).to_contain_text("Êtes-vous là ?")

    reply = team.get_by_role("textbox", name="Your reply")
    await reply.fill("Bonjour, oui.")
    await expect(visitor.locator(".typing")).to_have_text("Ana Ortiz écrit…")
    await reply.press("Enter")
    await expect(said(visitor, "admin")).to_contain_text("Bonjour, oui.")
    await expect(said(visitor, "admin")).to_contain_text("Ana Ortiz")
    await expect(ticket).to_contain_text("In progress")
    await expect(team.locator('[data-role="admin"]')).to_have_count(1)
    assert len(stage.assistant.questions) == 3  # the AI was silent

    await team.get_by_role("button", name="Resolve", exact=True).click()
    await expect(visitor.locator(".notice")).to_be_hidden()
    await expect(reply).to_be_hidden()
    stage.assistant.script = lambda _: answering("Me revoici.")
    await ask(visitor, "Et maintenant ?")
    await expect(said(visitor).last).to_contain_text("Me revoici.")
    await team.get_by_role("button", name="Reopen").click()
    await expect(visitor.locator(".notice")).to_contain_text("Une personne s’occupe de cette conversation")


@pytest.mark.parametrize(("light", "size"), [("light", None), ("dark", PHONE)])
async def test_axe_finds_nothing_serious_in_the_inbox(stage: Stage, light, size):
    await staff_member(stage.services, "ana", name="Ana Ortiz")
    await handed_over(stage)
    team = await inbox(stage, "ana", size=size, color_scheme=light, bypass_csp=True)
    await expect(team.get_by_role("link")).to_have_count(1)
    assert await findings(team) == []
    await team.get_by_role("link").click()
    await expect(team.locator("passeur-message")).to_have_count(7)
    assert await findings(team) == []
    if size:
        assert await team.locator("html").evaluate("(element) => element.scrollWidth <= element.clientWidth")
        await team.get_by_role("button", name="Back to the tickets").click()
    await team.get_by_role("button", name="Unanswered questions").click()
    await expect(team.locator(".groups > li").first).to_contain_text(re.compile("asked"))
    assert await findings(team) == []


@pytest.mark.parametrize(("language", "me"), [("fr", "Ma présence"), ("en-GB", "My presence"), ("es", "Mi presencia")])
async def test_the_head_of_the_inbox_is_one_line_on_a_phone(stage: Stage, language, me):
    await staff_member(stage.services, "ana", name="Ana Ortiz")
    team = await inbox(stage, "ana", language=language, size=PHONE)
    head = team.get_by_role("banner")
    await expect(head.get_by_role("combobox", name=me)).to_be_visible()
    await expect(team.get_by_role("heading", name="Passeur")).to_be_attached()
    boxes = [await each.bounding_box() for each in await head.locator("select:visible, button:visible").all()]
    assert len(boxes) == 5
    assert max(box["y"] for box in boxes) < min(box["y"] + box["height"] for box in boxes)
    assert all(box["x"] >= 0 and box["x"] + box["width"] <= PHONE["width"] for box in boxes)


async def test_a_wrong_password_is_told_and_signing_out_shows_nothing_more(stage: Stage):
    await staff_member(stage.services, "ana", name="Ana Ortiz")
    await handed_over(stage)
    visitor = await stage.visitor(language="en-GB")
    page = await visitor.context.new_page()
    await page.goto(f"{stage.url}/inbox")
    await page.get_by_label("Login").fill("ana")
    await page.get_by_label("Password").fill("wrong")
    await page.get_by_label("Password").press("Enter")
    await expect(page.get_by_role("alert")).to_have_text("Login or password is wrong.")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_label("Password").press("Enter")
    await expect(page.get_by_role("link")).to_have_count(1)
    await page.get_by_role("button", name="Sign out").click()
    await expect(page.get_by_label("Password")).to_be_visible()
    await page.reload()
    await expect(page.get_by_label("Password")).to_be_visible()
    await expect(page.get_by_role("link")).to_have_count(0)
