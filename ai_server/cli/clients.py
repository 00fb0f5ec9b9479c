"""`clients`: make, list and remove the records of who may call. Works on the file; a running server follows it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ai_server.clients import (
    ALL_PROJECTS,
    CLIENTS_FILE,
    Client,
    Scope,
    add_client,
    keep_client,
    load_clients,
    remove_client,
    write_secret,
)

if TYPE_CHECKING:
    import argparse

    from ai_server.cli.command import CommandContext

NAME: Final = "clients"
HELP: Final = "add, list or remove the clients that may call the AI server"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    actions = parser.add_subparsers(dest="action", required=True)
    add = actions.add_parser("add", help="add a client, or give an existing one a new token")
    add.add_argument("name")
    add.add_argument("--scopes", default="", help="comma-separated: " + ", ".join(Scope))
    add.add_argument("--projects", default="", help="comma-separated ids, or * for all (default for a new client)")
    add.add_argument("--token-file", type=Path, help="write the token there (mode 0600) instead of printing it")
    add.add_argument("--keep", action="store_true", help="keep the client and its token; add what it lacks of these")
    actions.add_parser("list", help="list clients, scopes and projects")
    actions.add_parser("remove", help="remove a client: its token ends").add_argument("name")


async def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Add, list or remove."""
    path = context.data_dir / "ai" / CLIENTS_FILE
    if arguments.action == "list":
        return _list(path)
    if arguments.action == "remove":
        return _remove(path, arguments.name)
    return _add(path, arguments, context.projects_dir)


def _list(path: Path) -> int:
    for each in load_clients(path):
        print(f"{each.name}\t{_told(each)}")
    return 0


def _remove(path: Path, name: str) -> int:
    if not remove_client(path, name):
        print(f"There is no client `{name}`: `clients list` shows them.", file=sys.stderr)
        return 1
    print(f"client `{name}` removed from {path}; a running server refuses it within a second or two")
    return 0


def _add(path: Path, arguments: argparse.Namespace, projects_dir: Path) -> int:
    """Write the record; what was written is told on standard error, so that the token alone is the output."""
    token_file: Path | None = arguments.token_file
    projects, scopes = _split(arguments.projects), _split(arguments.scopes)
    before = load_clients(path)
    known = any(each.name == arguments.name for each in before)
    if not scopes and not (arguments.keep and known):
        print("--scopes is needed: " + ", ".join(Scope), file=sys.stderr)
        return 2
    projects = projects or ([] if arguments.keep and known else [ALL_PROJECTS])
    try:
        if arguments.keep and (known or token_file is not None):
            client, token = keep_client(path, arguments.name, projects, scopes, token_file), ""
        else:
            client, token = add_client(path, arguments.name, projects, scopes)
    except ValueError as exc:
        print(exc, file=sys.stderr)
        return 2
    if token and token_file is not None:
        write_secret(token_file, token + "\n")
    elif token:
        print(token)
    if client not in before:
        _tell(client, path, token_file, projects_dir)
    return 0


def _tell(client: Client, path: Path, token_file: Path | None, projects_dir: Path) -> None:
    where = f"; token in {token_file}" if token_file is not None else ""
    print(f"client `{client.name}` written to {path}: {_told(client)}{where}", file=sys.stderr)
    for project in sorted(client.projects - {ALL_PROJECTS}):
        if not (projects_dir / project / "ai.toml").is_file():
            print(f"note: there is no project `{project}` in {projects_dir}", file=sys.stderr)


def _told(client: Client) -> str:
    return f"scopes {','.join(sorted(client.scopes))}\tprojects {','.join(sorted(client.projects))}"


def _split(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]
