"""Conversations over a real socket."""

import pytest

from gateway.conversation.model import Message, Role
from shared.ids import new_id


async def test_a_conversation_is_made_listed_shown_and_removed(browser):
    made = await browser.good("POST", "/v1/conversations", {"title": "Une question"})
    assert made["title"] == "Une question"
    listed = await browser.good("GET", "/v1/conversations")
    assert listed["conversations"] == [made]
    assert await browser.good("GET", f"/v1/conversations/{made['id']}") == made
    assert (await browser.call("DELETE", f"/v1/conversations/{made['id']}")).status == 204
    assert (await browser.call("GET", f"/v1/conversations/{made['id']}")).status == 404


async def test_someone_elses_conversation_is_not_there(browser, conversation, new_browser):
    """DESIGN.md: not there, or not yours: the two are told alike."""
    stranger = await new_browser()
    path = f"/v1/conversations/{conversation}"
    unknown = await stranger.call("GET", f"/v1/conversations/{new_id_like(conversation)}")
    for method, where, body in [
        ("GET", path, None),
        ("DELETE", path, None),
        ("GET", f"{path}/messages", None),
        ("POST", f"{path}/messages", {"text": "x"}),
        ("POST", f"{path}/read", {"message_id": "x"}),
        ("GET", f"{path}/citations/x.1", None),
        ("POST", f"{path}/turns/{conversation}/stop", None),
    ]:
        answer = await stranger.call(method, where, body)
        assert (answer.status, answer.body["type"]) == (404, unknown.body["type"]), where
    assert (await browser.call("GET", path)).status == 200


def new_id_like(conversation):
    return conversation[:-4] + ("0000" if conversation[-4:] != "0000" else "1111")


async def test_pages_hold_every_conversation_once(browser):
    made = {await browser.open_conversation() for _ in range(7)}
    seen, cursor = [], ""
    while cursor is not None:
        page = await browser.good("GET", f"/v1/conversations?limit=3{cursor and f'&cursor={cursor}'}")
        seen += [each["id"] for each in page["conversations"]]
        cursor = page["next_cursor"]
    assert sorted(seen) == sorted(made)


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "limit=-1", "limit=", "cursor=x", "cursor=1.2",
                                   "limit=٣", "limit=0000000501",
                                   "cursor=999999999999999999.01a22c43-962a-7525-b762-62596e6f765f"])  # fmt: skip
async def test_a_bad_page_names_the_field(browser, query):
    answer = await browser.call("GET", f"/v1/conversations?{query}")
    assert answer.status == 400
    assert answer.body["violations"][0]["field"] == query.partition("=")[0]


async def test_the_first_question_names_the_conversation(browser, conversation):
    await browser.say(conversation, "Comment installer Passeur ?")
    assert (await browser.good("GET", f"/v1/conversations/{conversation}"))["title"] == "Comment installer Passeur ?"


async def test_the_same_key_makes_one_conversation_and_another_body_is_refused(browser):
    headers = {"Idempotency-Key": "k1"}
    first = await browser.good("POST", "/v1/conversations", {"title": "a"}, headers=headers)
    again = await browser.good("POST", "/v1/conversations", {"title": "a"}, headers=headers)
    assert again["id"] == first["id"]
    conflict = await browser.call("POST", "/v1/conversations", {"title": "b"}, headers=headers)
    assert (conflict.status, conflict.body["type"]) == (409, "idempotency-conflict")


async def test_two_visitors_may_use_the_same_key(browser, new_browser):
    other, headers = await new_browser(), {"Idempotency-Key": "k1"}
    mine = await browser.good("POST", "/v1/conversations", {}, headers=headers)
    theirs = await other.good("POST", "/v1/conversations", {}, headers=headers)
    assert mine["id"] != theirs["id"]


async def test_reading_moves_the_marker_tells_the_other_tabs_and_never_goes_back(browser, conversation, services):
    now = services.clock.now()
    async with services.store.transaction() as tx:
        ids = []
        for _ in range(2):
            position = await tx.conversations.take_position(conversation, now)
            ids.append(new_id(now))
            await tx.messages.add(Message(ids[-1], conversation, position, Role.ADMIN, None, "bonjour", now))
    path = f"/v1/conversations/{conversation}"
    assert (await browser.good("GET", path))["unread_count"] == 2
    async with browser.events() as stream:
        await stream.opened()
        assert (await browser.call("POST", f"{path}/read", {"message_id": ids[1]})).status == 204
        assert (await browser.call("POST", f"{path}/read", {"message_id": ids[0]})).status == 204
        event = await stream.next()
    assert (event.type, '"by":"visitor"' in event.data, ids[1] in event.data) == ("read", True, True)
    assert (await browser.good("GET", path))["unread_count"] == 0


async def test_a_removed_conversation_leaves_nothing_in_the_stream(browser, conversation):
    async with browser.events() as stream:
        start = await stream.opened()
    await browser.say(conversation, "un secret")
    other = await browser.open_conversation()
    await browser.say(other, "encore")
    await browser.good("DELETE", f"/v1/conversations/{conversation}")
    async with browser.events(cursor=start) as stream:
        events = [await stream.next() for _ in range(3)]
    assert "secret" not in "".join(event.data for event in events)
    assert other in events[0].data


async def test_a_conversation_with_a_running_turn_is_not_removed(browser, conversation, assistant):
    from tests.fakes.assistant import Pause, answering

    assistant.script = lambda question: [Pause(), *answering("fini")]
    async with browser.turn(conversation, "attends") as turn:
        await turn.next()
        answer = await browser.call("DELETE", f"/v1/conversations/{conversation}")
        assert (answer.status, answer.body["type"]) == (409, "turn-running")
        while not assistant.started:
            await turn.next()
        assistant.release()
        await turn.rest()
    assert (await browser.call("DELETE", f"/v1/conversations/{conversation}")).status == 204
