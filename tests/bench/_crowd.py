"""Many clients of event streams in one process: bare sockets on one epoll, so that the crowd is faster than what it
listens to.
"""

from __future__ import annotations

import contextlib
import re
import select
import socket
import time
from collections.abc import Iterator

PIECE = 256 * 1024
CONNECT_S = 30.0
QUIET_S = 0.4
"""Nothing for so long: whatever was sent has arrived."""
OPENED = b"retry:"
"""What our event streams begin with, once the store has told where."""
TIME = re.compile(rb'"t":(\d+)')


def follow(port: int, token: str, cursor: str = "") -> bytes:
    """Write the request that opens a visitor's event stream; without presence, which makes events of its own."""
    lines = [
        "GET /v1/events?channels=support HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        f"Authorization: Bearer {token}",
        *([f"Last-Event-ID: {cursor}"] if cursor else []),
    ]
    return "\r\n".join([*lines, "", ""]).encode()


class Crowd:
    """Connected readers. `watched` ones keep what they read; of the others only bytes are counted."""

    def __init__(self) -> None:
        self.sockets: dict[int, socket.socket] = {}
        self.watched: dict[int, bytearray] = {}
        self.count_bytes = 0
        self._epoll = select.epoll()
        self._buffer = bytearray(PIECE)

    def join(self, port: int, request: bytes, count: int, *, reads: bool = True, watched: int = 0) -> list[int]:
        """Connect `count` readers; the first `watched` keep what they read, and with `reads` off none ever reads."""
        made: list[int] = []
        for number in range(count):
            each = self._call(port, request, reads=reads)
            made.append(each.fileno())
            if reads:
                self._sit_down(each, watched=number < watched)
        return made

    def come(self, port: int, requests: list[bytes]) -> list[int]:
        """Connect one watched reader for each request, all at once: nobody waits for another's answer."""
        sockets = [self._call(port, request, reads=True) for request in requests]
        for each in sockets:
            self._sit_down(each, watched=True, until=OPENED)
        return [each.fileno() for each in sockets]

    def _call(self, port: int, request: bytes, *, reads: bool) -> socket.socket:
        made = socket.socket()
        if not reads:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made.settimeout(CONNECT_S)
        made.connect(("127.0.0.1", port))
        made.sendall(request)
        self.sockets[made.fileno()] = made
        return made

    def _sit_down(self, each: socket.socket, *, watched: bool, until: bytes = b"") -> None:
        """Wait until the response has begun, and `until` has come."""
        head = b""
        while b"\r\n\r\n" not in head or until not in head:
            piece = each.recv(65536)
            if not piece:
                raise ConnectionError("the server closed the stream")
            head += piece
        if not head.startswith(b"HTTP/1.1 200"):
            raise ConnectionError(head.partition(b"\r\n")[0].decode())
        if watched:
            self.watched[each.fileno()] = bytearray(head.partition(b"\r\n\r\n")[2])
        each.setblocking(False)
        self._epoll.register(each.fileno(), select.EPOLLIN)

    def leave(self, numbers: list[int] | None = None) -> None:
        """Close some, or all."""
        for number in list(self.sockets) if numbers is None else numbers:
            with contextlib.suppress(OSError, ValueError):
                self._epoll.unregister(number)
            self.sockets.pop(number).close()
            self.watched.pop(number, None)

    def read(self, timeout_s: float) -> int:
        """Take what is there now, waiting at most `timeout_s` for something; tells how many bytes."""
        taken = 0
        for number, _ in self._epoll.poll(timeout_s):
            try:
                size = self.sockets[number].recv_into(self._buffer)
            except BlockingIOError:
                continue
            if size == 0:
                self._epoll.unregister(number)
                continue
            taken += size
            kept = self.watched.get(number)
            if kept is not None:
                self.heard(number, self._buffer[:size])
        self.count_bytes += taken
        return taken

    def heard(self, number: int, data: bytearray) -> None:
        """Take what a watched reader read."""
        self.watched[number] += data

    def until(self, count_bytes: int, within_s: float) -> None:
        """Read until so many bytes have come in all."""
        ends = time.monotonic() + within_s
        while self.count_bytes < count_bytes:
            if time.monotonic() > ends:
                raise TimeoutError(f"{self.count_bytes} of {count_bytes} bytes came")
            self.read(0.2)

    def settle(self) -> int:
        """Read until nothing comes for a while; tells the bytes so far."""
        while self.read(QUIET_S):
            pass
        return self.count_bytes

    @contextlib.contextmanager
    def closing(self) -> Iterator[Crowd]:
        """Close all at the end."""
        try:
            yield self
        finally:
            self.leave()
            self._epoll.close()


class TimingCrowd(Crowd):
    """Its watched readers keep only how long each event was on its way, in seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.delays: list[float] = []

    def heard(self, number: int, data: bytearray) -> None:
        """Read the times of whole events; a half one waits for its rest."""
        now = time.monotonic_ns()
        held = self.watched[number]
        held += data
        end = held.rfind(b"\n\n")
        if end < 0:
            return
        self.delays += [(now - int(made)) / 1e9 for made in TIME.findall(held[:end])]
        del held[:end]
