"""Passing a conversation to people and back (DESIGN §4, Escalation), over real sockets."""

from __future__ import annotations

import asyncio
import json

from gateway.assistant.contract import Outcome, Result
from shared.errors import BudgetExhausted
from tests.fakes.assistant import Pause, answering, ending
from tests.waiting import eventually


async def escalate(browser, conversation, **options):
    return await browser.good("POST", f"/v1/conversations/{conversation}/escalate", **options)


async def messages_of(browser, conversation):
    return (await browser.good("GET", f"/v1/conversations/{conversation}/messages"))["messages"]


def datas(events, kind):
    return [json.loads(each.data) for each in events if each.type == kind]


async def test_escalating_makes_a_ticket_and_says_so_in_the_readers_language(browser, conversation, ana):
    await browser.say(conversation, "Ma commande ?")
    first = await browser.call("POST", f"/v1/conversations/{conversation}/escalate")
    again = await browser.call("POST", f"/v1/conversations/{conversation}/escalate")
    assert (first.status, again.status) == (201, 200)
    assert first.body["id"] == again.body["id"]
    assert first.body["state"] == "OPEN"
    assert "summary" not in first.body
    notice = (await messages_of(browser, conversation))[-1]
    assert (notice["role"], notice["kind"]) == ("SYSTEM", "notice")
    assert "transmise à l’équipe" in notice["text"]
    browser.language = "es"
    assert "se ha pasado al equipo" in (await messages_of(browser, conversation))[-1]["text"]
    shown = await browser.good("GET", f"/v1/conversations/{conversation}")
    assert (shown["escalated"], shown["ticket"]["id"]) == (True, first.body["id"])
    assert [each["id"] for each in (await ana.good("GET", "/v1/tickets"))["tickets"]] == [first.body["id"]]


async def test_two_racers_make_one_ticket_and_one_notice(browser, conversation, ana):
    await browser.say(conversation, "Bonjour")
    racers = [browser.call("POST", f"/v1/conversations/{conversation}/escalate") for _ in range(8)]
    racers += [ana.call("POST", f"/v1/conversations/{conversation}/escalate") for _ in range(4)]
    answers = await asyncio.gather(*racers)
    assert sorted(each.status for each in answers) == [200] * 11 + [201]
    assert len({each.body["id"] for each in answers}) == 1
    assert [each["role"] for each in await messages_of(browser, conversation)].count("SYSTEM") == 1


async def test_a_retry_under_its_key_finds_the_ticket_even_after_it_was_resolved(browser, conversation, ana):
    await browser.say(conversation, "Bonjour")
    key = {"headers": {"Idempotency-Key": "esc-1"}}
    ticket = await escalate(browser, conversation, **key)
    await ana.good("POST", f"/v1/tickets/{ticket['id']}/resolve")
    again = await browser.call("POST", f"/v1/conversations/{conversation}/escalate", **key)
    assert (again.status, again.body["id"], again.body["state"]) == (200, ticket["id"], "RESOLVED")
    other = await browser.open_conversation()
    assert (await browser.call("POST", f"/v1/conversations/{other}/escalate", **key)).status == 409


async def test_while_a_ticket_is_open_the_ai_is_not_even_asked(browser, conversation, ana, assistant):
    await browser.say(conversation, "Bonjour")
    ticket = await escalate(browser, conversation)
    asked = assistant.started
    turn = await browser.say(conversation, "Quelqu'un ?")
    assert (turn["outcome"], turn["ai_message"], assistant.started) == ("handed_over", None, asked)
    async with browser.turn(conversation, "Allô ?") as stream:
        events = await stream.rest()
    assert json.loads(events[-1].data)["outcome"] == "handed_over"
    shown = await ana.good("GET", f"/v1/tickets/{ticket['id']}")
    assert (shown["ticket"]["unread_count"], shown["ticket"]["last_message"]["text"]) == (3, "Allô ?")


async def test_an_answer_under_way_is_never_published_after_the_ticket(browser, conversation, ana, assistant):
    assistant.script = lambda question: [*answering("un deux")[:-2], Pause(), *answering("un deux")[-2:]]
    waiting = asyncio.create_task(browser.say(conversation, "lent"))
    await eventually(lambda: assistant.started == 1)
    await escalate(browser, conversation)
    turn = await waiting
    assert (turn["outcome"], turn["ai_message"]) == ("handed_over", None)
    assert [each["role"] for each in await messages_of(browser, conversation)] == ["USER", "SYSTEM"]


