"""For every reader: three languages, keyboard only, a phone, another light, a screen reader."""

import re

import pytest
from playwright.async_api import Page, expect

from gateway.assistant.contract import Delta, Step
from tests.e2e.conftest import AXE, PHONE, Stage, ask, said
from tests.fakes.assistant import Pause, answering

pytestmark = [pytest.mark.service("chromium"), pytest.mark.asyncio(loop_scope="session")]

SERIOUS = {"serious", "critical"}


async def findings(page: Page) -> list[str]:
    """What axe-core finds serious in the page as it stands."""
    result = await page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{found['id']}: {found['help']}: {node['html']}"
        for found in result["violations"]
        if found["impact"] in SERIOUS
        for node in found["nodes"]
    ]


@pytest.mark.parametrize(("light", "size"), [("light", None), ("dark", PHONE)])
async def test_axe_finds_nothing_serious_from_welcome_to_passage(stage: Stage, light, size):
    visitor = await stage.visitor(size=size, color_scheme=light, bypass_csp=True)
    await visitor.context.add_init_script(path=AXE)
    page = await visitor.tab()
    assert await findings(page) == []
    await ask(page, "Que fait Passeur ?")
    await expect(said(page)).to_have_count(1)
    for count in range(2, 5):
        await ask(page, "rien")
        await expect(said(page)).to_have_count(count)
    assert await findings(page) == []
    await said(page).first.locator(".source").first.click()
    await expect(page.get_by_role("dialog").locator("mark")).to_be_visible()
    assert await findings(page) == []


async def test_the_language_changes_everything_the_server_wrote_too(stage: Stage):
    page = await (await stage.visitor(language="es-ES")).tab()
    await expect(page.get_by_role("heading", name="¿Qué desea saber?")).to_be_visible()
    await ask(page, "rien")
    await expect(said(page)).to_contain_text("otra")
    spanish = await said(page).locator(".message-body").text_content()
    await page.get_by_role("combobox", name="Idioma").select_option("en")
    await expect(said(page)).to_contain_text("put it another way")
    await expect(page.locator("html")).to_have_attribute("lang", "en")
    await expect(page.locator("#composer-field")).to_have_attribute("placeholder", "Ask a question…")
    await page.reload()
    await expect(said(page)).to_contain_text("put it another way")
    assert spanish


async def test_the_three_languages_say_the_same_things(stage: Stage):
    page = await (await stage.visitor(bypass_csp=True)).tab()
    shapes = await page.evaluate(
        """async () => {
            const { TEXTS } = await import("/static/words/index.js");
            const shape = (value) => typeof value === "object"
                ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shape(inner)]))
                : typeof value === "function" ? value.length : Boolean(value);
            return Object.values(TEXTS).map(shape);
        }"""
    )
    assert shapes[0] == shapes[1] == shapes[2]


async def test_the_keyboard_alone_reaches_everything(stage: Stage):
    page = await (await stage.visitor(language="en-GB")).tab()
    await ask(page, "Que fait Passeur ?")
    await expect(said(page)).to_have_count(1)
    await page.reload()
    await expect(said(page)).to_have_count(1)
    seen = []
    for _ in range(40):
        await page.keyboard.press("Tab")
        focused = page.locator(":focus")
        if await focused.count() == 0:
            continue  # past the last one the browser's own controls have it, then it comes round
        seen.append(
            await focused.get_attribute("aria-label")
            or await focused.get_attribute("class")
            or await focused.text_content()
        )
    text = " | ".join(str(each) for each in seen)
    for expected in ("Source 1 Ce que fait Passeur", "Language", "Appearance", "Messages", "copy-button"):
        assert expected in text, f"{expected} not reached: {text}"

    await page.locator(".skip").focus()
    await page.keyboard.press("Enter")
    await expect(page.locator("#composer-field")).to_be_focused()
    await said(page).locator(".source").first.focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("dialog")).to_be_visible()
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("dialog").get_by_role("button", name="Close")).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(said(page).locator(".source").first).to_be_focused()


