"""The only place that looks at the process environment, and at what the process was started with."""

from __future__ import annotations

import difflib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

BOTH: Final = ("PASSEUR_DATA_DIR", "PASSEUR_PROJECTS_DIR")
"""Variables that both processes read."""
OTHERS: Final = ("PASSEUR_AI_", "PASSEUR_GATEWAY_", "PASSEUR_CONNECTOR_")
"""Beginnings of variables that one process reads and checks by itself, and of the credentials of live services."""
NEAR: Final = 0.8
"""How alike two names must be (`difflib`) for one to be taken for the other, mistyped."""


def variable(name: str, default: str = "") -> str:
    """Read one variable; `default` when it is not set."""
    return os.environ.get(name, default)


def with_prefix(prefix: str) -> dict[str, str]:
    """Read all variables that begin with `prefix`, keyed by what follows it, in lower case."""
    return {name[len(prefix) :].lower(): value for name, value in os.environ.items() if name.startswith(prefix)}


def mistyped(own: Iterable[str]) -> list[str]:
    """Say which `PASSEUR_…` variables are nearly settings; `own` are the names of the process that asks.

    Others are left alone: orchestrators and tools have variables of that beginning too.
    """
    known = [*BOTH, *own]
    faults: list[str] = []
    for name in sorted(each for each in os.environ if each.startswith("PASSEUR_")):
        if name in BOTH or name.startswith(OTHERS):
            continue
        near = difflib.get_close_matches(name, known, 1, NEAR)
        if near:
            faults.append(f"{name}: no such setting; did you mean {near[0]}? docs/settings.md lists them")
    return faults


def child_environment(**changes: str) -> dict[str, str]:
    """Copy the environment for a child process, with `changes`."""
    return {**os.environ, **changes}


def data_dir() -> Path:
    """`PASSEUR_DATA_DIR`, `./var` when it is not set."""
    return Path(variable("PASSEUR_DATA_DIR", "var"))


def leave_pipe() -> None:
    """Write to nobody from now on: whoever read our output left, as `head` does when it has enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
