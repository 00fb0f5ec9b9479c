"""What every exchange between gateways does; one suite over the one in process and the one over Redis."""

import asyncio
import signal

import pytest

from gateway.events.contract import Running
from gateway.events.exchange import Whisper
from gateway.events.local_exchange import Board, LocalExchange
from gateway.events.redis_exchange import RedisExchange
from shared.clock import SystemClock
from shared.ids import new_id
from tests import services
from tests.waiting import eventually

WITHIN_S = 60.0


class Heard:
    """A listener that writes everything down. `own` is what it tells anew when it joins."""

    def __init__(self):
        self.said = []
        self.on_join = lambda: None

    def woken(self, stream_id, head):
        self.said.append(("woken", stream_id, head))

    def begun(self, running):
        self.said.append(("begun", running))

    def running(self, running, event_type, data):
        self.said.append(("running", running.message_id, event_type, dict(data)))

    def ended(self, message_id):
        self.said.append(("ended", message_id))

    def whispered(self, stream_id, whisper):
        self.said.append(("whispered", stream_id, whisper))

    def joined(self):
        self.on_join()


@pytest.fixture(scope="module")
def server():
    try:
        with services.redis() as server:
            yield server
    except services.ServiceMissing as missing:
        pytest.skip(str(missing))


class Pair:
    """Two gateways' places, each with what it heard."""

    def __init__(self, here, there):
        self.here, self.there = here, there
        self.heard_here, self.heard_there = Heard(), Heard()
        here.join(self.heard_here)
        there.join(self.heard_there)
        self.tasks = [asyncio.create_task(each.serve()) for each in (here, there)]

    async def connected(self):
        await eventually(lambda: self.here.connected and self.there.connected, WITHIN_S)

    async def close(self):
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.here.close()
        await self.there.close()


@pytest.fixture(params=["local", pytest.param("redis", marks=pytest.mark.service("redis"))])
async def pair(request):
    if request.param == "local":
        board = Board()
        made = Pair(LocalExchange(board), LocalExchange(board))
    else:
        url, prefix = request.getfixturevalue("server").url, f"test-{new_id(SystemClock().now())}"
        made = Pair(*(RedisExchange(url, prefix, SystemClock()) for _ in range(2)))
    await made.connected()
    yield made
    await made.close()


def running(*streams):
    return Running(streams, "conversation", "turn", new_id(SystemClock().now()))


async def follow(pair, *stream_ids):
    """Follow streams there, and wait until what is told here arrives."""
    for stream_id in stream_ids:
        pair.there.follow(stream_id)

    async def arrives():
        pair.here.wake(stream_ids[-1], 1)
        await asyncio.sleep(0.01)
        return ("woken", stream_ids[-1], 1) in pair.heard_there.said

    async with asyncio.timeout(WITHIN_S):
        while not await arrives():
            pass
    pair.heard_there.said.clear()


def of_message(heard, message):
    return [each for each in heard.said if message.message_id in each or message in each]


async def test_a_wake_reaches_those_who_follow_and_never_oneself(pair):
    pair.here.follow("a")
    await follow(pair, "a")
    pair.here.wake("b", 9)
    pair.here.wake("a", 7)
    await eventually(lambda: ("woken", "a", 7) in pair.heard_there.said, WITHIN_S)
    assert {each[1] for each in pair.heard_there.said} == {"a"}
    assert pair.heard_here.said == []


async def test_a_text_arrives_in_order_and_ends(pair):
    message = running("a", "b")
    await follow(pair, "a")
    pair.here.begin(message)
    told = [("turn.step", {"step": "intent", "detail": ""})]
    told += [("message.delta", {"start": n, "text": "é\u2028\x00😀"}) for n in range(50)]
    for event_type, data in told:
        pair.here.tell(message, event_type, data)
        await asyncio.sleep(0)
    expected = [("begun", message), *(("running", message.message_id, *each) for each in told)]
    await eventually(lambda: len(of_message(pair.heard_there, message)) == len(expected), WITHIN_S)
    assert of_message(pair.heard_there, message) == expected
    pair.here.end(message)
    await eventually(lambda: ("ended", message.message_id) in pair.heard_there.said, WITHIN_S)


async def test_who_follows_in_the_middle_hears_all_of_it(pair):
    message = running("late", "staff")
    pair.here.begin(message)
    for number in range(3):
        pair.here.tell(message, "message.delta", {"start": number, "text": "x"})
    await follow(pair, "other")  # by now everything told before has gone out
    pair.there.follow("late")
    pair.there.follow("staff")
    await eventually(lambda: len(of_message(pair.heard_there, message)) == 4, WITHIN_S)
    pair.here.tell(message, "message.delta", {"start": 3, "text": "y"})
    await eventually(lambda: len(of_message(pair.heard_there, message)) == 5, WITHIN_S)
    assert [each[3]["start"] for each in of_message(pair.heard_there, message)[1:]] == [0, 1, 2, 3]