async def test_the_first_reply_assigns_and_tells_the_visitor(browser, conversation, ana, ben):
    await browser.say(conversation, "Bonjour")
    ticket = await escalate(browser, conversation)
    async with browser.events() as stream:
        await stream.opened()
        said = await ana.good("POST", f"/v1/tickets/{ticket['id']}/reply", {"text": "Je regarde <b>ça</b>."})
        events = await stream.until(lambda event: event.type == "notification.created")
    assert (said["role"], said["author"]["name"]) == ("ADMIN", "Ana Ortiz")
    assert said["html"] == "<p>Je regarde &lt;b&gt;ça&lt;/b&gt;.</p>"
    (updated,) = datas(events, "ticket.updated")
    assert (updated["ticket"]["state"], updated["ticket"]["assignee"]["name"]) == ("IN_PROGRESS", "Ana Ortiz")
    assert updated["ticket"]["unread_count"] == 1
    assert "Ana Ortiz" in datas(events, "notification.created")[0]["notification"]["text"]
    await ben.good("POST", f"/v1/tickets/{ticket['id']}/reply", {"text": "Moi aussi."})
    assert (await ben.good("GET", f"/v1/tickets/{ticket['id']}"))["ticket"]["assignee"]["id"] == ana.member.id


async def test_resolving_lets_the_ai_speak_again_without_what_came_before(browser, conversation, ana, assistant):
    await browser.say(conversation, "Mon secret est 42")
    ticket = await escalate(browser, conversation)
    await ana.good("POST", f"/v1/tickets/{ticket['id']}/reply", {"text": "Réponse humaine"})
    resolved = await ana.good("POST", f"/v1/tickets/{ticket['id']}/resolve")
    twice = await ana.good("POST", f"/v1/tickets/{ticket['id']}/resolve")
    assert resolved["state"] == twice["state"] == "RESOLVED"
    turn = await browser.say(conversation, "Et maintenant ?")
    assert turn["outcome"] == "answered"
    assert assistant.questions[-1].history == ()
    roles = [each["role"] for each in await messages_of(browser, conversation)]
    assert roles == ["USER", "AI", "SYSTEM", "ADMIN", "SYSTEM", "USER", "AI"]


async def test_an_open_ticket_may_be_resolved_at_once_and_reopens_without_assignee(browser, conversation, ana):
    await browser.say(conversation, "Bonjour")
    ticket = await escalate(browser, conversation)
    await ana.good("POST", f"/v1/tickets/{ticket['id']}/resolve")
    reopened = await ana.good("POST", f"/v1/tickets/{ticket['id']}/reopen")
    assert (reopened["state"], reopened["assignee"]) == ("OPEN", None)
    assert (await browser.say(conversation, "Encore"))["outcome"] == "handed_over"
    await ana.good("POST", f"/v1/tickets/{ticket['id']}/assign", {"assignee_id": ana.member.id})
    await ana.good("POST", f"/v1/tickets/{ticket['id']}/resolve")
    again = await ana.good("POST", f"/v1/tickets/{ticket['id']}/reopen")
    assert (again["state"], again["assignee"]["id"]) == ("IN_PROGRESS", ana.member.id)


async def test_a_resolved_ticket_takes_no_reply_and_no_assignee_until_it_is_reopened(browser, conversation, ana):
    await browser.say(conversation, "Bonjour")
    ticket = await escalate(browser, conversation)
    await ana.good("POST", f"/v1/tickets/{ticket['id']}/resolve")
    reply = await ana.call("POST", f"/v1/tickets/{ticket['id']}/reply", {"text": "trop tard"})
    assign = await ana.call("POST", f"/v1/tickets/{ticket['id']}/assign", {"assignee_id": ana.member.id})
    assert (reply.status, reply.body["type"], assign.status) == (409, "failed-precondition", 409)
    assert "reopen" in reply.body["detail"]
    assert "trop tard" not in json.dumps(await messages_of(browser, conversation))


async def test_resolve_against_reply_keeps_every_accepted_reply(browser, conversation, ana):
    await browser.say(conversation, "Bonjour")
    ticket = await escalate(browser, conversation)
    path = f"/v1/tickets/{ticket['id']}"
    calls = [ana.call("POST", f"{path}/reply", {"text": f"réponse {number}"}) for number in range(6)]
    answers = await asyncio.gather(*calls[:3], ana.call("POST", f"{path}/resolve"), *calls[3:])
    accepted = [each.body["id"] for each in answers if each.status == 201]
    assert {each.status for each in answers} <= {200, 201, 409}
    kept = [each["id"] for each in await messages_of(browser, conversation) if each["role"] == "ADMIN"]
    assert sorted(kept) == sorted(accepted)


async def test_reopening_is_refused_while_a_newer_ticket_is_open(browser, conversation, ana):
    await browser.say(conversation, "Bonjour")
    old = await escalate(browser, conversation)
    await ana.good("POST", f"/v1/tickets/{old['id']}/resolve")
    new = await escalate(browser, conversation)
    assert new["id"] != old["id"]
    assert (await ana.call("POST", f"/v1/tickets/{old['id']}/reopen")).status == 409


async def test_a_ticket_is_given_only_to_someone_who_works_here(browser, conversation, ana, new_staff):
    await browser.say(conversation, "Bonjour")
    ticket = await escalate(browser, conversation)
    elsewhere = await new_staff("zoe", project="other")
    path = f"/v1/tickets/{ticket['id']}/assign"
    for nobody in ("", browser.visitor_id, elsewhere.member.id, "x"):
        refused = await ana.call("POST", path, {"assignee_id": nobody})
        assert (refused.status, refused.body["violations"][0]["field"]) == (400, "assignee_id")
    assert (await ana.good("GET", f"/v1/tickets/{ticket['id']}"))["ticket"]["state"] == "OPEN"
    assert (await elsewhere.call("GET", f"/v1/tickets/{ticket['id']}")).status == 404
    assert (await elsewhere.call("POST", f"/v1/tickets/{ticket['id']}/reply", {"text": "x"})).status == 404


