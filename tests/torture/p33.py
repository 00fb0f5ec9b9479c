"""P33: whatever a model writes stays text in a real browser: nothing of it runs, loads, or leaves."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

from tests.e2e.test_hostile_text import ATTACKS, EVIL, FORBIDDEN
from tests.fakes.assistant import ScriptedAssistant, answering
from tests.torture import workload
from tests.torture.browser import ABSENT, browsing, is_there
from tests.torture.figure import Figure, span
from tests.torture.gateway_rig import Rig, rig

if TYPE_CHECKING:
    from playwright.async_api import Page

PROMISE = "hostile Markdown and HTML, mixed anew, shown while it streams and when whole: no script, no request, no form"
FULL = 10_000
SHORT = 40
BATCH = 40
WAIT_MS = 30_000
SEAMS = ("", " ", "\n", "\n\n", "`", "```\n", "> ", "- ", "| ", "\0", "&#60;", "\\", "<!--", "]]>", "\u2028", '"', "'>")
"""What is put between pieces: each may end a context that the next piece was safe in."""
STATE = f"""() => ({{
    active: document.querySelectorAll(`passeur-message .message-body {FORBIDDEN}`).length,
    links: [...document.querySelectorAll("passeur-message .message-body a[href]")].filter((link) =>
        !/^(https?|mailto):/.test(link.href) || !link.rel.includes("noreferrer")).length,
    title: document.title,
    handlers: [...document.querySelectorAll("passeur-message .message-body *")].filter((element) =>
        [...element.attributes].some((attribute) => attribute.name.startsWith("on"))).length,
}})"""


async def run(n: int, seed: int) -> Figure:
    """Show `n` hostile texts, some in each answer."""
    if not is_there():
        return Figure(0, span(seed, 1), skipped=ABSENT)
    workload.quiet()
    dice = random.Random(seed)
    hits: Counter[str] = Counter()
    failures: list[str] = []
    assistant = ScriptedAssistant()
    async with rig(assistant) as gateway, browsing() as browser:
        context = await browser.new_context(locale="fr", reduced_motion="reduce")
        context.set_default_timeout(WAIT_MS)
        own = (f"http://127.0.0.1:{gateway.port}/", "data:", "blob:", "about:")
        context.on(
            "request",
            lambda sent: None if sent.url.startswith(own) else failures.append(f"seed {seed}: asked {sent.url}"),
        )
        context.on("weberror", lambda error: failures.append(f"seed {seed}: uncaught {error.error}"))
        context.on("dialog", lambda dialog: failures.append(f"seed {seed}: a dialog: {dialog.message}"))
        page = await context.new_page()
        for batch in range(-(-n // BATCH)):
            texts = [hostile(dice) for _ in range(min(BATCH, n - batch * BATCH))]
            failures += [f"seed {seed}, batch {batch}: {each}" for each in await show(gateway, page, texts, hits)]
        await context.close()
    return Figure(n, span(seed, 1), failures, dict(hits))


def hostile(dice: random.Random) -> str:
    """Mix pieces of attacks, some cut in two, with seams between them."""
    pieces: list[str] = []
    for _ in range(dice.randrange(1, 4)):
        piece = dice.choice(ATTACKS)
        if dice.random() < 0.3:
            place = dice.randrange(len(piece))
            piece = piece[:place] + dice.choice(SEAMS) + piece[place:]
        if dice.random() < 0.1:
            piece = piece.replace("<", dice.choice(("<<", "< ", "<\t", "\\<", "&lt;", "＜"))).replace(
                EVIL, EVIL.upper()
            )
        pieces += [piece, dice.choice(SEAMS)]
    return "".join(pieces).replace("\0", "\ufffd")


async def show(gateway: Rig, page: Page, texts: list[str], hits: Counter[str]) -> list[str]:
    """Let the page ask, and look at it while the answer streams, when it is whole, and after a reload."""
    end = "\n\n```\n```\n\nfin-de-tout"
    assert isinstance(gateway.assistant, ScriptedAssistant)
    gateway.assistant.script = lambda _: answering("\n\n".join(texts) + end, pace_s=0.002, words=12)
    await page.goto(f"http://127.0.0.1:{gateway.port}/chat")
    await page.locator("#composer-field").fill("?")
    await page.locator("#composer-field").press("Enter")
    await page.locator('passeur-message[data-role="ai"]').first.wait_for()
    faults = judge(await page.evaluate(STATE), "while streaming")
    whole = page.locator('passeur-message[data-role="ai"][data-state="whole"]')
    await whole.filter(has_text="fin-de-tout").wait_for()
    faults += judge(await page.evaluate(STATE), "when whole")
    await page.reload()
    await whole.filter(has_text="fin-de-tout").wait_for()
    faults += judge(await page.evaluate(STATE), "after a reload")
    hits["pages looked at"] += 3
    return [f"{fault}: {texts!r}"[:2_000] for fault in faults]


def judge(state: dict[str, object], when: str) -> list[str]:
    """Hold a page against what it must be."""
    expected = {"active": 0, "links": 0, "title": "Passeur", "handlers": 0}
    return [] if state == expected else [f"{when} {state}"]
