"""Two gateways on one real PostgreSQL, joined by nothing, by the exchange in process, or by a real Redis."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import asyncpg
import pytest

from gateway.events.local_exchange import Board, LocalExchange
from gateway.events.redis_exchange import RedisExchange
from gateway.identity import passwords
from gateway.web import health
from shared.clock import SystemClock
from shared.ids import new_id
from tests import services as services_of
from tests.fakes.assistant import Pause, ScriptedAssistant, answering
from tests.fakes.gateway import PASSWORD, Shared, open_services, serving, staff_member
from tests.integration.gateway.client import Browser, Documented, is_done
from tests.integration.gateway.conftest import GENEROUS
from tests.waiting import eventually

pytestmark = [pytest.mark.service("postgresql"), pytest.mark.service("redis")]
WITHIN_S = 60.0
ANSWER = "Une réponse assez longue pour être coupée en deux"


def started(service):
    try:
        with service() as server:
            yield server
    except services_of.ServiceMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def database():
    yield from started(services_of.postgres)


@pytest.fixture(scope="module")
def redis():
    yield from started(services_of.redis)


class Two:
    """Two gateways and what talks to them."""

    def __init__(self, urls, services, http, assistant):
        self.urls, self.services, self.http, self.assistant = urls, services, http, assistant
        self.documented = None

    async def browser(self, place, *, same_as=None):
        """Make a visitor's browser on one of the gateways; the same visitor as another one's where one is given."""
        if self.documented is None:
            async with self.http.get(f"{self.urls[0]}/openapi.json") as response:
                self.documented = Documented(await response.json())
        browser = Browser(self.http, self.urls[place], self.documented)
        if same_as is None:
            await browser.open_session()
        else:
            browser.token, browser.visitor_id = same_as.token, same_as.visitor_id
        return browser

    async def staff(self, place, login):
        """Sign someone of the staff in on one of the gateways."""
        await staff_member(self.services[place], login, name=login.title())
        desk = await self.browser(place, same_as=Browser(self.http, "", self.documented))
        session = await desk.good("POST", "/v1/staff/sessions", {"login": login, "password": PASSWORD})
        desk.token = session["token"]
        return desk


def exchanges(kind, redis):
    if kind == "none":
        return LocalExchange(), LocalExchange()
    if kind == "local":
        board = Board()
        return LocalExchange(board), LocalExchange(board)
    prefix = new_id(SystemClock().now())
    return tuple(RedisExchange(redis.url, prefix, SystemClock()) for _ in range(2))


@asynccontextmanager
async def two_gateways(tmp_path, database, made, assistant):
    url = database.emptied()
    async with AsyncExitStack() as stack:
        opened, urls = [], []
        for place, exchange in enumerate(made):
            shared = Shared(url, exchange)
            services = await stack.enter_async_context(
                open_services(tmp_path / str(place), assistant, limits=GENEROUS, shared=shared)
            )
            opened.append(services)
            urls.append(await stack.enter_async_context(serving(services)))
        connector = aiohttp.TCPConnector(limit=0, force_close=True)
        http = await stack.enter_async_context(aiohttp.ClientSession(connector=connector, auto_decompress=False))
        if not isinstance(made[0], LocalExchange):
            await eventually(lambda: all(each.connected for each in made), WITHIN_S)
        yield Two(urls, opened, http, assistant)


@pytest.fixture
def assistant():
    return ScriptedAssistant(lambda question: [*answering(ANSWER)[:9], Pause(), *answering(ANSWER)[9:]])


@pytest.fixture(params=["local", "redis"])
async def two(request, tmp_path, database, redis, assistant, monkeypatch):
    monkeypatch.setattr(passwords, "COST", 2**4)
    made = exchanges(request.param, redis)
    async with two_gateways(tmp_path, database, made, assistant) as opened:
        yield opened


@pytest.fixture
async def joined(tmp_path, database, redis, assistant):
    async with two_gateways(tmp_path, database, exchanges("redis", redis), assistant) as opened:
        yield opened


def replay(events):
    """Write down a message as a page does: from its deltas, then whole."""
    text, whole = "", None
    for event in events:
        data = json.loads(event.data)
        if event.type == "message.delta":
            assert data["start"] <= len(text)
            text = text[: data["start"]] + data["text"]
        if event.type == "message.created" and data["role"].upper() == "AI":
            whole = data["text"]
    return text, whole


def text_of(reading):
    return replay(reading.seen)[0]


async def test_an_answer_is_read_through_the_other_gateway_while_it_is_written(two):
    """Also by who comes in the middle: the text so far is one delta, and nothing is told twice."""
    here = await two.browser(0)
    there = await two.browser(1, same_as=here)
    conversation = await here.open_conversation()
    async with there.events() as early:
        await early.opened()
        async with here.turn(conversation, "raconte") as turn:
            half = "Une réponse assez longue pour "
            await eventually(lambda: two.assistant.started, WITHIN_S)
            async with asyncio.timeout(WITHIN_S):
                while text_of(early) != half:
                    await early.next()
            async with there.events() as late:
                async with asyncio.timeout(WITHIN_S):
                    while text_of(late) != half:
                        await late.next()
                two.assistant.release()
                await turn.rest()
                for reading in (early, late):
                    await reading.until(is_done)
                    text, whole = replay(reading.seen)
                    assert (ANSWER.startswith(text), whole) == (True, ANSWER)
                    assert len([each for each in reading.seen if each.type == "message.created"]) == (
                        2 if reading is early else 1
                    )
    assert two.assistant.started == 1


async def test_a_visitor_on_one_gateway_and_staff_on_the_other_hear_each_other(two):
    two.assistant.script = lambda question: answering("court")
    visitor = await two.browser(0)
    conversation = await visitor.open_conversation()
    await visitor.say(conversation, "Bonjour")
    ticket = await visitor.good("POST", f"/v1/conversations/{conversation}/escalate")
    ana = await two.staff(1, "ana")
    await ana.good("POST", f"/v1/conversations/{conversation}/open")
    async with visitor.events() as of_visitor, ana.events() as of_ana:
        await of_visitor.opened()
        await of_ana.opened()
        await visitor.say(conversation, "Vous êtes là ?")
        await of_ana.until(lambda event: "Vous êtes là ?" in event.data)
        typing = f"/v1/conversations/{conversation}/typing"
        await eventually(lambda: _typed(visitor, typing, of_ana), WITHIN_S)
        await ana.good("POST", typing, {"typing": True})
        assert '"by":"staff"' in (await of_visitor.until(lambda event: event.type == "typing"))[-1].data
        await ana.good("POST", f"/v1/tickets/{ticket['id']}/reply", {"text": "Oui, bonjour"})
        await of_visitor.until(lambda event: event.type == "message.created" and "Oui, bonjour" in event.data)


async def _typed(visitor, path, reading):
    """Type until it is heard: words that pass before a channel is joined are lost, and may be."""
    await visitor.good("POST", path, {"typing": True})
    try:
        async with asyncio.timeout(1):
            await reading.until(lambda event: event.type == "typing")
    except TimeoutError:
        return False
    return True


async def test_presence_counts_streams_on_both_gateways(two):
    await two.browser(0)
    ana = await two.staff(1, "ana")
    ben = await two.staff(0, "ben")
    async with ben.events() as of_ben:
        await of_ben.opened()
        async with ana.events() as of_ana:
            await of_ana.opened()
            heard = await of_ben.until(lambda event: event.type == "admin.status")
            assert json.loads(heard[-1].data)["status"] == "online"


async def test_the_same_key_on_both_gateways_at_once_is_one_turn(two):
    two.assistant.script = lambda question: answering("une fois")
    here = await two.browser(0)
    there = await two.browser(1, same_as=here)
    conversation = await here.open_conversation()
    saying = [each.say(conversation, "une fois", headers={"Idempotency-Key": "k"}) for each in (here, there) * 3]
    answers = await asyncio.gather(*saying)
    assert len({each["turn_id"] for each in answers}) == 1
    assert two.assistant.started == 1


async def test_two_escalations_through_two_gateways_make_one_ticket(two):
    two.assistant.script = lambda question: answering("court")
    here = await two.browser(0)
    there = await two.browser(1, same_as=here)
    for _ in range(5):
        conversation = await here.open_conversation()
        await here.say(conversation, "aidez-moi")
        path = f"/v1/conversations/{conversation}/escalate"
        answers = await asyncio.gather(*(each.call("POST", path) for each in (here, there) * 2))
        assert sorted(each.status for each in answers) == [200, 200, 200, 201]
        assert len({each.body["id"] for each in answers}) == 1


async def test_without_an_exchange_events_come_by_looking_into_the_database(tmp_path, database, redis, assistant):
    async with two_gateways(tmp_path, database, exchanges("none", redis), assistant) as two:
        here = await two.browser(0)
        there = await two.browser(1, same_as=here)
        conversation = await here.open_conversation()
        async with there.events() as reading:
            await reading.opened()
            two.assistant.script = lambda question: answering(ANSWER)
            await here.say(conversation, "raconte")
            await reading.until(is_done)
        assert replay(reading.seen)[1] == ANSWER


async def test_redis_lost_in_the_middle_of_an_answer_costs_none_of_it(joined, redis):
    here = await joined.browser(0)
    there = await joined.browser(1, same_as=here)
    conversation = await here.open_conversation()
    async with there.events() as reading, here.turn(conversation, "raconte") as turn:
        async with asyncio.timeout(WITHIN_S):
            while "longue" not in text_of(reading):
                await reading.next()
        redis.stop(signal.SIGKILL)
        try:
            await eventually(lambda: joined.services[1].relay.broken, WITHIN_S)
            assert (await there.call("GET", "/readyz?of=gateway")).body["state"] == "degraded"
            joined.assistant.release()
            await turn.rest()
            await reading.until(is_done)
            assert replay(reading.seen)[1] == ANSWER
        finally:
            redis.start()
        await eventually(lambda: not any(each.relay.broken for each in joined.services), WITHIN_S)
        assert (await there.call("GET", "/readyz?of=gateway")).body["state"] == "ready"


async def test_a_connection_lost_in_the_middle_of_a_request_is_not_told(joined, database):
    """As a failover does it, or a gateway that stood still longer than the database waits."""
    browser = await joined.browser(0)
    hand = await asyncpg.connect(database.dsn(f"test_{database.made}"))
    try:
        await hand.execute("BEGIN; LOCK TABLE visitors IN ACCESS EXCLUSIVE MODE")
        opening = asyncio.create_task(browser.open_session())
        await eventually(lambda: _waits(hand), WITHIN_S)
        await hand.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'passeur-gateway'; COMMIT"
        )
        await opening
    finally:
        await hand.close()
    assert await browser.open_conversation()


async def _waits(hand):
    return await hand.fetchval(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'passeur-gateway'"
    )


@pytest.mark.parametrize("how", [signal.SIGQUIT, signal.SIGSTOP])
async def test_a_database_that_is_lost_and_back_is_told_and_nothing_is_lost(joined, database, how, monkeypatch):
    monkeypatch.setattr(health, "PROBE_S", 0.5)
    joined.assistant.script = lambda question: answering(ANSWER)
    here = await joined.browser(0)
    conversation = await here.open_conversation()
    await here.say(conversation, "avant")
    async with here.events() as reading:
        await reading.opened()
        if how is signal.SIGQUIT:
            database.stop(how)
        else:
            _signal_all(database, how)
        try:
            for place in range(2):
                ready = await (await joined.browser(place, same_as=here)).call("GET", "/readyz?of=gateway")
                assert ready.status == 503
                assert "atabase" in ready.body["dependencies"]["gateway"]["reasons"][0]
            if how is signal.SIGQUIT:
                refused = await here.call("POST", f"/v1/conversations/{conversation}/messages", {"text": "pendant"})
                assert refused.status == 503
        finally:
            if how is signal.SIGQUIT:
                database.start()
            else:
                _signal_all(database, signal.SIGCONT)
        await eventually(lambda: _is_ready(here), WITHIN_S)
        await here.say(conversation, "après")
        await reading.until(is_done)
    assert replay(reading.seen)[1] == ANSWER


async def _is_ready(browser):
    return (await browser.call("GET", "/readyz?of=gateway")).status == 200


def _signal_all(database, number):
    """Freeze or thaw the server with all its workers, each of which is a process group of its own."""
    children = Path(f"/proc/{database.process.pid}/task/{database.process.pid}/children").read_text(encoding="ascii")
    for pid in (database.process.pid, *map(int, children.split())):
        os.kill(pid, number)
