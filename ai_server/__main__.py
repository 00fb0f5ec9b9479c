"""`python -m ai_server [serve | check | <operator command>]`.

Exit codes: 0 done; 1 the command failed; 2 wrong settings or use, every fault printed.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from typing import TYPE_CHECKING, Final

import grpc

from ai_server import bootstrap
from ai_server.cli.commands import COMMANDS
from shared.env import leave_pipe
from shared.errors import PasseurError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

DONE, FAILED, WRONG = 0, 1, 2
DEFAULT_COMMAND: Final = "serve"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = _parser().parse_args(sys.argv[1:] if argv is None else argv)
    try:
        return _run(arguments)
    except SettingsError as error:
        for fault in error.faults:
            print(f"ai_server: {fault}", file=sys.stderr)
        return WRONG
    except PasseurError as error:
        print(f"ai_server: {error.message}", file=sys.stderr)
        return FAILED
    except grpc.RpcError as error:
        told = error.details() if isinstance(error, grpc.aio.AioRpcError) else str(error)
        print(f"ai_server: {told}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return FAILED
    except BrokenPipeError:
        leave_pipe()
        return FAILED
    except OSError as error:
        if arguments.command == DEFAULT_COMMAND:
            raise
        print(f"ai_server: {error.filename or 'a file'}: {error.strerror or error}", file=sys.stderr)
        return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m ai_server", description="The AI server and its operator commands.")
    parser.set_defaults(command=DEFAULT_COMMAND)
    commands = parser.add_subparsers(dest="command", metavar="command")
    commands.default = DEFAULT_COMMAND
    commands.add_parser("serve", help="serve until SIGTERM (the default)")
    commands.add_parser("check", help="check the settings and project files, print every fault, and exit")
    for command in COMMANDS:
        command.configure(commands.add_parser(command.NAME, help=command.HELP, description=command.HELP))
    return parser


def _run(arguments: argparse.Namespace) -> int:
    if arguments.command == "serve":
        return bootstrap.serve()
    if arguments.command == "check":
        bootstrap.check_all()
        print("The settings are in order.")
        return DONE
    command = next(each for each in COMMANDS if arguments.command == each.NAME)
    code = asyncio.run(command.run(arguments, bootstrap.command_context()))
    sys.stdout.flush()  # where whoever reads it left, it is told here, not after the end
    return code


if __name__ == "__main__":
    sys.exit(main())
