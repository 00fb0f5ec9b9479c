"""The main walk of a visitor: ask, watch, read the source, stop, try again."""

import asyncio
import json
import re
from dataclasses import replace

import pytest
from playwright.async_api import expect

from gateway.assistant.contract import Delta, Step
from tests.e2e.conftest import Stage, ask, said
from tests.fakes.assistant import Pause, answering
from tests.fakes.gateway import ANSWER, CITATIONS

pytestmark = [pytest.mark.service("chromium"), pytest.mark.asyncio(loop_scope="session")]


async def test_a_question_gets_a_streamed_answer_whose_sources_open(stage: Stage):
    """The main job, end to end (spec: the page streams, shows steps, and citations open the passage)."""
    stage.assistant.script = lambda _: [Step("retrieve"), Pause(), *answering(ANSWER, citations=CITATIONS)]
    page = await (await stage.visitor()).tab()
    await ask(page, "Que fait Passeur ?")
    await expect(page.locator("passeur-progress")).to_have_text("Recherche dans les documents…")
    await expect(page.locator('passeur-message[data-role="user"]')).to_contain_text("Que fait Passeur ?")
    await expect(page).to_have_url(re.compile(r"\?c=[0-9a-f-]{36}$"))
    stage.assistant.release()

    answer = said(page)
    await expect(answer).to_contain_text("cite ses sources")
    await expect(answer.locator("strong")).to_have_text("vos documents")
    await expect(page.locator("passeur-progress")).to_be_hidden()
    await expect(answer.locator(".facts")).to_contain_text("cité des documents")

    source = answer.get_by_role("button", name="Source 1 Ce que fait Passeur").last
    await source.click()
    panel = page.get_by_role("dialog", name="Ce que fait Passeur")
    await expect(panel.locator("mark")).to_have_text("cite ses sources")
    await expect(panel.get_by_role("heading", name="Ce que fait Passeur")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(panel).to_be_hidden()
    await expect(source).to_be_focused()


PASSAGE = """To begin, run `make run`, once.
```
make run
# then

``x`` and `y`
```
``a`b`` is left.

Last words."""


async def test_code_of_a_passage_is_shown_as_code_with_the_quote_marked_through_it(stage: Stage):
    """Ours: marks of code reach the page as in the index (decision 0028); a quote kept before has none."""
    cited = replace(CITATIONS[0], position=12)
    stage.assistant.script = lambda _: answering("```\nmake\n```\n\nUse `make`.", citations=[cited])
    page = await (await stage.visitor()).tab()
    passage = {"id": "x", "title": "T", "url": None, "heading": "", "text": PASSAGE, "language": "en", "service": ""}
    body = {**passage, "quote": "To begin, run make run, once."}
    await page.route("**/citations/*", lambda route: route.fulfill(json=body))
    await ask(page, "?")
    await expect(said(page).locator("pre code")).to_have_text("make")
    await expect(said(page).locator("p code")).to_have_text("make")
    await said(page).locator(".source").click()
    text = page.locator(".passage-text")
    await expect(text.locator("p")).to_have_text(["To begin, run make run, once.", "a`b is left.", "Last words."])
    await expect(text.locator("p code")).to_have_text(["make run", "a`b"])
    assert await text.locator("pre code").text_content() == "make run\n# then\n\n``x`` and `y`"
    await expect(text.locator("mark")).to_have_text(["To begin, run ", "make run", ", once."])


async def test_what_is_streamed_looks_as_it_will_when_finished(stage: Stage):
    stage.assistant.script = lambda _: [Step("generate"), Delta(0, "**Deux**\n\n- un\n- `dé"), Pause(), Delta(0, "Fin")]
    page = await (await stage.visitor()).tab()
    await ask(page, "?")
    body = page.locator('[data-state="streaming"] .message-body')
    await expect(body.locator("strong")).to_have_text("Deux")
    await expect(body.locator("li")).to_have_text(["un", "`dé"])
    stage.assistant.release()
    await expect(body).to_have_text("Fin")  # a delta replaces from its start


async def test_stopping_keeps_what_was_said_and_says_so(stage: Stage):
    stage.assistant.script = lambda _: [Step("generate"), Delta(0, "Le début de la réponse"), Pause()]
    page = await (await stage.visitor()).tab()
    await ask(page, "Une longue histoire")
    await expect(page.locator('[data-state="streaming"]')).to_contain_text("Le début de la réponse")
    await ask(page, "Et ensuite ?")
    await expect(page.locator("passeur-composer")).to_contain_text("attendez-la ou arrêtez-la")
    await expect(page.locator("#composer-field")).to_have_value("Et ensuite ?")
    await page.get_by_role("button", name="Arrêter la réponse").click()
    await expect(page.locator("passeur-composer")).not_to_contain_text("attendez-la")
    await expect(page.locator("#composer-field")).to_have_value("Et ensuite ?")
    await expect(said(page)).to_contain_text("Le début de la réponse")
    await expect(said(page).locator(".message-end")).to_be_visible()
    await expect(page.get_by_role("button", name="Envoyer")).to_be_visible()
    await expect(page.locator("#composer-field")).to_be_focused()


async def test_a_failed_turn_can_be_asked_again(stage: Stage):
    page = await (await stage.visitor()).tab()
    await ask(page, "panne")
    await expect(said(page)).to_contain_text("réessayez")
    stage.assistant.script = lambda _: answering("Me revoici.")
    await page.get_by_role("button", name="Réessayer").click()
    await expect(said(page).last).to_contain_text("Me revoici.")
    assert [question.text for question in stage.assistant.questions] == ["panne", "panne"]


async def test_after_two_rephrasings_a_person_is_offered_and_their_absence_is_told(stage: Stage):
    """Issue 2: rephrase twice, then suggest a person; an endpoint that is not there is not glossed over."""
    page = await (await stage.visitor(language="en-GB")).tab()
    for count, kind in enumerate(("rephrase", "rephrase", "suggest_human"), start=1):
        await ask(page, f"rien {count}")
        await expect(said(page)).to_have_count(count)
        await expect(said(page).last).to_have_attribute("data-kind", kind)
    await page.route("**/escalate", lambda route: route.fulfill(status=501, json={"type": "unimplemented"}))
    await page.locator(".human-button").click()
    await expect(page.locator(".notice")).to_contain_text("not set up on this server yet. Nothing was sent.")
    await expect(page.locator(".human-button")).to_be_enabled()


async def test_a_message_that_could_not_be_sent_loses_no_text_even_by_a_reload(stage: Stage):
    page = await (await stage.visitor(language="es")).tab()
    refuse = {"type": "urn:passeur:problem:rate-limited", "status": 429}
    await page.route("**/messages", lambda route: route.fulfill(status=429, json=refuse, headers={"Retry-After": "40"}))
    await ask(page, "Texto largo y valioso")
    unsent = page.locator('[data-state="unsent"]')
    await expect(unsent).to_contain_text("Demasiados mensajes en poco tiempo. Será posible de nuevo en 40 segundos.")
    await page.unroute("**/messages")
    await page.reload()
    await expect(unsent).to_contain_text("Texto largo y valioso")
    await unsent.get_by_role("button", name="Reintentar").click()
    await expect(said(page)).to_contain_text("vos documents")
    await expect(page.locator('passeur-message[data-role="user"]')).to_have_count(1)
    assert [question.text for question in stage.assistant.questions] == ["Texto largo y valioso"]


async def test_a_lost_response_is_retried_under_the_same_key_and_asks_once(stage: Stage):
    """P5 seen from the browser: the request arrived, its answer did not."""
    page = await (await stage.visitor()).tab()

    async def lose(route):
        await route.fetch()  # the gateway has it
        await route.abort("connectionreset")

    await page.route("**/messages", lose, times=1)
    await ask(page, "Une seule fois")
    retry = page.locator('[data-state="unsent"]').get_by_role("button", name="Réessayer")
    await retry.click()
    await expect(said(page)).to_have_count(1)
    await expect(page.locator('passeur-message[data-role="user"]')).to_have_count(1)
    assert len(stage.assistant.questions) == 1


async def test_offline_is_told_and_the_draft_outlives_the_tab(stage: Stage):
    visitor = await stage.visitor()
    page = await visitor.tab()
    await visitor.context.set_offline(True)
    await expect(page.locator(".notice")).to_contain_text("Vous êtes hors ligne")
    await page.locator("#composer-field").fill("brouillon")
    await visitor.context.set_offline(False)
    await expect(page.locator(".notice")).not_to_contain_text("hors ligne")
    await page.close()
    assert await (await visitor.tab()).locator("#composer-field").input_value() == "brouillon"


async def test_enter_sends_but_not_while_a_word_is_being_composed(stage: Stage):
    page = await (await stage.visitor()).tab()
    field = page.locator("#composer-field")
    await field.fill("日本")
    await field.dispatch_event("keydown", {"key": "Enter", "isComposing": True, "bubbles": True, "cancelable": True})
    await field.press("Shift+Enter")
    await field.press_sequentially("語")
    assert await field.input_value() == "日本\n語"
    await field.press("Enter")
    await expect(said(page)).to_have_count(1)
    assert [question.text for question in stage.assistant.questions] == ["日本\n語"]


async def test_the_count_is_in_characters_and_too_many_cannot_be_sent(stage: Stage):
    page = await (await stage.visitor(language="en-GB")).tab()
    await page.locator("#composer-field").fill("🛶" * 19_999)
    await expect(page.locator("#composer-count")).to_have_text("1 characters left")
    await page.locator("#composer-field").fill("🛶" * 20_001)
    await expect(page.locator("#composer-count")).to_have_text("1 characters too many")
    await expect(page.get_by_role("button", name="Send")).to_be_disabled()


async def test_conversations_are_listed_opened_and_deleted(stage: Stage):
    page = await (await stage.visitor(language="en-GB")).tab()
    await ask(page, "First question")
    await expect(said(page)).to_have_count(1)
    await page.get_by_role("button", name="New conversation").click()
    await expect(page.get_by_role("heading", name="What would you like to know?")).to_be_visible()
    await ask(page, "Second question")
    await expect(said(page)).to_have_count(1)
    links = page.get_by_role("navigation", name="Conversations").get_by_role("link")
    await expect(links).to_have_count(2)
    await links.filter(has_text="First question").click()
    await expect(page.locator('passeur-message[data-role="user"]')).to_have_text(re.compile("First question"))
    await page.go_back()
    await expect(page.locator('passeur-message[data-role="user"]')).to_have_text(re.compile("Second question"))
    await page.get_by_role("button", name="Delete “Second question”").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(links).to_have_count(1)
    await expect(page.get_by_role("heading", name="What would you like to know?")).to_be_visible()


async def test_the_list_of_conversations_fills_while_events_come_without_a_pause(stage: Stage):
    """It waited for a pause of 800 ms, and stayed empty where none came."""
    visitor = await stage.visitor(language="en-GB")
    page = await visitor.tab()
    await expect(page.get_by_role("button", name="Notices")).to_be_visible()  # so it has a session
    (kept,) = (await visitor.context.storage_state())["origins"][0]["localStorage"]
    headers = {"Authorization": f"Bearer {json.loads(kept['value'])['token']}"}
    api = f"{stage.url}/v1/conversations"
    stage.assistant.script = lambda _: answering("Yes.")
    made = await (await visitor.context.request.post(api, data={"title": ""}, headers=headers)).json()

    async def chatter():
        while True:
            await visitor.context.request.post(f"{api}/{made['id']}/messages", data={"text": "Well?"}, headers=headers)

    talking = asyncio.create_task(chatter())
    try:
        links = page.get_by_role("navigation", name="Conversations").get_by_role("link")
        await expect(links).to_have_count(1, timeout=20_000)
        assert not talking.done()
    finally:
        talking.cancel()


async def test_the_answer_can_be_copied(stage: Stage):
    stage.assistant.script = lambda _: answering("À garder.")
    page = await (await stage.visitor()).tab()
    await ask(page, "Que fait Passeur ?")
    await said(page).get_by_role("button", name="Copier").click()
    await expect(said(page).locator(".copy-button")).to_have_text("Copié")


async def test_files_go_with_the_message_and_come_back_when_asked_for(stage: Stage):
    """Issue 7: documents become context; here that the page sends, shows and saves them."""
    page = await (await stage.visitor(language="en-GB")).tab()
    async with page.expect_file_chooser() as chooser:
        await page.get_by_role("button", name="Attach a file").click()
    table = {"name": "prix.csv", "mimeType": "text/csv", "buffer": b"article;prix\nbarque;12\n"}
    odd = {"name": "odd.bin", "mimeType": "application/x-odd", "buffer": b"\x00"}
    await (await chooser.value).set_files([table, odd])
    attached = page.locator("passeur-attachments li")
    await expect(attached.filter(has_text="odd.bin")).to_contain_text("cannot be read here. Pictures")
    await page.get_by_role("button", name="Remove odd.bin").click()
    await expect(attached).to_have_count(1)
    await expect(attached.locator(".attached-state")).to_have_count(0)
    await ask(page, "Combien coûte la barque ?")
    await expect(said(page)).to_have_count(1)
    await expect(attached).to_have_count(0)
    async with page.expect_download() as download:
        await said(page, "user").get_by_role("button", name="prix.csv").click()
    assert (await download.value).suggested_filename == "prix.csv"


async def test_a_question_back_is_answered_by_a_button(stage: Stage):
    """DESIGN section 4: what a clarification offers is a reply like any other."""
    page = await (await stage.visitor()).tab()

    async def offer(route):
        answer = await (await route.fetch()).json()
        answer["messages"][-1]["choices"] = [{"label": "Jellyfin", "reply": "1"}, {"label": "Nextcloud", "reply": "2"}]
        await route.fulfill(json=answer)

    await ask(page, "cherche vacances")
    await expect(said(page)).to_have_count(1)
    await page.route("**/messages", offer, times=1)
    await page.reload()
    await page.get_by_role("button", name="Nextcloud").click()
    await expect(said(page)).to_have_count(2)
    assert stage.assistant.questions[-1].text == "2"
    await expect(page.get_by_role("button", name="Nextcloud")).to_be_hidden()
