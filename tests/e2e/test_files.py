"""Files from the page to the answer, over both real processes: uploaded, read, answered from, seen by the staff."""

from __future__ import annotations

import io
import json
from pathlib import Path

import docx
import pytest
import pytest_asyncio
from PIL import Image
from playwright.async_api import Browser, Page, expect

from tests.e2e.conftest import WAIT_MS, ask, said
from tests.e2e.installation import installed, with_mistral
from tests.simulator.server import Simulator

pytestmark = [pytest.mark.service("chromium"), pytest.mark.asyncio(loop_scope="session")]

LEASE = ("Le loyer est de 640 euros par mois.", "Le dépôt de garantie est de deux mois de loyer.")
PRICES = "article;prix\nbouilloire;24 euros\nlampe de bureau;31 euros\n"
LETTER = ("Chère cliente,", "Votre remboursement de la bouilloire arrivera sous neuf jours ouvrés.")
NOTE = "La réunion des bénévoles a lieu le mardi 14 à la mairie.\n"


def pdf(lines: tuple[str, ...]) -> bytes:
    """A one-page PDF, written by hand (ISO 32000-1 §7.5)."""
    text = b" T* ".join(b"(" + line.encode("cp1252") + b") Tj" for line in lines)
    stream = b"BT /F1 12 Tf 14 TL 40 780 Td " + text + b" ET"
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources 6 0 R >>",
        b"<< /Length %d >>\nstream\n%b\nendstream" % (len(stream), stream),
        font,
        b"<< /Font << /F1 5 0 R >> >>",
    ]
    out, offsets = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    return bytes(out + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start))


def word(lines: tuple[str, ...]) -> bytes:
    """A Word document of paragraphs."""
    document, out = docx.Document(), io.BytesIO()
    for line in lines:
        document.add_paragraph(line)
    document.save(out)
    return out.getvalue()


def picture() -> bytes:
    """A small picture."""
    out = io.BytesIO()
    Image.new("RGB", (64, 48), (200, 40, 40)).save(out, "PNG")
    return out.getvalue()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def simulator():
    running = Simulator()
    await running.start()
    yield running
    await running.stop()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def house(tmp_path_factory, simulator, prepared):
    """The demo project as it ships, with a second assistant that a simulated model writes for."""
    settings = with_mistral(simulator.url)
    added = """
[assistants.vision]
mode = "documents"
providers = [{ provider = "mistral", model = "mistral-small-2603" }]
"""
    folder = tmp_path_factory.mktemp("files")
    async with installed(
        folder, prepared, settings, lambda text: text.replace("[embedding]", f"{added}\n[embedding]")
    ) as both:
        installation, http = both
        told = await installation.command("gateway", "staff", "add", "ana", "--name", "Ana Ortiz")
        password = next(line.split()[-1] for line in told.splitlines() if line.startswith("password:"))
        yield installation, http, password


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser, house):
    expect.set_options(timeout=WAIT_MS)
    context = await browser.new_context(locale="fr", reduced_motion="reduce")
    context.set_default_timeout(WAIT_MS)
    opened = await context.new_page()
    await opened.goto(f"{house[0].url}/chat")
    await expect(opened.locator("#composer-field")).to_be_visible()
    yield opened
    await context.close()


async def attach(page: Page, name: str, media_type: str, data: bytes) -> None:
    """Choose a file as a visitor does and wait until it is there."""
    async with page.expect_file_chooser() as chosen:
        await page.get_by_role("button", name="Joindre un fichier").click()
    await (await chosen.value).set_files({"name": name, "mimeType": media_type, "buffer": data})
    item = page.locator("passeur-attachments li").filter(has_text=name)
    await expect(item).to_be_visible()
    await expect(item.locator(".attached-state")).to_have_count(0)


DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
FILES = [
    ("bail.pdf", "application/pdf", pdf(LEASE), "Quel est le dépôt de garantie ?", "deux mois de loyer"),
    ("prix.csv", "text/csv", PRICES.encode("cp1252"), "Quel est le prix de la lampe de bureau ?", "31 euros"),
    ("lettre.docx", DOCX, word(LETTER), "Quand arrivera le remboursement de la bouilloire ?", "neuf jours ouvrés"),
    ("note", "text/plain", NOTE.encode("utf-8-sig"), "Quand a lieu la réunion des bénévoles ?", "mardi 14"),
]


@pytest.mark.parametrize(("name", "media_type", "data", "question", "answer"), FILES, ids=[each[0] for each in FILES])
async def test_a_sent_document_is_asked_about_and_answered_from(page: Page, name, media_type, data, question, answer):
    await attach(page, name, media_type, data)
    await ask(page, question)
    await expect(said(page)).to_have_count(1)
    await expect(said(page)).to_contain_text(answer)
    await expect(said(page)).to_contain_text(name)
    await expect(page.locator('[data-role="user"] .file')).to_have_text(name)


async def test_a_document_stays_with_the_conversation_and_staff_see_it(page: Page, house, browser: Browser):
    installation, _, password = house
    await attach(page, "bail.pdf", "application/pdf", pdf(LEASE))
    await ask(page, "Résume ce document")
    await expect(said(page).first).to_contain_text("640 euros")
    await ask(page, "Et quel est le loyer ?")
    await expect(said(page)).to_have_count(2)
    await expect(said(page).last).to_contain_text("640 euros")
    for count in (3, 4, 5):
        await ask(page, "Quelle est la masse de Jupiter ?")
        await expect(said(page)).to_have_count(count)
    await page.locator(".human-button").click()
    await expect(page.locator(".notice")).to_contain_text("Une personne")

    context = await browser.new_context(locale="en-GB", accept_downloads=True)
    context.set_default_timeout(WAIT_MS)
    try:
        team = await context.new_page()
        await team.goto(f"{installation.url}/inbox")
        await team.get_by_label("Login").fill("ana")
        await team.get_by_label("Password").fill(password)
        await team.get_by_role("button", name="Sign in").click()
        await team.get_by_role("navigation", name="Tickets").get_by_role("link").first.click()
        await expect(team.locator("passeur-message .file")).to_have_text("bail.pdf")
        async with team.expect_download() as saved:
            await team.locator("passeur-message .file").click()
        saved_as = Path(await (await saved.value).path())
        assert saved_as.read_bytes() == pdf(LEASE)  # noqa: ASYNC240 - a small file
        # The summary is in the visitor's language, whatever the reader's: nobody translates what was said.
        await expect(team.locator(".summary p")).to_contain_text("Quel est le loyer", ignore_case=True)
        await team.get_by_role("button", name="Unanswered questions").click()
        await expect(team.locator(".groups > li").first).to_contain_text("Jupiter")
    finally:
        await context.close()


async def test_an_image_goes_with_its_own_turn_only(house, simulator):
    installation, http, _ = house
    base = f"{installation.url}/v1"
    async with http.post(f"{base}/sessions", json={"public_key": "pk_demo"}) as response:
        headers = {"authorization": f"Bearer {(await response.json())['token']}"}
    async with http.post(f"{base}/conversations", json={}, headers=headers) as response:
        conversation = (await response.json())["id"]
    typed = {**headers, "content-type": "image/png"}
    async with http.post(f"{base}/attachments?name=rouge.png", data=picture(), headers=typed) as response:
        assert response.status == 201, await response.text()
        attachment = (await response.json())["id"]
    asked = [("Que vois-tu sur cette image ?", [attachment]), ("Que vois-tu sur cette image encore ?", [])]
    for text, files in asked:
        body = {"text": text, "assistant": "vision", "attachment_ids": files}
        async with http.post(f"{base}/conversations/{conversation}/messages", json=body, headers=headers) as response:
            assert response.status == 200, await response.text()
    sent = [json.dumps(each.body) for each in simulator.received]
    assert [("image_url" in each) for each in sent][:1] == [True]
    assert not any("image_url" in each for each in sent[1:])
