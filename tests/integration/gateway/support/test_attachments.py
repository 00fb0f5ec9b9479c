"""Files that come with messages, over real sockets."""

from __future__ import annotations

import io

import pytest

from gateway.attachments.service import DOCX
from shared.errors import NotImplementedHere, ProviderOverloaded
from tests.integration.gateway.support.test_escalation import escalate, messages_of
from tests.unit.support.test_images import png, saved


async def send(browser, data, media_type, name="file", **headers):
    sent = {"Content-Type": media_type, **headers}
    return await browser.call("POST", f"/v1/attachments?name={name}", data=io.BytesIO(data), headers=sent)


async def say_with(browser, conversation, text, *ids):
    body = {"text": text, "attachment_ids": list(ids)}
    return await browser.call("POST", f"/v1/conversations/{conversation}/messages", body)


async def fetch(browser, attachment_id):
    headers = {"Authorization": f"Bearer {browser.token}"}
    async with browser.http.get(f"{browser.url}/v1/attachments/{attachment_id}", headers=headers) as response:
        return response.status, response.headers, await response.read()


async def test_an_image_goes_with_the_current_turn_only(browser, conversation, assistant):
    taken = await send(browser, saved("PNG"), "image/png", "écran.png")
    assert (taken.status, taken.body["kind"], taken.body["name"]) == (201, "image", "écran.png")
    turn = await say_with(browser, conversation, "Que vois-tu ?", taken.body["id"])
    assert turn.body["user_message"]["attachments"][0]["id"] == taken.body["id"]
    media_type, data = assistant.questions[-1].image
    assert (media_type, data) == ("image/jpeg", (await fetch(browser, taken.body["id"]))[2])
    await browser.say(conversation, "Et maintenant ?")
    assert assistant.questions[-1].image is None


async def test_a_documents_text_stays_with_the_conversation_until_a_boundary(browser, conversation, assistant, ana):
    taken = await send(browser, "Le prix est 12 €.".encode(), "text/plain", "prix.txt")
    await say_with(browser, conversation, "Lis ceci", taken.body["id"])
    await browser.say(conversation, "Quel prix ?")
    assert assistant.questions[-1].attached_texts == (("prix.txt", "Le prix est 12 €."),)
    ticket = await escalate(browser, conversation)
    await ana.good("POST", f"/v1/tickets/{ticket['id']}/resolve")
    await browser.say(conversation, "Quel prix ?")
    assert assistant.questions[-1].attached_texts == ()


async def test_a_file_is_carried_once_and_only_by_its_own_visitor(browser, conversation, new_browser):
    taken = await send(browser, saved("PNG"), "image/png")
    stranger = await new_browser()
    theirs = await stranger.open_conversation()
    refused = await say_with(stranger, theirs, "voilà", taken.body["id"])
    assert (refused.status, refused.body["violations"][0]["field"]) == (400, "attachment_ids")
    assert (await fetch(stranger, taken.body["id"]))[0] == 404
    assert (await say_with(browser, conversation, "voilà", taken.body["id"])).status == 200
    assert (await say_with(browser, conversation, "encore", taken.body["id"])).status == 400
    assert [each["text"] for each in await messages_of(browser, conversation) if each["role"] == "USER"] == ["voilà"]


async def test_two_images_in_one_message_are_refused_and_stay_free(browser, conversation):
    ids = [(await send(browser, saved("PNG", (20 + n, 20)), "image/png")).body["id"] for n in range(2)]
    assert (await say_with(browser, conversation, "deux", *ids)).status == 400
    assert (await say_with(browser, conversation, "une", ids[0])).status == 200


@pytest.mark.parametrize(
    ("data", "media_type", "status", "problem"),
    [
        (png(10_000, 6_000), "image/png", 415, "unsupported-media"),
        (b"GIF89a" + b"\0" * 20 + b"%PDF-", "image/gif", 415, "unsupported-media"),
        (png(4, 4), "image/jpeg", 415, "unsupported-media"),
        (b"x", "text/html", 415, "unsupported-media"),
        (b"", "text/plain", 400, "invalid-request"),
        (b"\x89PNG\r\n\x1a\n" + b"x" * (10 * 1024 * 1024), "image/png", 413, "body-too-large"),
    ],
)
async def test_a_bad_file_is_refused_with_a_clear_outcome(browser, data, media_type, status, problem):
    refused = await send(browser, data, media_type)
    assert (refused.status, refused.body["type"]) == (status, problem)


async def test_a_body_that_lies_about_its_length_is_cut_at_the_limit(browser):
    async def endless():
        for _ in range(12):
            yield b"\0" * 1024 * 1024

    sent = {"Content-Type": "image/png", "Authorization": f"Bearer {browser.token}"}
    async with browser.http.post(f"{browser.url}/v1/attachments", data=endless(), headers=sent) as response:
        assert (response.status, (await response.json())["type"]) == (413, "body-too-large")


async def test_the_same_key_and_file_are_one_attachment(browser):
    key = {"Idempotency-Key": "up-1"}
    first = await send(browser, b"bonjour", "text/plain", **key)
    again = await send(browser, b"bonjour", "text/plain", **key)
    other = await send(browser, b"autre", "text/plain", **key)
    assert (first.body["id"], other.status) == (again.body["id"], 409)


async def test_without_a_reader_for_documents_it_is_said_clearly(browser, assistant):
    assistant.extract_error = NotImplementedHere("reading documents")
    refused = await send(browser, b"%PDF-1.7", "application/pdf")
    assert (refused.status, refused.body["type"]) == (501, "unimplemented")
    assistant.extract_error = ProviderOverloaded("x", "busy", started=False, error_class="overloaded")
    assert (await send(browser, b"PK\x03\x04", DOCX)).status == 503


async def test_staff_see_files_of_tickets_only_and_documents_are_never_shown_in_place(browser, conversation, ana):
    document = (await send(browser, b"<script>alert(1)</script>", "text/plain", "a.html")).body["id"]
    await say_with(browser, conversation, "voilà", document)
    assert (await fetch(ana, document))[0] == 404
    await escalate(browser, conversation)
    status, headers, data = await fetch(ana, document)
    assert (status, data) == (200, b"<script>alert(1)</script>")
    assert headers["Content-Type"] == "application/octet-stream"
    assert headers["Content-Disposition"].startswith("attachment;")
    assert "sandbox" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
