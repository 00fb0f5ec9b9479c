"""People helping people: tickets, staff, presence, notifications, attachments."""

import sqlalchemy as sa
from alembic import op

from gateway.storage.columns import Instant, Json

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the tables of tickets and what goes with them."""
    op.create_table(
        "presence",
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("chosen", sa.Text(), nullable=False),
        sa.Column("seen", sa.Text(), nullable=False),
        sa.Column("product", sa.Text(), nullable=True),
        sa.Column("consent", sa.Boolean(), nullable=False),
        sa.Column("telemetry", Json(), nullable=True),
        sa.Column("updated_at", Instant(), nullable=False),
        sa.CheckConstraint("consent OR telemetry IS NULL", name=op.f("ck_presence_telemetry_under_consent")),
        sa.PrimaryKeyConstraint("person", name=op.f("pk_presence")),
    )
    op.create_index(op.f("ix_presence_project_id"), "presence", ["project_id"], unique=False)
    op.create_table(
        "presence_streams",
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("stream_count", sa.Integer(), nullable=False),
        sa.Column("lease_until", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("person", "owner", name=op.f("pk_presence_streams")),
    )
    op.create_index(op.f("ix_presence_streams_lease_until"), "presence_streams", ["lease_until"], unique=False)
    op.create_table(
        "staff",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("login", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("disabled_at", Instant(), nullable=True),
        sa.CheckConstraint("role IN ('agent', 'admin')", name=op.f("ck_staff_role_known")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_staff")),
        sa.UniqueConstraint("login", name=op.f("uq_staff_login")),
    )
    op.create_index(op.f("ix_staff_project_id"), "staff", ["project_id"], unique=False)
    op.create_table(
        "staff_sessions",
        sa.Column("token_hash", sa.LargeBinary(), nullable=False),
        sa.Column("staff_id", sa.Text(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("expires_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(
            ["staff_id"], ["staff.id"], name=op.f("fk_staff_sessions_staff_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("token_hash", name=op.f("pk_staff_sessions")),
    )
    op.create_index(op.f("ix_staff_sessions_expires_at"), "staff_sessions", ["expires_at"], unique=False)
    op.create_index(op.f("ix_staff_sessions_staff_id"), "staff_sessions", ["staff_id"], unique=False)
    op.create_table(
        "attachments",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("visitor_id", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=True),
        sa.Column("message_id", sa.Text(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("truncated", sa.Boolean(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.CheckConstraint("kind IN ('image', 'document')", name=op.f("ck_attachments_kind_known")),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["conversations.id"], name=op.f("fk_attachments_conversation_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["visitor_id"], ["visitors.id"], name=op.f("fk_attachments_visitor_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attachments")),
    )
    op.create_index(op.f("ix_attachments_conversation_id"), "attachments", ["conversation_id"], unique=False)
    op.create_index(op.f("ix_attachments_created_at"), "attachments", ["created_at"], unique=False)
    op.create_index(op.f("ix_attachments_visitor_id"), "attachments", ["visitor_id"], unique=False)
    op.create_table(
        "notifications",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("target", Json(), nullable=False),
        sa.Column("server_text", Json(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("read_at", Instant(), nullable=True),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["conversations.id"], name=op.f("fk_notifications_conversation_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notifications")),
    )
    op.create_index(op.f("ix_notifications_conversation_id"), "notifications", ["conversation_id"], unique=False)
    op.create_index(
        "ix_notifications_person_created_at_id", "notifications", ["person", "created_at", "id"], unique=False
    )
    op.create_table(
        "opened_conversations",
        sa.Column("staff_id", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("opened_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(
            ["conversation_id"],
            ["conversations.id"],
            name=op.f("fk_opened_conversations_conversation_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["staff_id"], ["staff.id"], name=op.f("fk_opened_conversations_staff_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("staff_id", "conversation_id", name=op.f("pk_opened_conversations")),
    )
    op.create_table(
        "tickets",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("project_id", sa.Text(), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("visitor_id", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("assignee_id", sa.Text(), nullable=True),
        sa.Column("opened_position", sa.BigInteger(), nullable=False),
        sa.Column("opened_at", Instant(), nullable=False),
        sa.Column("updated_at", Instant(), nullable=False),
        sa.Column("resolved_at", Instant(), nullable=True),
        sa.Column("summary_state", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "(state = 'RESOLVED') = (resolved_at IS NOT NULL)", name=op.f("ck_tickets_resolved_has_instant")
        ),
        sa.CheckConstraint("state IN ('OPEN', 'IN_PROGRESS', 'RESOLVED')", name=op.f("ck_tickets_state_known")),
        sa.ForeignKeyConstraint(
            ["conversation_id"], ["conversations.id"], name=op.f("fk_tickets_conversation_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tickets")),
    )
    op.create_index("ix_tickets_assignee_id_state", "tickets", ["assignee_id", "state"], unique=False)
    op.create_index("ix_tickets_conversation_id_opened_at", "tickets", ["conversation_id", "opened_at"], unique=False)
    op.create_index(
        "ix_tickets_project_id_state_updated_at", "tickets", ["project_id", "state", "updated_at"], unique=False
    )
    op.create_index("ix_tickets_visitor_id_state", "tickets", ["visitor_id", "state"], unique=False)
    op.create_index(
        "uq_tickets_one_open_per_conversation",
        "tickets",
        ["conversation_id"],
        unique=True,
        sqlite_where=sa.text("state <> 'RESOLVED'"),
        postgresql_where=sa.text("state <> 'RESOLVED'"),
    )
    op.add_column("conversations", sa.Column("escalated", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("messages", sa.Column("author", Json(), nullable=True))
    op.add_column("messages", sa.Column("attachments", Json(), server_default="[]", nullable=False))
