"""The only place that looks at the process environment, and at what the process was started with."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def variable(name: str, default: str = "") -> str:
    """Read one variable; `default` when it is not set."""
    return os.environ.get(name, default)


def with_prefix(prefix: str) -> dict[str, str]:
    """Read all variables that begin with `prefix`, keyed by what follows it, in lower case."""
    return {name[len(prefix) :].lower(): value for name, value in os.environ.items() if name.startswith(prefix)}


def child_environment(**changes: str) -> dict[str, str]:
    """Copy the environment for a child process, with `changes`."""
    return {**os.environ, **changes}


def data_dir() -> Path:
    """`PASSEUR_DATA_DIR`, `./var` when it is not set."""
    return Path(variable("PASSEUR_DATA_DIR", "var"))


def leave_pipe() -> None:
    """Write to nobody from now on: whoever read our output left, as `head` does when it has enough."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
