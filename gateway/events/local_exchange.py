"""The exchange of gateways in one process: by default there is only one, and nobody else to tell."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.events.contract import Running
    from gateway.events.exchange import Listener, Whisper


@dataclass(slots=True)
class _Written:
    """A message that is being written, and all that was told of it."""

    running: Running
    owner: LocalExchange
    told: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)


class Board:
    """What the gateways of one process share."""

    def __init__(self) -> None:
        """Begin with nobody."""
        self.members: list[LocalExchange] = []
        self.written: dict[str, _Written] = {}

    def others(self, me: LocalExchange, *stream_ids: str) -> list[LocalExchange]:
        """Find who else follows any of the streams."""
        return [each for each in self.members if each is not me and not each.followed.isdisjoint(stream_ids)]


class LocalExchange:
    """One gateway's place; see `gateway.events.exchange.Exchange`."""

    def __init__(self, board: Board | None = None) -> None:
        """Take what is shared; alone without."""
        self.followed: set[str] = set()
        self._board = board or Board()
        self._board.members.append(self)
        self._listener: Listener | None = None

    @property
    def connected(self) -> bool:
        """Alone, a gateway does not know whether there are others."""
        return len(self._board.members) > 1

    @property
    def broken(self) -> bool:
        """Nothing here can break."""
        return False

    @property
    def listener(self) -> Listener:
        """Who hears what others tell."""
        assert self._listener is not None
        return self._listener

    def join(self, listener: Listener) -> None:
        """Name who hears."""
        self._listener = listener

    def follow(self, stream_id: str) -> None:
        """Hear of a stream, and first of what is being written in it."""
        before = set(self.followed)
        self.followed.add(stream_id)
        for written in self._board.written.values():
            streams = written.running.streams
            if written.owner is not self and stream_id in streams and before.isdisjoint(streams):
                self.listener.begun(written.running)
                for event_type, data in written.told:
                    self.listener.running(written.running, event_type, data)

    def unfollow(self, stream_id: str) -> None:
        """Hear of it no longer."""
        self.followed.discard(stream_id)
        for message_id, written in self._board.written.items():
            streams = written.running.streams
            if written.owner is not self and stream_id in streams and self.followed.isdisjoint(streams):
                self.listener.ended(message_id)

    def wake(self, stream_id: str, head: int) -> None:
        """Tell that a stream has grown."""
        for each in self._board.others(self, stream_id):
            each.listener.woken(stream_id, head)

    def begin(self, running: Running) -> None:
        """Tell that we write a message."""
        self._board.written[running.message_id] = _Written(running, self)
        for each in self._board.others(self, *running.streams):
            each.listener.begun(running)

    def tell(self, running: Running, event_type: str, data: Mapping[str, Any]) -> None:
        """Tell a step or a delta."""
        written = self._board.written.get(running.message_id)
        if written is None or written.owner is not self:
            return
        written.told.append((event_type, data))
        for each in self._board.others(self, *running.streams):
            each.listener.running(running, event_type, data)

    def end(self, running: Running) -> None:
        """Tell that the message is written."""
        written = self._board.written.get(running.message_id)
        if written is None or written.owner is not self:
            return
        del self._board.written[running.message_id]
        for each in self._board.others(self, *running.streams):
            each.listener.ended(running.message_id)

    def whisper(self, stream_ids: tuple[str, ...], whisper: Whisper) -> None:
        """Tell a passing word."""
        for stream_id in stream_ids:
            for each in self._board.others(self, stream_id):
                each.listener.whispered(stream_id, whisper)

    async def serve(self) -> None:
        """There is nothing to keep."""
        await asyncio.Event().wait()

    async def close(self) -> None:
        """Leave."""
        if self in self._board.members:
            self._board.members.remove(self)
