"""The exchange over Redis. While Redis is away nothing is kept for it; once back, what is still true is told anew.

One session at a time, of four tasks: what we tell goes out in one pipeline at a time, channels are joined and left,
their messages are heard, and texts that they name are read. When one breaks the session ends, and the next begins
after a pause that grows to `LONGEST_PAUSE_S`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from gateway.events.cancellation import heed_cancellation, until_one_ends
from gateway.events.redis_outbox import Outbox
from gateway.events.redis_texts import TextsOfOthers
from gateway.events.redis_words import Keys, read_notice
from shared.ids import new_id
from shared.logs import logger

if TYPE_CHECKING:
    from collections.abc import Mapping

    from redis.asyncio.client import PubSub

    from gateway.events.contract import Running
    from gateway.events.exchange import Listener, Whisper
    from shared.clock import Clock

ANSWER_S: Final = 2.0
"""How long Redis may take to answer before it counts as away."""
HEARTBEAT_S: Final = 1.0
"""How often Redis is asked for a sign of life when there is nothing to tell."""
FIRST_PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 5.0
BROKEN: Final = (RedisError, OSError, TimeoutError)

log = logger(__name__)


class RedisExchange:
    """One gateway's place; see `gateway.events.exchange.Exchange`."""

    def __init__(self, url: str, prefix: str, clock: Clock) -> None:
        """Take where Redis is (`redis://…`, `rediss://…`) and what our names in it begin with."""
        self._redis: Redis = Redis.from_url(
            url,
            decode_responses=True,
            protocol=2,
            socket_timeout=ANSWER_S,
            socket_connect_timeout=ANSWER_S,
            retry=Retry(NoBackoff(), 0),
        )
        self._member = new_id(clock.now())
        self._keys = Keys(prefix)
        self._clock = clock
        self._outbox = Outbox(self._keys, self._member)
        self._spoken = asyncio.Event()
        self._followed: set[str] = set()
        self._left: set[str] = set()
        self._changed = asyncio.Event()
        self._texts = TextsOfOthers(self._redis, self._keys, self._member)
        self._connected = False
        self._closing = False

    @property
    def connected(self) -> bool:
        """Whether Redis answers and we hear its channels."""
        return self._connected

    @property
    def broken(self) -> bool:
        """Whether Redis is away."""
        return not self._connected

    @property
    def listener(self) -> Listener:
        """Who hears what others tell."""
        return self._texts.listener

    # ------------------------------------------------------------------ what we say

    def join(self, listener: Listener) -> None:
        """Name who hears."""
        self._texts.join(listener)

    def follow(self, stream_id: str) -> None:
        """Hear of a stream from now on."""
        self._followed.add(stream_id)
        self._changed.set()

    def unfollow(self, stream_id: str) -> None:
        """Hear of it no longer."""
        self._followed.discard(stream_id)
        self._left.add(stream_id)
        self._changed.set()
        self._texts.leave(self._followed)

    def wake(self, stream_id: str, head: int) -> None:
        """Tell that a stream has grown."""
        if self._may_speak():
            notice = self._outbox.notice(stream_id)
            notice.head = max(notice.head, head)

    def begin(self, running: Running) -> None:
        """Tell that we write a message."""
        if self._may_speak():
            self._outbox.begin(running)

    def tell(self, running: Running, event_type: str, data: Mapping[str, Any]) -> None:
        """Tell a step or a delta."""
        if self._may_speak():
            self._outbox.tell(running, event_type, data)

    def end(self, running: Running) -> None:
        """Tell that the message is written."""
        if self._may_speak():
            self._outbox.end(running)

    def whisper(self, stream_ids: tuple[str, ...], whisper: Whisper) -> None:
        """Tell a passing word."""
        for stream_id in stream_ids:
            if self._may_speak():
                self._outbox.whisper(stream_id, whisper)

    def _may_speak(self) -> bool:
        if not self._connected:
            return False
        if self._outbox.full():
            log.warning("redis_too_slow", words=self._outbox.count)
            self._connected = False  # the sender sees it and ends the session
        self._spoken.set()
        return self._connected

    # ------------------------------------------------------------------ sessions

    async def serve(self) -> None:
        """Keep in touch for ever."""
        pause, told = FIRST_PAUSE_S, False
        while True:
            try:
                await self._session()
            except* BROKEN as group:
                if self._connected:
                    pause, told = FIRST_PAUSE_S, False
                if not told:
                    log.warning("redis_away", reason=_reason(group))
                told = True
            except* Exception:  # streams go on without Redis, whatever it said
                log.exception("redis_session_broken")
            finally:
                self._lose()
            heed_cancellation()
            await self._clock.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    async def close(self) -> None:
        """Say what is still to be said, and leave."""
        if self._closing:
            return
        self._closing = True
        with suppress(*BROKEN):
            if self._connected:
                await self._send()
        self._lose()
        await self._redis.aclose()

    async def _session(self) -> None:
        pubsub = self._redis.pubsub()
        try:
            await self._redis.ping()
            joined = set(self._followed)
            await pubsub.subscribe(self._keys.own(self._member), *map(self._keys.channel, joined))
            self._connected = True
            log.info("redis_joined", streams=len(joined))
            self.listener.joined()
            self._texts.resume()
            await self._texts.look_in(joined)
            heed_cancellation()
            await until_one_ends(
                self._send_for_ever(), self._join_for_ever(pubsub, joined), self._hear_for_ever(pubsub),
                self._texts.read_for_ever(),
            )  # fmt: skip
        finally:
            with suppress(*BROKEN):
                await pubsub.aclose()

    def _lose(self) -> None:
        self._connected = False
        self._outbox = Outbox(self._keys, self._member)
        self._texts.lose()

    # ------------------------------------------------------------------ telling

    async def _send_for_ever(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(HEARTBEAT_S):
                    await self._spoken.wait()
            self._spoken.clear()
            if not self._connected:
                raise TimeoutError("Redis does not take what there is to tell")
            await self._send()

    async def _send(self) -> None:
        """Send everything there is in one round trip, and be it a sign of life."""
        async with self._redis.pipeline(transaction=False) as pipeline:
            self._outbox.empty_into(pipeline)
            pipeline.ping()
            await pipeline.execute()

    # ------------------------------------------------------------------ hearing

    async def _join_for_ever(self, pubsub: PubSub, joined: set[str]) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            new, gone = self._followed - joined, joined - self._followed
            # Whoever left and came back, as a page that reloads, has forgotten the texts but kept the channel.
            back, self._left = self._left & joined & self._followed, set()
            if gone:
                await pubsub.unsubscribe(*map(self._keys.channel, gone))
            if new:
                await pubsub.subscribe(*map(self._keys.channel, new))
            if new or back:
                await self._texts.look_in(new | back)
            joined.difference_update(gone)
            joined.update(new)

    async def _hear_for_ever(self, pubsub: PubSub) -> None:
        while True:
            message = await pubsub.get_message(ignore_subscribe_messages=True, timeout=None)
            if message is None or message["type"] != "message":
                continue
            member, notice = read_notice(message["data"])
            if member == self._member:
                continue
            stream_id = message["channel"].removeprefix(self._keys.channel(""))
            if notice.head:
                self.listener.woken(stream_id, notice.head)
            for message_id in notice.over:
                self._texts.forget(message_id)
            for whisper in notice.whispers:
                self.listener.whispered(stream_id, whisper)
            if notice.texts:
                self._texts.name(notice.texts)


def _reason(group: BaseExceptionGroup[Exception]) -> str:
    first: BaseException = group
    while isinstance(first, BaseExceptionGroup):
        first = first.exceptions[0]
    return f"{type(first).__name__}: {first}"
