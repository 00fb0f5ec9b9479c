"""Tells readers of messages while they are written: the running text in deltas, and what a turn is doing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from gateway.events.running import RunningText
from gateway.events.told import ToldText

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.events.contract import Running
    from gateway.events.courier import Courier
    from gateway.events.streams import Streams

COALESCE_S: Final = 0.025
"""Tokens that arrive within this time of the last delta go out together, longer only while their stream has a pause
(`courier`); the first one never waits."""


class LiveTexts:
    """The messages that are being written, as this process knows of them; an `Announcer`."""

    def __init__(self, streams: Streams, courier: Courier) -> None:
        """Take where readers are found, and who tells them."""
        self._streams = streams
        self._courier = courier
        self._texts: dict[str, RunningText] = {}
        self._flushed_at: dict[str, float] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def find(self, message_id: str) -> RunningText | None:
        """Read a message that is being written."""
        return self._texts.get(message_id)

    def begin(self, running: Running) -> None:
        """Announce that a message is being written."""
        text = self._texts[running.message_id] = RunningText(running)
        for stream_id in running.streams:
            self._streams.open(stream_id).texts[running.message_id] = text

    def step(self, running: Running, step: str, detail: str) -> None:
        """Tell what the turn is doing."""
        self.flush(running)
        self._tell(running, "turn.step", self._texts[running.message_id].step(step, detail))

    def delta(self, running: Running, start: int, text: str) -> None:
        """Tell that the text from `start` on is now `text`; see `COALESCE_S`."""
        self._texts[running.message_id].replace(start, text)
        loop = asyncio.get_running_loop()
        due = max(self._flushed_at.get(running.message_id, float("-inf")) + COALESCE_S, self._free_at(running))
        if loop.time() >= due:
            self.flush(running)
        elif running.message_id not in self._timers:
            self._timers[running.message_id] = loop.call_at(due, self.flush, running)

    def flush(self, running: Running) -> None:
        """Send what is still held back."""
        self._drop_timer(running)
        data = self._texts[running.message_id].take_unsent()
        if data is not None:
            self._flushed_at[running.message_id] = asyncio.get_running_loop().time()
            self._tell(running, "message.delta", data)

    def end(self, running: Running) -> None:
        """Forget the running message."""
        self._drop_timer(running)
        self._flushed_at.pop(running.message_id, None)
        self._texts.pop(running.message_id, None)
        for stream_id in running.streams:
            stream = self._streams.by_id.get(stream_id)
            if stream is not None:
                stream.texts.pop(running.message_id, None)
                self._streams.forget_if_idle(stream_id)

    def _drop_timer(self, running: Running) -> None:
        if timer := self._timers.pop(running.message_id, None):
            timer.cancel()

    def _free_at(self, running: Running) -> float:
        """Tell when the streams of a message can be written to: text that would wait there grows here instead."""
        streams = (self._streams.by_id.get(stream_id) for stream_id in running.streams)
        return max((stream.free_at for stream in streams if stream is not None), default=0.0)

    def _tell(self, running: Running, event_type: str, data: Mapping[str, Any]) -> None:
        told = ToldText(running, event_type, data)
        for stream_id in running.streams:
            stream = self._streams.by_id.get(stream_id)
            if stream is not None:
                self._courier.tell(stream, (told,))
        if self._streams.watcher is not None:
            self._streams.watcher.told(running, event_type, data)
