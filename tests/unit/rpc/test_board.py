"""What the log tells of a dependency's life."""

from __future__ import annotations

from structlog.testing import CapturingLogger

from ai_server import readiness
from ai_server.readiness import Board, State
from tests.fakes.clock import ManualClock


def test_the_log_tells_each_loss_and_each_return_once(monkeypatch):
    log = CapturingLogger()
    monkeypatch.setattr(readiness, "LOG", log)
    board = Board(ManualClock(), ["retrieval"])
    for state, reason in (
        (State.READY, ""),
        (State.DEGRADED, "9 passages are missing"),
        (State.DEGRADED, "4 passages are missing"),
        (State.READY, ""),
        (State.DOWN, "the worker process died"),
    ):
        board.set("retrieval", state, reason)
    seen = [(each.method_name, *each.args, each.kwargs.get("reason") or each.kwargs["after"]) for each in log.calls]
    assert seen == [
        ("warning", "dependency not ready", "9 passages are missing"),
        ("info", "dependency ready again", "4 passages are missing"),
        ("warning", "dependency not ready", "the worker process died"),
    ]
