"""Asking for a person at any time, and what both sides are told about it afterwards (issue 7)."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import Page, Route, expect

from gateway.storage.tickets import TicketFilter
from tests.e2e.conftest import AXE, PHONE, Stage, ask, said
from tests.e2e.test_everyone import findings
from tests.e2e.test_inbox import inbox
from tests.fakes.gateway import staff_member

pytestmark = [pytest.mark.service("chromium"), pytest.mark.asyncio(loop_scope="session")]

WORDS = {
    "fr": ("Parler à une personne", "Oui, transmettre", "Écrivez à l’équipe…", "Posez une question…"),
    "en": ("Talk to a person", "Yes, pass it on", "Write to the team…", "Ask a question…"),
    "es": ("Hablar con una persona", "Sí, pasarla", "Escriba al equipo…", "Haga una pregunta…"),
}


async def pass_on(page: Page, language: str = "fr") -> None:
    """Ask for a person by the button that is always there."""
    human, yes, *_ = WORDS[language]
    await page.get_by_role("button", name=human).click()
    await page.get_by_role("button", name=yes).click()


@pytest.mark.parametrize(("language", "size"), [("fr", None), ("en", PHONE), ("es", None)])
async def test_a_person_can_be_asked_for_before_anything_is_said(stage: Stage, language, size):
    human, yes, team, question = WORDS[language]
    visitor = await stage.visitor(language=language, size=size, bypass_csp=True)
    await visitor.context.add_init_script(path=AXE)
    page = await visitor.tab()
    field = page.locator("#composer-field")
    await expect(field).to_have_attribute("placeholder", question)
    await page.get_by_role("button", name=human).click()
    assert await findings(page) == []
    await expect(page.get_by_role("button", name=yes)).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("button", name=human)).to_be_focused()
    await pass_on(page, language)
    await expect(field).to_have_attribute("placeholder", team)
    await expect(field).to_be_focused()
    await expect(page.get_by_role("button", name=human)).to_be_hidden()
    await expect(page.locator('[data-role="system"]')).to_have_count(1)
    assert await findings(page) == []
    await ask(page, "…")
    await expect(page.locator('[data-role="user"][data-state="whole"]')).to_have_count(1)
    assert stage.assistant.questions == []


async def test_a_running_answer_is_silent_once_a_person_is_asked_for(stage: Stage):
    page = await (await stage.visitor()).tab()
    await ask(page, "lent")
    await expect(page.locator('[data-state="streaming"]')).to_have_count(1)
    await pass_on(page)
    await expect(page.locator('[data-role="system"]')).to_have_count(1)
    await expect(page.locator('[data-state="streaming"]')).to_have_count(0)
    await page.reload()
    await expect(page.locator('[data-role="system"]')).to_have_count(1)
    await expect(said(page)).to_have_count(0)


async def test_each_side_reads_its_own_wording_and_is_told_by_the_bell(stage: Stage):
    await staff_member(stage.services, "ana", name="Ana Ortiz")
    await staff_member(stage.services, "ben", name="Ben Okri")
    visitor = await stage.visitor()
    page = await visitor.tab()
    await ask(page, "Que fait Passeur ?")
    await expect(said(page)).to_have_count(1)
    await pass_on(page)
    await expect(page.locator('[data-role="system"]')).to_contain_text("Votre conversation a été transmise")

    ana, ben = await inbox(stage, "ana"), await inbox(stage, "ben")
    await ana.get_by_role("navigation", name="Tickets").get_by_role("link").click()
    system = ana.locator('[data-role="system"]')
    await expect(system).to_contain_text("The visitor asked for a person.")
    await ana.get_by_label("Looked after by").select_option(label="Ben Okri")
    await expect(system.last).to_contain_text("Ben Okri looks after this ticket.")
    await expect(page.locator('[data-role="system"]').last).to_contain_text("Ben Okri, de l’équipe")

    bell = ben.get_by_role("button", name="Notices, 1 unread notice")
    await bell.click()
    await ben.get_by_role("button", name="Ana Ortiz has given you a ticket").click()
    await expect(ben.get_by_role("heading", level=2, name="Que fait Passeur ?")).to_be_visible()
    await expect(ben.get_by_role("button", name="Notices", exact=True)).to_be_visible()

    await page.get_by_role("button", name="Nouvelle conversation").first.click()
    await ben.get_by_role("textbox", name="Your reply").fill("Bonjour !")
    await ben.keyboard.press("Enter")
    await page.get_by_role("button", name="Avis, 1 avis non lu").click()
    await page.get_by_role("button", name="Ben Okri, de l’équipe, vous a répondu").click()
    await expect(said(page, "admin")).to_contain_text("Bonjour !")
    await expect(page.get_by_role("button", name="Avis", exact=True)).to_be_visible()
    before = await page.locator(".notices-panel li").count()
    await ben.get_by_role("button", name="Resolve", exact=True).click()
    await expect(page.locator('[data-role="system"]').last).to_contain_text("marqué cette demande comme résolue")
    await expect(page.locator(".notices-panel li")).to_have_count(before + 1)
    await expect(page.get_by_role("button", name="Avis", exact=True)).to_be_visible()  # it was seen happening


async def test_what_happens_while_a_page_is_still_opening_its_stream_is_not_missed(stage: Stage):
    await staff_member(stage.services, "ana", name="Ana Ortiz")
    await staff_member(stage.services, "ben", name="Ben Okri")
    page = await (await stage.visitor()).tab()
    await ask(page, "Que fait Passeur ?")
    await expect(said(page)).to_have_count(1)
    await pass_on(page)
    ana, ben = await inbox(stage, "ana"), await inbox(stage, "ben")
    await ana.get_by_role("navigation", name="Tickets").get_by_role("link").click()
    opens = asyncio.Event()

    async def hold(route: Route) -> None:
        await opens.wait()
        await route.continue_()

    await ben.route("**/events?*", hold)
    await ben.reload()
    await expect(ben.get_by_role("navigation", name="Tickets").get_by_role("link")).to_be_visible()
    await ana.get_by_label("Looked after by").select_option(label="Ben Okri")
    await expect(ana.locator('[data-role="system"]').last).to_contain_text("Ben Okri looks after this ticket.")
    opens.set()
    await expect(ben.get_by_role("button", name="Notices, 1 unread notice")).to_be_visible()


async def test_all_notices_are_marked_read_at_once(stage: Stage):
    ana = await staff_member(stage.services, "ana", name="Ana Ortiz")
    page = await (await stage.visitor()).tab()
    await ask(page, "Que fait Passeur ?")
    await expect(said(page)).to_have_count(1)
    await pass_on(page)
    await expect(page.locator('[data-role="system"]')).to_have_count(1)
    await page.get_by_role("button", name="Nouvelle conversation").first.click()
    async with stage.services.store.transaction() as tx:
        (sight,) = await tx.tickets.page("demo", TicketFilter(), "", 10)
    ticket = sight.ticket
    await stage.services.support.tickets.reply(ana, ticket.id, "Bonjour !")
    await stage.services.support.tickets.resolve(ana, ticket.id)
    await page.get_by_role("button", name="Avis, 2 avis non lus").click()
    await page.get_by_role("button", name="Tout marquer comme lu").click()
    await expect(page.get_by_role("button", name="Avis", exact=True)).to_be_visible()
    await expect(page.locator(".notices-panel [data-new]")).to_have_count(0)
