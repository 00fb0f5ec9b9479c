"""The operator's token: whoever can read the gateway's data folder may manage accounts and records."""

from __future__ import annotations

import os
import secrets
from typing import TYPE_CHECKING, Final

from gateway.identity.sessions import TOKEN_BYTES, digest
from shared.errors import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

FILE_NAME: Final = "operator.token"
PREFIX: Final = "op_"


def own_token_hash(folder: Path) -> bytes:
    """Hash the operator's token, which is made (mode 0600) when there is none.

    Raises:
        SettingsError: the file can be neither read nor made.
    """
    path = folder / FILE_NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(handle, "w", encoding="ascii") as file:
                file.write(PREFIX + secrets.token_urlsafe(TOKEN_BYTES) + "\n")
        return digest(read_token(folder) or "")
    except OSError as exc:
        raise SettingsError([f"PASSEUR_DATA_DIR: {path} cannot be made ({exc.strerror}): choose another"]) from exc


def read_token(folder: Path) -> str | None:
    """Read the operator's token; None when no gateway ran here yet."""
    try:
        return (folder / FILE_NAME).read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return None
