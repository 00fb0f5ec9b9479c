"""Hands what is told in a stream to its live readers, in one write each for all that waits.

A write costs the kernel the same whatever it carries, so what is worth saving is writes. The events of one transaction
go out together. After a stream was written to thousands of readers there is a pause of a quarter of the time that this
took, in which others have the loop and what is told is gathered; a stream of a few readers waits for nothing.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway.events.told import SLICE_BYTES
from shared.logs import logger

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from gateway.events.catch_up import CatchUp
    from gateway.events.contract import Encoder
    from gateway.events.reader import Reader
    from gateway.events.streams import Stream
    from gateway.events.told import Told

LIGHT_S: Final = 0.002
"""Writing to all readers of a stream that takes no longer is followed by no pause."""
PAUSE: Final = 0.25
"""The pause after writing to all readers, as a share of the time that it took."""
LONGEST_PAUSE_S: Final = 0.1
WAITING_LIMIT: Final = 256
"""Things told that wait; the next one sends them off, pause or not."""

log = logger(__name__)


@dataclass(frozen=True, slots=True)
class _Parcel:
    """What one reader, or all that stand at the same place and want the same, get of some things told."""

    data: bytes
    sent: int
    has_gap: bool
    ends: bool


class Courier:
    """Carries what is told to the live readers of streams."""

    def __init__(self, encoder: Encoder, catch_up: CatchUp) -> None:
        """Take what makes bytes, and who serves readers that lag or miss something."""
        self._encoder = encoder
        self._catch_up = catch_up

    def tell(self, stream: Stream, things: Iterable[Told]) -> None:
        """Tell live readers at once, or together with what else is told until the stream's pause is over."""
        if not stream.readers:
            return
        stream.waiting.extend(things)
        loop = asyncio.get_running_loop()
        if len(stream.waiting) >= WAITING_LIMIT or loop.time() >= stream.free_at:
            self._send_off(stream)
        elif stream.timer is None:
            stream.timer = loop.call_at(stream.free_at, self._send_off, stream)

    def _send_off(self, stream: Stream) -> None:
        if stream.timer is not None:
            stream.timer.cancel()
            stream.timer = None
        loop = asyncio.get_running_loop()
        began = loop.time()
        while stream.waiting:
            count = self._slice(stream)
            things = stream.waiting[:count]
            self._hand_out(stream, things)
            del stream.waiting[:count]
            stream.told += count
        ended = loop.time()
        if ended - began > LIGHT_S:
            stream.free_at = ended + min(LONGEST_PAUSE_S, PAUSE * (ended - began))

    def _slice(self, stream: Stream) -> int:
        """Tell how many of the things that wait make about `SLICE_BYTES`, one at least."""
        waiting, readers = stream.waiting, stream.readers
        if len(waiting) == 1 or not readers:
            return len(waiting)
        language = next(iter(readers.values())).language
        size = 0
        for count, thing in enumerate(waiting):
            with suppress(Exception):  # whoever wants it is cut when it is put together
                size += len(thing.encoded(self._encoder, language))
            if size > SLICE_BYTES:
                return max(1, count)
        return len(waiting)

    def _hand_out(self, stream: Stream, things: Sequence[Told]) -> None:
        parcels: dict[Hashable, _Parcel] = {}
        told = stream.told
        for reader in stream.live():
            if reader.lags():
                self._catch_up.start(reader)
                continue
            skipped = reader.since - told
            place = (reader.epoch, reader.sent, reader.language, reader.channels, reader.turn_id, max(0, skipped))
            parcel = parcels.get(place) if reader.audience is None else None
            if parcel is None:
                parcel = self._packed(reader, things[max(0, skipped) :])
                if parcel is None:
                    continue
                parcels[place] = parcel
            reader.sent = parcel.sent
            if parcel.data:
                reader.sink.write(parcel.data)
            if parcel.has_gap:
                self._catch_up.start(reader)
            elif parcel.ends:
                reader.sink.end()

    def _packed(self, reader: Reader, things: Sequence[Told]) -> _Parcel | None:
        """Put together what a reader gets; None when something cannot be shown, for which the reader is cut."""
        try:
            return self._pack(reader, things)
        except Exception:  # one event that cannot be shown must not end the telling of everyone
            log.exception("reader_cut", stream_id=reader.stream_id)
            self._catch_up.cut(reader)
            return None

    def _pack(self, reader: Reader, things: Sequence[Told]) -> _Parcel:
        parts: list[bytes] = []
        sent, ends = reader.sent, False
        for thing in things:
            event = thing.event
            if event is not None:
                if event.offset <= sent and event.epoch == reader.epoch:
                    continue
                if event.offset != sent + 1 or event.epoch != reader.epoch:
                    return _Parcel(b"".join(parts), sent, has_gap=True, ends=ends)
                sent = event.offset
                ends = ends or reader.sees_end(event)
            if thing.wanted_by(reader):
                parts.append(thing.encoded(self._encoder, reader.language))
        return _Parcel(b"".join(parts), sent, has_gap=False, ends=ends)
