"""What every store of the gateway keeps; one suite over every implementation."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gateway.conversation.model import (
    AnswerFacts,
    CitedPassage,
    Conversation,
    Kind,
    Line,
    Message,
    Role,
    ServerText,
    Visitor,
)
from gateway.storage import events as events_room
from gateway.storage.contract import KeyRecord, NewEvent, TurnRecord
from gateway.storage.notifications import Notification
from gateway.storage.postgres import open_postgres
from gateway.storage.sqlite import open_sqlite
from shared.errors import NotReady
from shared.ids import new_id
from tests import services
from tests.fakes.clock import ManualClock

NOW = datetime(2026, 11, 30, 12, 0, 0, 123456, tzinfo=UTC)
HASH = b"h" * 32


class Heard:
    """Keeps what was committed."""

    def __init__(self):
        self.events = []

    def committed(self, events):
        self.events.extend(events)


@pytest.fixture
def heard():
    return Heard()


@pytest.fixture
def clock():
    return ManualClock(NOW)


@pytest.fixture(scope="module")
def server():
    try:
        with services.postgres() as server:
            yield server
    except services.ServiceMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.service("postgresql"))])
def opening(request, tmp_path, clock, heard):
    """Open the store under test; every call opens the same data."""
    if request.param == "sqlite":
        return lambda: open_sqlite(tmp_path, clock, heard)
    url = request.getfixturevalue("server").emptied()
    return lambda: open_postgres(url, clock, heard)


@pytest.fixture
async def store(opening):
    opened = await opening()
    yield opened
    await opened.close()


@pytest.fixture
async def visitor(store):
    visitor = Visitor(new_id(NOW), "demo", None, "fr", (), NOW)
    async with store.transaction() as tx:
        await tx.visitors.add(visitor)
    return visitor


@pytest.fixture
async def conversation(store, visitor):
    conversation = Conversation(new_id(NOW), "demo", visitor.id, "", "fr", NOW, NOW)
    async with store.transaction() as tx:
        await tx.conversations.add(conversation)
    return conversation


def turn_in(conversation, owner="me", **changes):
    turn = TurnRecord(
        id=new_id(NOW),
        conversation_id=conversation.id,
        visitor_id=conversation.visitor_id,
        user_message_id=new_id(NOW),
        ai_message_id=new_id(NOW),
        question={"text": "é\u2028"},
        owner=owner,
        lease_until=NOW + timedelta(seconds=30),
        started_at=NOW,
    )
    return replace(turn, **changes)


async def test_a_raised_block_leaves_nothing_and_tells_nobody(store, heard, visitor):
    async def broken():
        async with store.transaction() as tx:
            await tx.events.append("s", NewEvent("read", {}))
            await tx.visitors.set_language(visitor.id, "es")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await broken()
    async with store.transaction() as tx:
        assert (await tx.events.position("s")).head == 0
        found = await tx.visitors.get(visitor.id)
    assert found.language == "fr"
    assert heard.events == []


async def test_an_act_and_its_event_commit_together_and_are_told_in_order(store, heard):
    async with store.transaction() as tx:
        (first,) = await tx.events.append("s", NewEvent("read", {"n": 1}))
        (second,) = await tx.events.append("s", NewEvent("read", {"n": 2}))
    assert [event.offset for event in heard.events] == [1, 2]
    assert heard.events == [first, second]
    async with store.transaction() as tx:
        assert list(await tx.events.after("s", 0, 10)) == [first, second]


async def test_a_cancelled_caller_leaves_no_transaction_open(store, heard):
    """CASES.md D3: cancel at each await of a transaction; what was begun is either whole or gone, and told or not."""

    async def work(stream_id):
        async with store.transaction() as tx:
            await tx.events.append(stream_id, NewEvent("read", {"n": 1}))
            await tx.events.append(stream_id, NewEvent("read", {"n": 2}))

    counts = set()
    for steps in (*range(30), *range(30, 600, 30)):
        stream_id = f"s{steps}"
        task = asyncio.create_task(work(stream_id))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled() or task.exception() is None
        async with store.transaction() as tx:
            events = await tx.events.after(stream_id, 0, 10)
        assert [event for event in heard.events if event.stream_id == stream_id] == list(events)
        counts.add(len(events))
    assert counts <= {0, 2}


async def test_writers_of_one_stream_get_offsets_without_holes(store):
    async def write(number):
        async with store.transaction() as tx:
            return (await tx.events.append("s", NewEvent("read", {"n": number})))[0].offset

    offsets = await asyncio.gather(*(write(number) for number in range(50)))
    assert sorted(offsets) == list(range(1, 51))
    async with store.transaction() as tx:
        assert [event.offset for event in await tx.events.after("s", 0, 100)] == list(range(1, 51))


async def test_a_stream_keeps_its_newest_events_and_says_where_they_begin(store, monkeypatch):
    monkeypatch.setattr(events_room, "KEPT_EVENTS", 64)
    async with store.transaction() as tx:
        for number in range(256):
            await tx.events.append("s", NewEvent("read", {"n": number}))
        position = await tx.events.position("s")
        kept = await tx.events.after("s", position.trimmed, 1000)
    assert (position.head, position.trimmed) == (256, 192)
    assert [event.offset for event in kept] == list(range(193, 257))


async def test_several_events_are_written_at_once_in_their_order_and_trim_as_single_ones_do(store, heard, monkeypatch):
    monkeypatch.setattr(events_room, "KEPT_EVENTS", 64)
    async with store.transaction() as tx:
        for number in range(0, 129, 3):
            written = await tx.events.append("s", *(NewEvent("read", {"n": number + each}) for each in range(3)))
            assert [event.offset for event in written] == [number + 1, number + 2, number + 3]
        position = await tx.events.position("s")
        kept = await tx.events.after("s", position.trimmed, 1000)
    assert (position.head, position.trimmed) == (129, 64)
    assert [(event.offset, event.data["n"]) for event in kept] == [(each, each - 1) for each in range(65, 130)]
    assert [event.offset for event in heard.events] == list(range(1, 130))


async def test_old_events_are_trimmed_by_age(store, clock):
    async with store.transaction() as tx:
        await tx.events.append("s", NewEvent("read", {"n": 1}))
    clock.advance(3600)
    async with store.transaction() as tx:
        await tx.events.append("s", NewEvent("read", {"n": 2}))
        assert await tx.events.trim_before(clock.now()) == 1
        position = await tx.events.position("s")
    assert (position.head, position.trimmed) == (2, 1)


async def test_erased_events_keep_their_offsets_and_lose_their_content(store):
    async with store.transaction() as tx:
        await tx.events.append("s", NewEvent("read", {"secret": "x"}, conversation_id="c"))
        await tx.events.append("s", NewEvent("read", {"n": 2}, conversation_id="d"))
        await tx.events.erase("s", "c")
        found = await tx.events.after("s", 0, 10)
    assert [(event.offset, dict(event.data), event.channel) for event in found] == [
        (1, {}, events_room.ERASED),
        (2, {"n": 2}, "support"),
    ]


async def test_two_streams_have_different_epochs(store):
    async with store.transaction() as tx:
        assert (await tx.events.position("a")).epoch != (await tx.events.position("b")).epoch


async def test_a_message_comes_back_as_it_was(store, conversation):
    message = Message(
        id=new_id(NOW),
        conversation_id=conversation.id,
        position=1,
        role=Role.AI,
        kind=Kind.ANSWER,
        text="É\u2028👩‍👩‍👧 \r\n\x00\U0010ffff0",
        created_at=NOW,
        server_text=ServerText("support_notice_truncated", {"a": "b"}),
        language="fr",
        turn_id=new_id(NOW),
        citations=(CitedPassage("chunk", "Titre", None, "mots", 3),),
        facts=AnswerFacts("answered", 0.25, "m", "p", economy=True, cost_nanousd=2**62, duration_ms=3),
    )
    async with store.transaction() as tx:
        await tx.messages.add(message)
        assert await tx.messages.get(message.id) == message


async def test_pages_of_messages_go_back_and_forth(store, conversation):
    async with store.transaction() as tx:
        for number in range(1, 6):
            message = Message(str(number), conversation.id, number, Role.USER, None, "x", NOW)
            await tx.messages.add(message)
        assert [each.position for each in await tx.messages.before(conversation.id, 4, 2)] == [2, 3]
        assert [each.position for each in await tx.messages.after(conversation.id, 3, 9)] == [4, 5]


async def test_lines_are_the_messages_without_what_came_with_them(store, conversation):
    async with store.transaction() as tx:
        for number, kind in enumerate((None, Kind.ANSWER, Kind.NOTICE, None), start=1):
            role = Role.USER if kind is None else Role.AI
            await tx.messages.add(Message(str(number), conversation.id, number, role, kind, f"x\x00{number}", NOW))
        read = await tx.messages.lines_before(conversation.id, 4, 2)
        assert read == [Line(2, Role.AI, Kind.ANSWER, "x\x002"), Line(3, Role.AI, Kind.NOTICE, "x\x003")]


async def test_conversations_are_paged_by_activity_without_repeats(store, visitor):
    async with store.transaction() as tx:
        for number in range(7):
            at = NOW + timedelta(seconds=number // 2)
            await tx.conversations.add(Conversation(new_id(at), "demo", visitor.id, str(number), "fr", at, at))
        seen, before = [], None
        while page := await tx.conversations.page(visitor.id, 3, before):
            seen += page
            before = (page[-1].updated_at, page[-1].id)
    assert len(seen) == 7
    assert seen == sorted(seen, key=lambda each: (each.updated_at, each.id), reverse=True)


async def test_a_conversation_is_found_by_its_owner_alone(store, conversation):
    async with store.transaction() as tx:
        assert await tx.conversations.owned(conversation.id, conversation.visitor_id) == conversation
        assert await tx.conversations.owned(conversation.id, "someone else") is None


async def test_deleting_a_conversation_takes_its_messages_and_turns_along(store, conversation):
    turn = turn_in(conversation)
    async with store.transaction() as tx:
        await tx.turns.start(turn)
        await tx.messages.add(Message("m", conversation.id, 1, Role.USER, None, "x", NOW))
        await tx.conversations.delete(conversation.id)
        assert await tx.turns.get(turn.id) is None
        assert await tx.messages.get("m") is None


async def test_only_one_turn_runs_in_a_conversation(store, conversation):
    first, second = turn_in(conversation), turn_in(conversation)
    async with store.transaction() as tx:
        assert await tx.turns.start(first)
        assert not await tx.turns.start(second)
        assert await tx.turns.running_in(conversation.id) == first
        assert await tx.turns.end(first.id, "me", "answered", None, NOW)
        assert await tx.turns.start(second)


async def test_a_turn_ends_once_and_for_its_owner_only(store, conversation):
    turn = turn_in(conversation)
    async with store.transaction() as tx:
        await tx.turns.start(turn)
        assert not await tx.turns.end(turn.id, "another", "answered", None, NOW)
        assert await tx.turns.end(turn.id, "me", "failed", {"type": "deadline"}, NOW)
        assert not await tx.turns.end(turn.id, "me", "answered", None, NOW)
        ended = await tx.turns.get(turn.id)
    assert (ended.outcome, ended.problem, ended.ended_at) == ("failed", {"type": "deadline"}, NOW)


async def test_an_expired_lease_is_claimed_and_a_kept_one_is_not(store, visitor):
    conversations = [Conversation(new_id(NOW), "demo", visitor.id, "", "fr", NOW, NOW) for _ in range(3)]
    async with store.transaction() as tx:
        for each in conversations:
            await tx.conversations.add(each)
        mine, theirs, held = (
            turn_in(each, owner) for each, owner in zip(conversations, ["me", "them", "me"], strict=True)
        )
        for turn in (mine, theirs, held):
            await tx.turns.start(turn)
        later = NOW + timedelta(seconds=31)
        assert await tx.turns.renew("them", [theirs.id], later + timedelta(seconds=30)) == 1
        claimed = await tx.turns.claim("me", [held.id], later, later + timedelta(seconds=30), 10)
        assert [turn.id for turn in claimed] == [mine.id]
        everything = await tx.turns.claim("me", [held.id], None, later, 10)
    assert {turn.id for turn in everything} == {mine.id, theirs.id}
    assert all(turn.owner == "me" for turn in everything)


async def test_a_read_marker_never_goes_back(store, conversation):
    async with store.transaction() as tx:
        assert await tx.read_markers.advance(conversation.id, "visitor:v", 5, NOW)
        assert not await tx.read_markers.advance(conversation.id, "visitor:v", 3, NOW)
        assert not await tx.read_markers.advance(conversation.id, "visitor:v", 5, NOW)
        assert await tx.read_markers.position(conversation.id, "visitor:v") == 5
        assert await tx.read_markers.position(conversation.id, "staff:s") == 0


async def test_a_key_is_bound_once(store):
    async with store.transaction() as tx:
        assert await tx.keys.add("v", "k", KeyRecord(HASH, "first"), NOW)
        assert not await tx.keys.add("v", "k", KeyRecord(HASH, "second"), NOW)
        assert await tx.keys.add("w", "k", KeyRecord(HASH, "other"), NOW)
        assert await tx.keys.find("v", "k") == KeyRecord(HASH, "first")
        assert await tx.keys.forget_before(NOW + timedelta(seconds=1)) == 2


async def test_a_stream_ticket_opens_once_and_only_in_time(store, visitor):
    async with store.transaction() as tx:
        await tx.stream_tickets.add(b"1", visitor.id, NOW + timedelta(seconds=60))
        await tx.stream_tickets.add(b"2", visitor.id, NOW + timedelta(seconds=60))
        assert await tx.stream_tickets.redeem(b"1", NOW) == visitor.id
        assert await tx.stream_tickets.redeem(b"1", NOW) is None
        assert await tx.stream_tickets.redeem(b"2", NOW + timedelta(seconds=60)) is None


async def test_what_is_counted_is_a_number_and_nothing_counts_as_zero(store, conversation):
    said = ServerText("ticket.resolved", {})
    notice = Notification(new_id(NOW), "visitor:v", "demo", "resolved", {}, said, None, NOW)
    async with store.transaction() as tx:
        assert await tx.messages.unread(conversation.id, Role.ADMIN, 0) == 0
        assert await tx.presence.stream_count("visitor:v", NOW) == 0
        assert await tx.notifications.unread_count("visitor:v") == 0
        await tx.notifications.add(notice)
        await tx.notifications.add(replace(notice, id=new_id(NOW)))
        for owner, count in (("one gateway", 2), ("another", 3)):
            await tx.presence.set_streams("visitor:v", owner, count, NOW + timedelta(seconds=1))
        await tx.messages.add(Message("m", conversation.id, 1, Role.ADMIN, None, "x", NOW))
        assert await tx.messages.unread(conversation.id, Role.ADMIN, 0) == 1
        assert await tx.presence.stream_count("visitor:v", NOW) == 5
        assert await tx.notifications.unread_count("visitor:v") == 2


async def test_a_proven_visitor_is_found_by_subject_and_an_anonymous_one_never(store, visitor):
    proven = Visitor(new_id(NOW), "demo", "user-1", "en", ({"scope": ("docs", "hr")},), NOW)
    async with store.transaction() as tx:
        await tx.visitors.add(proven)
        assert await tx.visitors.by_subject("demo", "user-1") == proven
        assert await tx.visitors.by_subject("other", "user-1") is None
        assert (await tx.visitors.get(visitor.id)).contexts == ()


async def test_a_closed_store_says_that_it_is_closed(store):
    await store.close()
    await store.close()
    with pytest.raises(NotReady, match="stopping"):
        async with store.transaction():
            pass


async def test_what_was_committed_is_there_after_opening_again(opening):
    first = await opening()
    async with first.transaction() as tx:
        await tx.events.append("s", NewEvent("read", {"n": 1}))
        epoch = (await tx.events.position("s")).epoch
    await first.close()
    second = await opening()
    async with second.transaction() as tx:
        position = await tx.events.position("s")
    await second.close()
    assert (position.epoch, position.head) == (epoch, 1)
