"""Every operator command, in one list; each is a module of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ai_server.cli import budgets, clients, documents, ingest

if TYPE_CHECKING:
    from ai_server.cli.command import Command

COMMANDS: Final[tuple[Command, ...]] = (clients, ingest, documents, budgets)
"""A new command adds its module here. `serve` and `check` belong to `__main__`."""
