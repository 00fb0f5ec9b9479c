"""Brings a database to the schema of this release, at start."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError

from shared.errors import SettingsError

if TYPE_CHECKING:
    import sqlalchemy as sa

FOLDER: Final = Path(__file__).parent / "migrations"


def upgrade(connection: sa.Connection) -> None:
    """Run the migrations that are missing, in one transaction.

    Raises:
        SettingsError: the database was made by a newer release.
    """
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as exc:
        raise SettingsError(
            [f"the gateway's database was made by another release ({exc}): start that one, or restore a backup"]
        ) from exc


def head() -> str:
    """The revision that this release brings a database to."""
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    found = ScriptDirectory.from_config(config).get_current_head()
    assert found is not None
    return found
