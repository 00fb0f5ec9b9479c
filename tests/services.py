"""Private instances of real services, each on a free port of loopback, in a folder of its own, as no root user."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

START_SECONDS = 60.0
POLL_SECONDS = 0.05
UNPRIVILEGED = "nobody"


EMPTY = """
DO $$
DECLARE name text;
BEGIN
    SET LOCAL session_replication_role = replica;
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public'
        AND tablename NOT IN ('schema_version', 'probes', 'alembic_version') LOOP
        EXECUTE 'DELETE FROM ' || quote_ident(name);
    END LOOP;
END $$
"""
"""Empties every table past the triggers that forbid it; the tests' user owns the database."""


class ServiceMissing(Exception):
    """The program is not installed or does not start; the sentence is a reason to skip."""


def free_port() -> int:
    """Find a port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def as_user() -> dict[str, str]:
    """Give the arguments that make a child run without root's rights."""
    return {"user": UNPRIVILEGED, "group": "nogroup"} if os.geteuid() == 0 else {}


@contextlib.contextmanager
def private_folder(prefix: str) -> Iterator[Path]:
    """Make a folder that the unprivileged user owns, and remove it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, UNPRIVILEGED)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass
class Postgres:
    """A running server. `database()` makes an empty one and gives its address."""

    programs: Path
    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None
    made: int = 0
    log: Path = field(init=False)

    def __post_init__(self) -> None:
        self.log = self.folder / "log"

    def dsn(self, name: str) -> str:
        return f"postgresql://passeur@127.0.0.1:{self.port}/{name}"

    def database(self) -> str:
        self.made += 1
        name = f"test_{self.made}"
        self._sql(f"CREATE DATABASE {name}")
        return self.dsn(name)

    def emptied(self) -> str:
        """Give a database whose tables, if any, are empty and migrated: far cheaper than a new one."""
        if not self.made:
            return self.database()
        name = f"test_{self.made}"
        self._sql(EMPTY, name)
        return self.dsn(name)

    def _sql(self, text: str, database: str = "postgres") -> None:
        command = [self.programs / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", text, self.dsn(database)]
        subprocess.run(command, check=True, capture_output=True, timeout=START_SECONDS)

    def create(self) -> None:
        """Lay the folder out. Only loopback, no password, everything synced."""
        command = [self.programs / "initdb", "-D", self.folder / "data", "-U", "passeur", "-A", "trust", "-E", "UTF8"]
        done = subprocess.run([*command, "--no-sync", "--locale=C"], capture_output=True, check=False, **as_user())
        if done.returncode:
            raise ServiceMissing(f"initdb failed: {done.stderr.decode(errors='replace')[-300:]}")

    def start(self) -> None:
        """Start and wait until it answers."""
        settings = {"listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": "", "fsync": "on"}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [self.programs / "postgres", "-D", self.folder / "data", *options],
                stdout=log,
                stderr=log,
                start_new_session=True,
                **as_user(),
            )
        deadline = time.monotonic() + START_SECONDS
        ready = [self.programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]
        while subprocess.run(ready, check=False).returncode:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise ServiceMissing(f"PostgreSQL did not start: {self.log.read_text(errors='replace')[-300:]}")
            time.sleep(POLL_SECONDS)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop at once but cleanly (SIGINT), or as a crash (SIGQUIT)."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(START_SECONDS)


@contextlib.contextmanager
def postgres() -> Iterator[Postgres]:
    """Run a private PostgreSQL.

    Raises:
        ServiceMissing: it is not installed, or does not start.
    """
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        raise ServiceMissing("PostgreSQL is not installed (Debian: postgresql)")
    with private_folder("passeur-pg-") as folder:
        server = Postgres(found[-1].parent, folder, free_port())
        server.create()
        try:
            server.start()
            yield server
        finally:
            server.stop()


@dataclass
class RedisServer:
    """A running Redis that keeps nothing over a restart."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Start and wait until it answers."""
        settings = {"bind": "127.0.0.1", "port": str(self.port), "save": "", "appendonly": "no", "dir": self.folder}
        options = [part for name, value in settings.items() for part in (f"--{name}", str(value))]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                ["redis-server", *options], stdout=log, stderr=log, start_new_session=True, **as_user()
            )
        wait_for_port(self.port, self.process)

    def stop(self, how: signal.Signals = signal.SIGKILL) -> None:
        """Stop; what it held is gone."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(START_SECONDS)


def wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until somebody listens, and the process that should still lives.

    Raises:
        ServiceMissing: it ended, or nobody listens in time.
    """
    deadline = time.monotonic() + START_SECONDS
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        if process.poll() is not None or time.monotonic() > deadline:
            raise ServiceMissing(f"{process.args} did not start")
        time.sleep(POLL_SECONDS)


@contextlib.contextmanager
def redis() -> Iterator[RedisServer]:
    """Run a private Redis.

    Raises:
        ServiceMissing: it is not installed, or does not start.
    """
    if shutil.which("redis-server") is None:
        raise ServiceMissing("Redis is not installed (Debian: redis-server)")
    with private_folder("passeur-redis-") as folder:
        server = RedisServer(folder, free_port())
        try:
            server.start()
            yield server
        finally:
            server.stop()
