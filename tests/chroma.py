"""A private Chroma server on a free port of loopback, as `chroma run` starts it."""

from __future__ import annotations

import contextlib
import http.client
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.services import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

START_SECONDS = 60.0
STOP_SECONDS = 15.0
POLL_SECONDS = 0.1


class ChromaRun:
    """One server; `stop` and `start` keep its folder and port."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = [str(Path(sys.executable).parent / "chroma"), "run", "--path", str(self._folder / "data")]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--host", "127.0.0.1", "--port", str(self.port)], stdout=log, stderr=log
            )
        ends = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > ends:
                raise RuntimeError(f"chroma run does not answer: {(self._folder / 'log').read_text()[-500:]}")
            time.sleep(POLL_SECONDS)

    def stop(self) -> None:
        """End it; harmless when it does not run."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(STOP_SECONDS)
            self._process = None

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=1)
        try:
            connection.request("GET", "/api/v2/heartbeat")
            return connection.getresponse().status == http.HTTPStatus.OK
        except OSError:
            return False
        finally:
            connection.close()


@contextlib.contextmanager
def chroma_run(folder: Path) -> Iterator[ChromaRun]:
    """Run a server for as long as the block lasts."""
    server = ChromaRun(folder)
    try:
        server.start()
        yield server
    finally:
        server.stop()
