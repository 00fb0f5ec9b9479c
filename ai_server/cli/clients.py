"""`clients`: make and list the records of who may call. Works on the file; a running server reads it at start."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ai_server.clients import ALL_PROJECTS, CLIENTS_FILE, Scope, add_client, load_clients, write_secret

if TYPE_CHECKING:
    import argparse

    from ai_server.cli.command import CommandContext

NAME: Final = "clients"
HELP: Final = "add or list the clients that may call the AI server"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add `add` and `list`."""
    actions = parser.add_subparsers(dest="action", required=True)
    add = actions.add_parser("add", help="add a client, or give an existing one a new token")
    add.add_argument("name")
    add.add_argument("--scopes", required=True, help="comma-separated: " + ", ".join(Scope))
    add.add_argument("--projects", default=ALL_PROJECTS, help="comma-separated ids, or * for all (default)")
    add.add_argument("--token-file", type=Path, help="write the token there (mode 0600) instead of printing it")
    add.add_argument("--keep", action="store_true", help="do nothing if the client and its token file exist")
    actions.add_parser("list", help="list clients, scopes and projects")


async def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Add or list."""
    path = context.data_dir / "ai" / CLIENTS_FILE
    return _list(path) if arguments.action == "list" else _add(path, arguments)


def _list(path: Path) -> int:
    for each in load_clients(path):
        print(f"{each.name}\tscopes {','.join(sorted(each.scopes))}\tprojects {','.join(sorted(each.projects))}")
    return 0


def _add(path: Path, arguments: argparse.Namespace) -> int:
    token_file: Path | None = arguments.token_file
    known = any(each.name == arguments.name for each in load_clients(path))
    if arguments.keep and known and token_file is not None and token_file.exists():
        return 0
    try:
        token = add_client(path, arguments.name, _split(arguments.projects), _split(arguments.scopes))
    except ValueError as exc:
        print(exc, file=sys.stderr)
        return 2
    if token_file is None:
        print(token)
    else:
        write_secret(token_file, token + "\n")
    return 0


def _split(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]