async def test_a_text_that_is_over_is_not_told_to_who_comes_later(pair):
    message = running("a")
    pair.here.begin(message)
    pair.here.tell(message, "message.delta", {"start": 0, "text": "x"})
    pair.here.end(message)
    await follow(pair, "a")
    pair.here.wake("a", 5)
    await eventually(lambda: ("woken", "a", 5) in pair.heard_there.said, WITHIN_S)
    assert of_message(pair.heard_there, message) == []


async def test_a_gateway_that_takes_a_turn_over_begins_its_text_anew(pair):
    message = running("a")
    pair.here.begin(message)
    pair.here.tell(message, "message.delta", {"start": 0, "text": "of the dead"})
    await follow(pair, "a")
    pair.here.follow("a")
    pair.there.begin(message)
    pair.there.tell(message, "message.delta", {"start": 0, "text": "of the living"})
    await eventually(lambda: len(of_message(pair.heard_here, message)) == 2, WITHIN_S)
    assert of_message(pair.heard_here, message)[1][3]["text"] == "of the living"
    pair.here.tell(message, "message.delta", {"start": 0, "text": "late words of the dead"})
    pair.there.tell(message, "message.delta", {"start": 3, "text": "more"})
    await eventually(lambda: len(of_message(pair.heard_here, message)) == 3, WITHIN_S)
    assert "late words" not in str(pair.heard_there.said)


async def test_who_no_longer_follows_is_told_that_the_text_is_gone_and_no_more(pair):
    message = running("a")
    await follow(pair, "a", "b")
    pair.here.begin(message)
    pair.here.tell(message, "message.delta", {"start": 0, "text": "x"})
    await eventually(lambda: len(of_message(pair.heard_there, message)) == 2, WITHIN_S)
    pair.there.unfollow("a")
    await eventually(lambda: ("ended", message.message_id) in pair.heard_there.said, WITHIN_S)


async def test_who_leaves_and_comes_back_at_once_hears_the_text_again(pair):
    """A page that reloads."""
    message = running("a")
    await follow(pair, "a")
    pair.here.begin(message)
    pair.here.tell(message, "message.delta", {"start": 0, "text": "x"})
    await eventually(lambda: len(of_message(pair.heard_there, message)) == 2, WITHIN_S)
    pair.there.unfollow("a")
    pair.there.follow("a")
    words = ("running", message.message_id, "message.delta", {"start": 0, "text": "x"})
    await eventually(lambda: pair.heard_there.said.count(words) == 2, WITHIN_S)
    told = [each[0] for each in of_message(pair.heard_there, message)]
    assert told == ["begun", "running", "ended", "begun", "running"]


async def test_a_passing_word_reaches_each_stream_that_is_followed(pair):
    whisper = Whisper("typing", {"typing": True}, "c", "staff:s")
    await follow(pair, "a", "b")
    pair.here.whisper(("a", "z", "b"), whisper)
    expected = [("whispered", "a", whisper), ("whispered", "b", whisper)]
    await eventually(lambda: len([each for each in pair.heard_there.said if each[0] == "whispered"]) == 2, WITHIN_S)
    assert sorted(each for each in pair.heard_there.said if each[0] == "whispered") == expected


@pytest.mark.service("redis")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
async def test_redis_that_is_lost_and_back_is_found_again_and_told_what_is_still_true(server, how):
    pair = Pair(*(RedisExchange(server.url, f"lost-{how}", SystemClock()) for _ in range(2)))
    try:
        await pair.connected()
        message = running("a")
        await follow(pair, "a")
        pair.here.begin(message)
        pair.here.tell(message, "message.delta", {"start": 0, "text": "be"})
        await eventually(lambda: len(of_message(pair.heard_there, message)) == 2, WITHIN_S)
        if how is signal.SIGKILL:
            server.stop(how)
        else:
            server.process.send_signal(how)
        await eventually(lambda: not pair.here.connected and not pair.there.connected, WITHIN_S)
        pair.here.tell(message, "message.delta", {"start": 2, "text": "fore"})

        def tell_anew():
            pair.here.begin(message)
            pair.here.tell(message, "message.delta", {"start": 0, "text": "before"})

        pair.heard_here.on_join = tell_anew
        pair.heard_there.said.clear()
        if how is signal.SIGKILL:
            server.start()
        else:
            server.process.send_signal(signal.SIGCONT)
        await pair.connected()
        whole = ("running", message.message_id, "message.delta", {"start": 0, "text": "before"})
        await eventually(lambda: whole in pair.heard_there.said, WITHIN_S)
        pair.here.end(message)
        await eventually(lambda: pair.heard_there.said[-1] == ("ended", message.message_id), WITHIN_S)
    finally:
        await pair.close()
