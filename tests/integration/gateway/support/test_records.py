"""What is kept of a visitor: handed out whole, removed whole."""

from __future__ import annotations

import io
import json

import pytest

from gateway.assistant.contract import Outcome
from tests.fakes.assistant import ending
from tests.fakes.gateway import OPERATOR_TOKEN, PASSAGES, PASSWORD, demo_script
from tests.integration.gateway.support.test_escalation import escalate


@pytest.fixture
async def operator(new_browser):
    made = await new_browser(with_session=False)
    made.token = OPERATOR_TOKEN
    return made


async def a_full_life(browser, conversation, desk):
    sent = {"Content-Type": "text/plain"}
    taken = await browser.good("POST", "/v1/attachments?name=a.txt", data=io.BytesIO(b"mon secret"), headers=sent)
    body = {"text": "mon secret 42", "attachment_ids": [taken["id"]]}
    await browser.good("POST", f"/v1/conversations/{conversation}/messages", body)
    ticket = await escalate(browser, conversation)
    await desk.good("POST", f"/v1/tickets/{ticket['id']}/reply", {"text": "réponse"})
    await browser.good("PUT", "/v1/presence", {"consent": True, "telemetry": {"os": "secret-os"}})
    return ticket


async def test_an_export_holds_everything_and_goes_to_whom_it_may(
    browser, conversation, ana, ben, operator, new_browser
):
    await a_full_life(browser, conversation, ana)
    own = await browser.good("GET", "/v1/visitors/me/export")
    assert own["format"] == "passeur-visitor/1"
    (kept,) = own["conversations"]
    assert [each["role"] for each in kept["messages"]] == ["USER", "AI", "SYSTEM", "ADMIN"]
    assert "transmise" in kept["messages"][2]["server_said"]
    assert (own["presence"]["telemetry"], len(own["notifications"])) == ({"os": "secret-os"}, 1)
    path = f"/v1/visitors/{browser.visitor_id}/export"
    for caller in (ana, operator):
        assert (await caller.good("GET", path))["conversations"] == own["conversations"]
    one = await browser.good("GET", f"/v1/conversations/{conversation}/export")
    assert one["messages"] == kept["messages"]
    stranger = await new_browser()
    assert (await stranger.call("GET", path)).status == 404
    assert (await stranger.call("GET", f"/v1/conversations/{conversation}/export")).status == 404
    assert (await ben.call("GET", path)).status == 403


async def test_deleting_a_visitor_leaves_nothing_of_what_they_said(
    browser, conversation, ana, operator, services, tmp_path
):
    ticket = await a_full_life(browser, conversation, ana)
    counts = await operator.good("DELETE", f"/v1/visitors/{browser.visitor_id}")
    assert (counts["conversation_count"], counts["attachment_count"]) == (1, 1)
    assert (await browser.call("GET", "/v1/conversations")).status == 401
    assert (await ana.call("GET", f"/v1/tickets/{ticket['id']}")).status == 404
    assert (await operator.call("DELETE", f"/v1/visitors/{browser.visitor_id}")).status == 404
    assert list((tmp_path / "gateway" / "attachments").iterdir()) == []
    database = services.store._connection._connection.connection.driver_connection
    left = await services.store._connection.aside(lambda: "\n".join(database.iterdump()))
    assert browser.visitor_id not in left
    assert "secret" not in left


async def test_a_visitor_may_delete_themself_and_only_themself(browser, conversation, new_browser):
    stranger = await new_browser()
    assert (await stranger.call("DELETE", f"/v1/visitors/{browser.visitor_id}")).status == 404
    await browser.good("DELETE", "/v1/visitors/me")
    assert (await browser.call("GET", "/v1/conversations")).status == 401


