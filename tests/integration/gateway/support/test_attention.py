"""Reading, typing, presence and what each of the staff follows, over real sockets."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from gateway.identity.sessions import digest
from gateway.storage.contract import NewEvent
from tests.integration.gateway.client import Reading
from tests.integration.gateway.support.test_escalation import escalate, messages_of


@pytest.fixture
async def ticket(browser, conversation, ana):
    await browser.say(conversation, "Bonjour")
    return await escalate(browser, conversation)


async def last_id(browser, conversation):
    return (await messages_of(browser, conversation))[-1]["id"]


async def test_each_of_the_staff_has_a_read_marker_of_their_own(browser, conversation, ticket, ana, ben):
    await browser.say(conversation, "Deux")
    assert (await ana.good("GET", f"/v1/tickets/{ticket['id']}"))["ticket"]["unread_count"] == 2
    last = await last_id(browser, conversation)
    await ana.good("POST", f"/v1/conversations/{conversation}/read", {"message_id": last})
    assert (await ana.good("GET", f"/v1/tickets/{ticket['id']}"))["ticket"]["unread_count"] == 0
    assert (await ben.good("GET", f"/v1/tickets/{ticket['id']}"))["ticket"]["unread_count"] == 2


async def test_the_visitor_counts_the_teams_messages_and_reading_settles_the_notice(browser, conversation, ticket, ana):
    for text in ("un", "deux"):
        await ana.good("POST", f"/v1/tickets/{ticket['id']}/reply", {"text": text})
    assert (await browser.good("GET", f"/v1/conversations/{conversation}"))["unread_count"] == 2
    notices = await browser.good("GET", "/v1/notifications?unread=true")
    assert [each["kind"] for each in notices["notifications"]] == ["reply"]
    await browser.good(
        "POST", f"/v1/conversations/{conversation}/read", {"message_id": await last_id(browser, conversation)}
    )
    assert (await browser.good("GET", f"/v1/conversations/{conversation}"))["unread_count"] == 0
    assert (await browser.good("GET", "/v1/notifications?unread=true"))["unread_count"] == 0


async def test_staff_hear_what_is_said_only_in_conversations_they_opened(browser, conversation, ticket, ana, ben):
    await ana.good("POST", f"/v1/conversations/{conversation}/open")
    async with ana.events() as of_ana, ben.events() as of_ben:
        await of_ana.opened()
        await of_ben.opened()
        await browser.say(conversation, "Écoutez")
        for_ana = await of_ana.until(lambda event: event.type == "ticket.updated")
        for_ben = await of_ben.until(lambda event: event.type == "ticket.updated")
        assert "message.created" in {each.type for each in for_ana}
        assert "message.created" not in {each.type for each in for_ben}
        await ana.good("POST", f"/v1/conversations/{conversation}/close")
        await ben.good("POST", f"/v1/conversations/{conversation}/open")
        await browser.say(conversation, "Encore")
        later = await of_ana.until(lambda event: event.type == "ticket.updated")
        assert {each.type for each in later} == {"ticket.updated"}
        assert "message.created" in {
            each.type for each in await of_ben.until(lambda event: event.type == "ticket.updated")
        }


async def test_a_shared_ticket_view_has_nobodys_unread_count(browser, conversation, ticket, ana):
    async with ana.events() as stream:
        await stream.opened()
        await browser.say(conversation, "Deux")
        events = await stream.until(lambda event: event.type == "ticket.updated")
    view = json.loads(events[-1].data)["ticket"]
    assert (view["unread_count"], view["user_message_count"]) == (None, 2)


async def test_typing_reaches_the_others_and_never_the_one_who_types(browser, conversation, ticket, ana, ben):
    for desk in (ana, ben):
        await desk.good("POST", f"/v1/conversations/{conversation}/open")
    path = f"/v1/conversations/{conversation}/typing"
    async with ana.events() as of_ana, ben.events() as of_ben, browser.events() as of_visitor:
        for stream in (of_ana, of_ben, of_visitor):
            await stream.opened()
        await browser.say(conversation, "Tout le monde écoute ?")
        for stream in (of_ana, of_ben, of_visitor):
            await stream.until(lambda event: event.type == "message.created")
        await ana.good("POST", path, {"typing": True})
        for stream in (of_visitor, of_ben):
            heard = await stream.until(lambda event: event.type == "typing")
            data = json.loads(heard[-1].data)
            assert (data["by"], data["author"]["name"], data["typing"]) == ("staff", "Ana Ortiz", True)
        await browser.good("POST", path, {"typing": True})
        heard = await of_ana.until(lambda event: event.type == "typing")
        assert [json.loads(each.data)["by"] for each in heard if each.type == "typing"] == ["visitor"]


async def test_presence_counts_streams_of_the_account_channel_alone(browser, conversation, ticket, ana):
    await ana.good("POST", f"/v1/tickets/{ticket['id']}/assign", {"assignee_id": ana.member.id})

    async def status():
        return (await browser.good("GET", "/v1/presence"))["people"][0]["status"]

    async with ana.events("?channels=support") as stream:
        await stream.opened()
        assert await status() == "offline"
    async with ana.events("?channels=account,support") as stream, browser.events() as of_visitor:
        await stream.opened()
        await of_visitor.opened()
        assert await status() == "online"
        await ana.good("PUT", "/v1/presence", {"status": "away"})
        told = await of_visitor.until(lambda event: event.type == "admin.status")
        assert json.loads(told[-1].data) == {"staff_id": ana.member.id, "status": "away"}


async def test_a_visitor_may_look_up_only_the_staff_of_their_tickets(browser, ticket, ana, ben):
    await ana.good("POST", f"/v1/tickets/{ticket['id']}/assign", {"assignee_id": ana.member.id})
    assert (await browser.call("GET", f"/v1/presence?staff={ana.member.id}")).status == 200
    stranger = await browser.call("GET", f"/v1/presence?staff={ben.member.id}")
    nobody = await browser.call("GET", "/v1/presence?staff=0")
    assert (stranger.status, nobody.status) == (403, 403)
    assert stranger.body["detail"] == nobody.body["detail"]
    assert (await browser.call("GET", f"/v1/presence?visitor={browser.visitor_id}")).status == 403


async def test_telemetry_is_kept_only_under_consent_and_erased_when_it_is_withdrawn(browser, ticket, ana):
    facts = {"os": "Linux", "version": 3}
    refused = await browser.good("PUT", "/v1/presence", {"telemetry": facts})
    assert (refused["telemetry"], refused["consent"]) == (None, False)
    await browser.good("PUT", "/v1/presence", {"consent": True, "telemetry": facts, "product": "Passeur Pro"})

    async def seen():
        return (await ana.good("GET", f"/v1/presence?visitor={browser.visitor_id}"))["people"][0]

    assert ((await seen())["telemetry"], (await seen())["product"]) == (facts, None)  # no stream: not there
    async with browser.events() as stream:
        await stream.opened()
        await browser.good("PUT", "/v1/presence", {"consent": True, "product": "Passeur Pro"})
        assert ((await seen())["telemetry"], (await seen())["product"]) == (facts, "Passeur Pro")
        await browser.good("PUT", "/v1/presence", {"product": "Passeur Pro"})
        assert (await seen())["telemetry"] is None
        await browser.good("PUT", "/v1/presence", {})
        assert (await seen())["product"] is None


async def test_staff_hear_of_their_visitors_coming_while_a_ticket_is_open(browser, ticket, ana):
    async with ana.events() as stream:
        await stream.opened()
        async with browser.events() as of_visitor:
            await of_visitor.opened()
            told = await stream.until(lambda event: event.type == "user.status")
    assert json.loads(told[-1].data) == {"visitor_id": browser.visitor_id, "status": "online"}


async def test_a_staff_ticket_opens_one_stream_once_and_is_no_session(ana, services):
    """DESIGN §4: native EventSource sends no headers."""
    issued = (await ana.good("POST", "/v1/events/ticket"))["ticket"]
    token, ana.token = ana.token, issued
    assert (await ana.call("GET", "/v1/tickets")).status == 401
    ana.token = ""
    async with ana.http.get(f"{ana.url}/v1/events?ticket={issued}") as response:
        assert response.status == 200
        reading = Reading(response)
        await reading.opened()
        async with services.store.transaction() as tx:
            await tx.events.append("staff:demo", NewEvent("ticket.updated", {"ticket": {"id": "1"}}))
        assert (await reading.next()).type == "ticket.updated"
    assert (await ana.call("GET", f"/v1/events?ticket={issued}")).status == 401
    ana.token = token


async def test_a_staff_ticket_dies_after_a_minute_and_with_the_account(ana, ben, services):
    dead = (await ben.good("POST", "/v1/events/ticket"))["ticket"]
    await services.support.staff.disable("ben")
    now = services.clock.now()
    async with services.store.transaction() as tx:
        await tx.staff_sessions.add(digest("stt_old"), ana.member.id, now - timedelta(seconds=60), now)
    for ticket in (dead, "stt_old", "stt_", f"stt_{ana.token}", ana.token):
        async with ana.http.get(f"{ana.url}/v1/events?ticket={ticket}") as response:
            assert response.status == 401
