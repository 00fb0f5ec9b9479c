"""What `python -m gateway staff|visitors|conversations …` does; answers are written to stdout."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse

    from gateway.cli.keepers import Keeper

NAMES = frozenset({"staff", "visitors", "conversations"})


def add_parsers(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Put the operator commands on the parser."""
    staff = commands.add_parser("staff", help="accounts of those who answer: add, password, disable, list")
    acts = staff.add_subparsers(dest="act", required=True, metavar="act")
    add = acts.add_parser("add", help="make an account; a password is made and told once")
    add.add_argument("login", help="what they sign in with; unique in this gateway")
    add.add_argument("--project", default="demo", help="whose visitors they answer (default: demo)")
    add.add_argument("--name", default="", help="what visitors see (default: the login)")
    add.add_argument("--role", choices=("agent", "admin"), default="agent", help="admins manage accounts and records")
    password = acts.add_parser("password", help="replace a password; every session of the account ends")
    password.add_argument("login")
    for each in (add, password):
        each.add_argument("--password-stdin", action="store_true", help="read the password from stdin")
    disable = acts.add_parser("disable", help="let someone in no more; what they wrote stays")
    disable.add_argument("login")
    listing = acts.add_parser("list", help="list accounts")
    listing.add_argument("--project", default="", help="only of this project")

    visitors = commands.add_parser("visitors", help="what is kept of a visitor: export, delete")
    acts = visitors.add_subparsers(dest="act", required=True, metavar="act")
    for name, text in (("export", "write it as JSON"), ("delete", "remove it; this cannot be undone")):
        acts.add_parser(name, help=text).add_argument("visitor_id")

    conversations = commands.add_parser("conversations", help="one conversation: export")
    acts = conversations.add_subparsers(dest="act", required=True, metavar="act")
    acts.add_parser("export", help="write it as JSON").add_argument("conversation_id")


async def run(arguments: argparse.Namespace, keeper: Keeper) -> None:
    """Do one command.

    Raises:
        PasseurError: what was refused.
    """
    if arguments.command == "staff":
        await _staff(arguments, keeper)
    elif arguments.command == "visitors" and arguments.act == "delete":
        counts = await keeper.delete_visitor(arguments.visitor_id)
        _say(f"deleted: {counts['conversation_count']} conversations, {counts['attachment_count']} files")
    elif arguments.command == "visitors":
        _write(await keeper.export_visitor(arguments.visitor_id))
    else:
        _write(await keeper.export_conversation(arguments.conversation_id))


async def _staff(arguments: argparse.Namespace, keeper: Keeper) -> None:
    if arguments.act == "list":
        for each in (await keeper.list_staff(arguments.project))["staff"]:
            state = "" if each["active"] else "  (disabled)"
            _say(f"{each['login']:<20} {each['role']:<6} {each['name']}{state}")
        return
    if arguments.act == "disable":
        _say(f"disabled: {(await keeper.disable_staff(arguments.login))['staff']['login']}")
        return
    password = sys.stdin.readline().rstrip("\r\n") if arguments.password_stdin else None
    if arguments.act == "add":
        done = await keeper.add_staff(
            arguments.project, arguments.login, name=arguments.name, role=arguments.role, password=password
        )
    else:
        done = await keeper.set_password(arguments.login, password)
    _say(f"login:    {done['staff']['login']} ({done['staff']['role']})")
    if done["password"] is not None:
        _say(f"password: {done['password']}")
        _say("It is told this once; sign in at /inbox.")


def _write(data: dict[str, Any]) -> None:
    _say(json.dumps(data, ensure_ascii=False, indent=2))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
