"""What a command is, and what it is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from ai_server.cli.connection import Connection


@dataclass(frozen=True, slots=True)
class CommandContext:
    """The surroundings of one run.

    `connect` reaches the running server with the operator's token; if none runs it starts a private one that holds
    the instance lock for as long as the context is open. So a command is always a gRPC client.
    """

    data_dir: Path
    projects_dir: Path
    connect: Callable[[], AbstractAsyncContextManager[Connection]]


class Command(Protocol):
    """A module of this folder, listed in `cli.commands`. Exit codes: 0 done, 1 failed, 2 wrong use or settings."""

    @property
    def NAME(self) -> str:  # noqa: N802 - a module's constant
        """What is typed."""
        ...

    @property
    def HELP(self) -> str:  # noqa: N802
        """One line for the list of commands."""
        ...

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's arguments to its own parser."""
        ...

    async def run(self, arguments: argparse.Namespace, context: CommandContext) -> int:
        """Do it and return the exit code. A `PasseurError` or gRPC error that escapes is printed, and exits 1."""
        ...
