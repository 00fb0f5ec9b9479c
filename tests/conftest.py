"""What holds for every test: no connection past loopback, and a missing service is said, never silent."""

from __future__ import annotations

import gc
import ipaddress
import os
import shutil
import socket
from collections.abc import Generator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
OF_REAL_PROCESSES = {"contracts", "e2e", "integration", "torture", "wire"}
DATA = os.environ.get("PASSEUR_EVAL_DATA", "")
IN_CI = os.environ.get("CI", "").lower() == "true"

# What shows that a service can be started privately: a program, or a folder of versions.
SERVICES = {
    "chromium": lambda: shutil.which("chromium"),
    "postgresql": lambda: next(iter(Path("/usr/lib/postgresql").glob("*/bin/initdb")), None),
    "redis": lambda: shutil.which("redis-server"),
    "nginx": lambda: shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin"),
    "prometheus": lambda: shutil.which("promtool"),
    "data": lambda: DATA if DATA and Path(DATA).is_dir() else None,
}
INSTALL = "install it (as root on Debian, make test does)"
REMEDY = {"data": "set PASSEUR_EVAL_DATA to the folder of the evaluation data"}

_connect = socket.socket.connect
_connect_ex = socket.socket.connect_ex


def _refuse_far(address: object) -> None:
    """Raise when a test would leave this machine."""
    if not isinstance(address, tuple):
        return
    host = str(address[0])
    if host in {"", "localhost"}:
        return
    try:
        near = ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        near = False
    if not near:
        raise AssertionError(f"a test tried to connect to {address!r}: tests stay on loopback")


def _guarded_connect(self: socket.socket, address: object) -> None:
    _refuse_far(address)
    _connect(self, address)


def _guarded_connect_ex(self: socket.socket, address: object) -> int:
    _refuse_far(address)
    return _connect_ex(self, address)


def pytest_configure() -> None:
    socket.socket.connect = _guarded_connect
    socket.socket.connect_ex = _guarded_connect_ex


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage in what is collected: it is kept to the end, and a third of the time went into the search."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    socket.socket.connect = _connect
    socket.socket.connect_ex = _connect_ex


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Try a test of real processes and services a second time, and say so in the summary.

    Such a test hangs on a machine that may stand still for seconds. What is only sometimes wrong is a fault all the
    same: CONTRIBUTING.md says what is done about it. Tests of pure code have one try.
    """
    for item in items:
        if item.path.relative_to(HERE).parts[0] in OF_REAL_PROCESSES or item.get_closest_marker("service"):
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose service is not here; in CI that is a failure, except for the data, which is not ours."""
    for mark in item.iter_markers("service"):
        name = mark.args[0]
        if SERVICES[name]():
            continue
        reason = f"needs {name}: {REMEDY.get(name, INSTALL)}"
        if IN_CI and name != "data":
            pytest.fail(reason)
        pytest.skip(reason)