async def test_a_phone_never_scrolls_sideways_and_the_list_is_a_drawer(stage: Stage):
    long_word = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 3
    table = "| a | b |\n|---|---|\n| " + "mot " * 40 + "| " + "autre " * 40 + "|"
    stage.assistant.script = lambda _: answering(f"{long_word}\n\n```\n{long_word}\n```\n\n{table}")
    page = await (await stage.visitor(size=PHONE, has_touch=True)).tab()
    await ask(page, f"https://example.org/{long_word}")
    await expect(said(page)).to_have_count(1)
    for selector in ("html", ".pane", ".dialogue-main"):
        box = page.locator(selector).first
        assert await box.evaluate("(element) => element.scrollWidth <= element.clientWidth"), selector
    nav = page.get_by_role("navigation", name="Conversations")
    await expect(nav).to_be_hidden()
    await page.get_by_role("button", name="Afficher les conversations").click()
    await expect(nav.get_by_role("link")).to_have_count(1)
    await expect(page.locator(".page-main")).to_have_attribute("inert", "")
    await page.keyboard.press("Escape")
    await expect(nav).to_be_hidden()
    await expect(page.get_by_role("button", name="Afficher les conversations")).to_be_focused()


async def test_finished_answers_are_announced_once_and_not_word_by_word(stage: Stage):
    stage.assistant.script = lambda _: [Step("generate"), Delta(0, "En cours"), Pause(), *answering("Tout est dit.")]
    page = await (await stage.visitor()).tab()
    await ask(page, "?")
    await expect(page.locator('[data-state="streaming"]')).to_contain_text("En cours")
    live = page.locator("passeur-transcript > [aria-live]")
    await expect(live).to_be_empty()
    assert await page.locator(".messages").get_attribute("aria-busy") == "true"
    stage.assistant.release()
    await expect(live).to_have_text(re.compile("Réponse.*: Tout est dit."))
    await expect(page.locator(".messages")).to_have_attribute("aria-busy", "false")


async def test_the_status_page_says_in_words_what_readyz_says(stage: Stage):
    visitor = await stage.visitor(language="en-GB", bypass_csp=True)
    await visitor.context.add_init_script(path=AXE)
    page = await visitor.context.new_page()
    await page.goto(f"{stage.url}/status")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Everything works")
    assert await findings(page) == []
    stage.assistant.down = True
    await expect(page.get_by_role("heading", level=1)).to_have_text("Works, with limits")
    await expect(page.locator(".reasons")).to_contain_text("does not answer")
    assert await findings(page) == []


async def test_the_light_is_chosen_and_kept(stage: Stage):
    page = await (await stage.visitor(language="en-GB", color_scheme="light")).tab()
    paper = "(element) => getComputedStyle(element).backgroundColor"
    light = await page.locator("body").evaluate(paper)
    for name in ("Appearance: As the system", "Appearance: Light"):
        await page.get_by_role("button", name=name).click()
    await expect(page.get_by_role("button", name="Appearance: Dark")).to_be_visible()
    dark = await page.locator("body").evaluate(paper)
    await page.reload()
    assert await page.locator("body").evaluate(paper) == dark != light


async def test_the_bare_view_shows_only_the_conversation(stage: Stage):
    page = await (await stage.visitor(language="en-GB")).tab("?view=light")
    await expect(page.locator(".page-head")).to_be_hidden()
    await expect(page.get_by_role("navigation")).to_be_hidden()
    await ask(page, "Bonjour")
    await expect(said(page)).to_have_count(1)


async def test_scrolling_up_stays_and_a_button_leads_back(stage: Stage):
    stage.assistant.script = lambda _: [
        Step("generate"), Delta(0, "ligne\n\n" * 60), Pause(), *answering("ligne\n\n" * 90 + "fin")
    ]  # fmt: skip
    page = await (await stage.visitor(language="en-GB")).tab()
    await ask(page, "long")
    await expect(page.locator('[data-state="streaming"] p')).to_have_count(60)
    pane = page.locator(".pane")
    await pane.evaluate("(element) => { element.scrollTop = 0; }")
    below = page.locator(".below")
    await expect(below).to_be_visible()
    stage.assistant.release()
    await expect(said(page)).to_contain_text("fin")
    assert await pane.evaluate("(element) => element.scrollTop") == 0
    await expect(below).to_have_attribute("aria-label", "New message below")
    await below.click()
    await expect(below).to_be_hidden()
    await expect(said(page).locator("p").last).to_be_in_viewport()