async def test_deleting_a_conversation_takes_its_ticket_from_the_inbox(browser, conversation, ana):
    await browser.say(conversation, "Bonjour")
    ticket = await escalate(browser, conversation)
    async with ana.events() as stream:
        await stream.opened()
        await browser.good("DELETE", f"/v1/conversations/{conversation}")
        told = await stream.until(lambda event: event.type == "ticket.updated")
    assert json.loads(told[-1].data)["ticket"] == {"id": ticket["id"], "conversation_id": conversation, "deleted": True}
    assert (await ana.good("GET", "/v1/tickets"))["tickets"] == []


async def test_every_refusal_to_sign_in_is_the_same(ana, operator, new_browser):
    await operator.good("POST", "/v1/staff", {"project_id": "demo", "login": "zed", "password": PASSWORD})
    await operator.good("POST", "/v1/staff/zed/disable")
    nobody = await new_browser(with_session=False)
    bodies = []
    for login, password in (("ana", "wrong password"), ("who", PASSWORD), ("zed", PASSWORD), ("", "")):
        refused = await nobody.call("POST", "/v1/staff/sessions", {"login": login, "password": password})
        refused.body.pop("request_id")
        bodies.append((refused.status, refused.body))
    for token in ("st_wrong", "st_" + "x" * 500, "wrong"):
        nobody.token = token
        refused = await nobody.call("GET", "/v1/staff/me")
        refused.body.pop("request_id")
        bodies.append((refused.status, refused.body))
    assert all(each == bodies[0] for each in bodies)
    assert bodies[0][0] == 401


async def test_a_new_password_and_disabling_end_every_session(ana, ben, operator):
    done = await ana.good("POST", "/v1/staff/ben/password", {})
    assert len(done["password"]) >= 10
    assert (await ben.call("GET", "/v1/staff/me")).status == 401
    signed = await ben.good("POST", "/v1/staff/sessions", {"login": " BEN ", "password": done["password"]})
    ben.token = signed["token"]
    assert (await ben.call("POST", "/v1/staff", {"login": "x", "password": PASSWORD})).status == 403
    await operator.good("POST", "/v1/staff/ben/disable")
    assert (await ben.call("GET", "/v1/staff/me")).status == 401


async def test_an_admin_of_one_project_manages_no_account_of_another(ana, new_staff):
    await new_staff("zoe", project="other")
    assert (await ana.call("POST", "/v1/staff/zoe/disable")).status == 404
    assert (await ana.call("POST", "/v1/staff", {"login": "Zoe", "password": PASSWORD})).status == 409


async def test_signing_out_ends_the_session_and_pages_of_others_may_not_use_it(ben):
    foreign = await ben.call("GET", "/v1/tickets", headers={"Origin": "https://listed.example"})
    assert (foreign.status, foreign.body["type"]) == (403, "forbidden-origin")
    await ben.good("DELETE", "/v1/staff/sessions")
    assert (await ben.call("GET", "/v1/tickets")).status == 401


async def test_unanswered_and_escalated_questions_are_grouped_with_what_was_near(
    browser, conversation, ana, assistant, new_browser
):
    assistant.script = lambda question: ending(Outcome.INSUFFICIENT_CONTEXT)
    await browser.say(conversation, "Comment annuler ma commande ?")
    other = await new_browser()
    theirs = await other.open_conversation()
    await other.say(theirs, "annuler une commande")
    await escalate(other, theirs)
    assistant.script = demo_script
    answered = await other.open_conversation()
    await other.say(answered, "Que fait Passeur ?")
    await escalate(other, answered)  # it was answered: nobody has to write anything for it
    (group,) = (await ana.good("GET", "/v1/questions"))["groups"]
    assert (group["count"], group["insufficient_count"], group["escalated_count"]) == (2, 2, 1)
    turn_id = next(each["turn_id"] for each in group["examples"] if each["cause"] == "insufficient")
    assistant.passages = dict(PASSAGES)
    found = (await ana.good("GET", f"/v1/questions/{turn_id}/passages"))["passages"]
    assert (found[0]["title"], found[0]["kept"]) == ("Ce que fait Passeur", False)
    assert (await ana.call("GET", "/v1/questions/0/passages")).status == 404
