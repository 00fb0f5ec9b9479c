"""`python -m gateway [serve | check]`.

Exit codes: 0 done; 2 wrong settings or use, every fault printed.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Final

from gateway import bootstrap, settings
from shared.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

DONE, WRONG = 0, 2
DEFAULT_COMMAND: Final = "serve"


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = _parser().parse_args(sys.argv[1:] if argv is None else argv)
    try:
        if arguments.command == "check":
            settings.read()
            print("gateway: the settings and project files are in order")
            return DONE
        return bootstrap.serve()
    except SettingsError as error:
        for fault in error.faults:
            print(f"gateway: {fault}", file=sys.stderr)
        return WRONG


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gateway", description="The gateway for browsers and staff.")
    parser.set_defaults(command=DEFAULT_COMMAND)
    commands = parser.add_subparsers(dest="command", metavar="command")
    commands.add_parser("serve", help="serve until SIGTERM (the default)")
    commands.add_parser("check", help="check the settings and project files, print every fault, and exit")
    return parser


if __name__ == "__main__":
    sys.exit(main())
