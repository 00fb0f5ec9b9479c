"""`python -m gateway [serve | check | staff … | visitors … | conversations …]`.

Exit codes: 0 done; 1 refused, with the reason; 2 wrong settings or use, every fault printed.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Final

from gateway import bootstrap
from gateway.cli import commands
from shared.env import leave_pipe
from shared.errors import PasseurError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

DONE, REFUSED, WRONG = 0, 1, 2
DEFAULT_COMMAND: Final = "serve"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = _parser().parse_args(sys.argv[1:] if argv is None else argv)
    try:
        if arguments.command == "check":
            bootstrap.check_all()
            print("gateway: the settings and project files are in order")
            return DONE
        if arguments.command in commands.NAMES:
            bootstrap.operate(arguments)
            sys.stdout.flush()
            return DONE
        return bootstrap.serve()
    except BrokenPipeError:
        leave_pipe()
        return REFUSED
    except PasseurError as error:
        print(f"gateway: {error.message}", file=sys.stderr)
        return REFUSED
    except SettingsError as error:
        for fault in error.faults:
            print(f"gateway: {fault}", file=sys.stderr)
        return WRONG


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gateway", description="The gateway for browsers and staff.")
    parser.set_defaults(command=DEFAULT_COMMAND)
    names = parser.add_subparsers(dest="command", metavar="command")
    names.add_parser("serve", help="serve until SIGTERM (the default)")
    commands.add_parsers(names)
    names.add_parser("check", help="check the settings and project files, print every fault, and exit")
    return parser


if __name__ == "__main__":
    sys.exit(main())
