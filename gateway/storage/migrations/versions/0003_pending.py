"""Questions that conversations wait on."""

import sqlalchemy as sa
from alembic import op

from gateway.storage.columns import Instant, Json

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "pending_actions",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("payload", Json(), nullable=False),
        sa.Column("asked_at", Instant(), nullable=False),
        sa.Column("expires_at", Instant(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("claimed_by", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "kind IN ('clarify_connector', 'clarify_search', 'confirmation', 'browser_tool')",
            name=op.f("ck_pending_actions_kind_known"),
        ),
        sa.CheckConstraint(
            "state <> 'claimed' OR claimed_by IS NOT NULL", name=op.f("ck_pending_actions_claimed_by_a_turn")
        ),
        sa.CheckConstraint(
            "state IN ('open', 'claimed', 'answered', 'passed', 'expired', 'replaced', 'cancelled')",
            name=op.f("ck_pending_actions_state_known"),
        ),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_pending_actions_conversation_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pending_actions")),
    )
    op.create_index("ix_pending_actions_claimed_by", "pending_actions", ["claimed_by"], unique=False)
    op.create_index("ix_pending_actions_expires_at", "pending_actions", ["expires_at"], unique=False)
    op.create_index(
        "uq_pending_actions_one_open_per_conversation",
        "pending_actions",
        ["conversation_id"],
        unique=True,
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )
