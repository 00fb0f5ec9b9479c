"""What this process knows of the streams that someone reads or writes now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.events.reader import State

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterator

    from gateway.events.contract import Watcher
    from gateway.events.reader import Reader
    from gateway.events.running import RunningText
    from gateway.events.told import Told


class Stream:
    """One of them: how far it goes, who reads it, and what is being written in it.

    `waiting` is what its live readers have still to be told, from `free_at` on; `told` counts what was told before.
    """

    __slots__ = ("epoch", "free_at", "head", "readers", "texts", "timer", "told", "waiting")

    def __init__(self) -> None:
        """Begin with nobody."""
        self.epoch = ""
        self.head = 0
        self.readers: dict[int, Reader] = {}
        self.texts: dict[str, RunningText] = {}
        self.waiting: list[Told] = []
        self.told = 0
        self.free_at = 0.0
        self.timer: asyncio.TimerHandle | None = None

    def goes_to(self, epoch: str, head: int) -> None:
        """Take note of how far the stream goes; one begun anew has another epoch and goes less far."""
        self.head = max(self.head, head) if epoch == self.epoch else head
        self.epoch = epoch

    def live(self) -> list[Reader]:
        """List those whom events reach directly, as they are now."""
        return [reader for reader in self.readers.values() if reader.state is State.LIVE]


class Streams:
    """All of them, by id; one that nobody reads or writes any more is forgotten."""

    def __init__(self) -> None:
        """Begin with none."""
        self.by_id: dict[str, Stream] = {}
        self.watcher: Watcher | None = None

    def open(self, stream_id: str) -> Stream:
        """Find a stream, or begin to know it."""
        return self.by_id.setdefault(stream_id, Stream())

    def join(self, reader: Reader) -> None:
        """Let a reader in."""
        stream = self.open(reader.stream_id)
        stream.readers[id(reader)] = reader
        if self.watcher is not None and len(stream.readers) == 1:
            self.watcher.followed(reader.stream_id)

    def leave(self, reader: Reader) -> None:
        """Let a reader go; one that has left before is let go again without harm."""
        stream = self.by_id.get(reader.stream_id)
        if stream is None:
            return
        if stream.readers.pop(id(reader), None) and not stream.readers and self.watcher is not None:
            self.watcher.left(reader.stream_id)
        self.forget_if_idle(reader.stream_id)

    def readers(self) -> Iterator[Reader]:
        """Go through the readers of all streams."""
        for stream in self.by_id.values():
            yield from stream.readers.values()

    def forget_if_idle(self, stream_id: str) -> None:
        """Forget a stream in which nobody reads and nothing is being written."""
        stream = self.by_id.get(stream_id)
        if stream is not None and not stream.readers and not stream.texts:
            del self.by_id[stream_id]
