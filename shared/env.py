"""The only place that looks at the process environment."""

from __future__ import annotations

import os
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
