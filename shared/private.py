"""Keeps what is written to the data folder from the other people of the machine."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600
UMASK: Final = 0o077


def write_privately() -> None:
    """Let everything that this process and its children make from now on be its user's alone."""
    os.umask(UMASK)


def private_folder(path: Path) -> None:
    """Make a folder if need be, and it and the files directly in it its owner's alone.

    What belongs to somebody else stays as it is. What lies deeper is out of reach once the folder is closed.

    Raises:
        OSError: it cannot be made.
    """
    path.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
    with suppress(PermissionError):
        path.chmod(FOLDER_MODE)
    for each in path.iterdir():
        if each.is_file() and not each.is_symlink():
            with suppress(PermissionError, FileNotFoundError):
                each.chmod(FILE_MODE)