async def test_being_given_a_ticket_leaves_a_notice_that_only_its_owner_sees(browser, conversation, ana, ben):
    await browser.say(conversation, "Bonjour")
    ticket = await escalate(browser, conversation)
    async with ana.events() as of_ana, ben.events() as of_ben:
        await of_ana.opened()
        await of_ben.opened()
        await ana.good("POST", f"/v1/tickets/{ticket['id']}/assign", {"assignee_id": ben.member.id})
        await of_ben.until(lambda event: event.type == "notification.created")
        await ana.good("POST", f"/v1/tickets/{ticket['id']}/resolve")
        heard = await of_ana.until(lambda event: '"RESOLVED"' in event.data)
    assert "notification.created" not in {each.type for each in heard}
    found = await ben.good("GET", "/v1/notifications?unread=true")
    assert (found["unread_count"], found["notifications"][0]["kind"]) == (1, "assigned")
    await ben.good("POST", f"/v1/notifications/{found['notifications'][0]['id']}/read")
    assert (await ben.good("GET", "/v1/notifications?unread=true"))["unread_count"] == 0
    assert (await ana.call("POST", f"/v1/notifications/{found['notifications'][0]['id']}/read")).status == 404


async def test_the_summary_comes_after_the_ticket(browser, conversation, ana, assistant, services):
    await browser.say(conversation, "Ma facture est fausse")
    ticket = await escalate(browser, conversation)
    await services.support.summaries.settled()
    shown = (await ana.good("GET", f"/v1/tickets/{ticket['id']}"))["ticket"]
    assert (shown["summary_state"], shown["summary"]) == ("done", "2 messages: Ma facture est fausse")
    assert assistant.summaries_asked[0][0] == f"summary/{ticket['id']}"


async def test_a_summary_is_in_the_language_that_was_spoken_and_paid_by_all_anonymous_visitors(
    browser, conversation, assistant, services
):
    assistant.script = lambda question: [Result(Outcome.ANSWERED, "The invoice is right.", "en")]
    await browser.say(conversation, "My invoice is wrong")
    await escalate(browser, conversation)
    await services.support.summaries.settled()
    assert assistant.summaries_asked[0][2:] == ("en", "anonymous")


async def test_a_summary_that_fails_leaves_the_ticket_as_it_is(browser, conversation, ana, assistant, services):
    assistant.summary_error = BudgetExhausted("spent", None)
    await browser.say(conversation, "Bonjour")
    ticket = await escalate(browser, conversation)
    await services.support.summaries.settled()
    shown = (await ana.good("GET", f"/v1/tickets/{ticket['id']}"))["ticket"]
    assert (shown["summary_state"], shown["summary"], shown["state"]) == ("failed", "", "OPEN")


async def test_escalation_works_with_the_ai_server_down(browser, conversation, ana, assistant):
    assistant.crash()
    turn = await browser.say(conversation, "Comment exporter mes données ?")
    assert turn["outcome"] == "failed"
    ticket = await escalate(browser, conversation)
    await ana.good("POST", f"/v1/tickets/{ticket['id']}/reply", {"text": "Oui."})
    assert (await messages_of(browser, conversation))[-1]["text"] == "Oui."


async def test_suggesting_a_person_comes_third_and_a_ticket_starts_the_count_again(
    browser, conversation, ana, assistant
):
    assistant.script = lambda question: ending(Outcome.INSUFFICIENT_CONTEXT)
    kinds = [(await browser.say(conversation, f"rien {number}"))["ai_message"]["kind"] for number in range(3)]
    assert kinds == ["rephrase", "rephrase", "suggest_human"]
    ticket = await escalate(browser, conversation)
    await ana.good("POST", f"/v1/tickets/{ticket['id']}/resolve")
    assert (await browser.say(conversation, "rien encore"))["ai_message"]["kind"] == "rephrase"


async def test_staff_may_step_in_unasked_and_own_the_ticket(browser, conversation, ana):
    await browser.say(conversation, "Bonjour")
    ticket = await ana.good("POST", f"/v1/conversations/{conversation}/escalate")
    assert (ticket["state"], ticket["assignee"]["id"]) == ("IN_PROGRESS", ana.member.id)
    assert "Ana Ortiz" in (await messages_of(browser, conversation))[-1]["text"]


async def test_a_visitor_reaches_nobody_elses_conversation_and_no_ticket_list(browser, conversation, new_browser):
    await browser.say(conversation, "Bonjour")
    await escalate(browser, conversation)
    stranger = await new_browser()
    for act in ("escalate", "open", "close"):
        assert (await stranger.call("POST", f"/v1/conversations/{conversation}/{act}")).status == 404
    assert (await stranger.call("GET", "/v1/tickets")).status == 401
