"""${message}"""

import sqlalchemy as sa
from alembic import op

from gateway.storage.columns import Instant, Json

revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}


def upgrade() -> None:
    """Go to this revision."""
    ${upgrades if upgrades else "pass"}
