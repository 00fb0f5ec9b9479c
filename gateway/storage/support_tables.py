"""The tables of people helping people: tickets, staff, presence, notifications, attachments."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from gateway.storage.columns import Instant, Json, Words
from gateway.storage.tables import metadata

tickets: Final = sa.Table(
    "tickets",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("project_id", sa.Text, nullable=False),
    sa.Column("conversation_id", sa.Text, sa.ForeignKey("conversations.id", ondelete="CASCADE"), nullable=False),
    sa.Column("visitor_id", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("assignee_id", sa.Text),
    sa.Column("opened_position", sa.BigInteger, nullable=False),
    sa.Column("opened_at", Instant, nullable=False),
    sa.Column("updated_at", Instant, nullable=False),
    sa.Column("resolved_at", Instant),
    sa.Column("summary_state", sa.Text, nullable=False),
    sa.Column("summary", Words, nullable=False),
    sa.CheckConstraint("state IN ('OPEN', 'IN_PROGRESS', 'RESOLVED')", name="state_known"),
    sa.CheckConstraint("(state = 'RESOLVED') = (resolved_at IS NOT NULL)", name="resolved_has_instant"),
    # Whatever races, a conversation has one ticket that people work on.
    sa.Index(
        "uq_tickets_one_open_per_conversation",
        "conversation_id",
        unique=True,
        sqlite_where=sa.text("state <> 'RESOLVED'"),
        postgresql_where=sa.text("state <> 'RESOLVED'"),
    ),
    sa.Index("ix_tickets_conversation_id_opened_at", "conversation_id", "opened_at"),
    sa.Index("ix_tickets_project_id_state_updated_at", "project_id", "state", "updated_at"),
    sa.Index("ix_tickets_assignee_id_state", "assignee_id", "state"),
    sa.Index("ix_tickets_visitor_id_state", "visitor_id", "state"),
)

staff: Final = sa.Table(
    "staff",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("project_id", sa.Text, nullable=False, index=True),
    # What they sign in with, folded; one in the whole gateway.
    sa.Column("login", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("password_hash", sa.Text, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("disabled_at", Instant),
    sa.UniqueConstraint("login"),
    sa.CheckConstraint("role IN ('agent', 'admin')", name="role_known"),
)

staff_sessions: Final = sa.Table(
    "staff_sessions",
    metadata,
    sa.Column("token_hash", sa.LargeBinary, primary_key=True),
    sa.Column("staff_id", sa.Text, sa.ForeignKey("staff.id", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("expires_at", Instant, nullable=False, index=True),
)

opened_conversations: Final = sa.Table(
    "opened_conversations",
    metadata,
    sa.Column("staff_id", sa.Text, sa.ForeignKey("staff.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("conversation_id", sa.Text, sa.ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("opened_at", Instant, nullable=False),
)

presence: Final = sa.Table(
    "presence",
    metadata,
    # `visitor:<id>` or `staff:<id>`.
    sa.Column("person", sa.Text, primary_key=True),
    sa.Column("project_id", sa.Text, nullable=False, index=True),
    sa.Column("chosen", sa.Text, nullable=False),
    sa.Column("seen", sa.Text, nullable=False),
    sa.Column("product", sa.Text),
    sa.Column("consent", sa.Boolean, nullable=False),
    sa.Column("telemetry", Json),
    sa.Column("updated_at", Instant, nullable=False),
    # Telemetry without consent cannot be kept, whatever the code does.
    sa.CheckConstraint("consent OR telemetry IS NULL", name="telemetry_under_consent"),
)

presence_streams: Final = sa.Table(
    "presence_streams",
    metadata,
    # A person's streams in one gateway process, which renews the lease while it lives.
    sa.Column("person", sa.Text, primary_key=True),
    sa.Column("owner", sa.Text, primary_key=True),
    sa.Column("stream_count", sa.Integer, nullable=False),
    sa.Column("lease_until", Instant, nullable=False, index=True),
)

notifications: Final = sa.Table(
    "notifications",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("person", sa.Text, nullable=False),
    sa.Column("project_id", sa.Text, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("target", Json, nullable=False),
    sa.Column("server_text", Json, nullable=False),
    sa.Column("conversation_id", sa.Text, sa.ForeignKey("conversations.id", ondelete="CASCADE"), index=True),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("read_at", Instant),
    sa.Index("ix_notifications_person_created_at_id", "person", "created_at", "id"),
)

attachments: Final = sa.Table(
    "attachments",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("project_id", sa.Text, nullable=False),
    sa.Column("visitor_id", sa.Text, sa.ForeignKey("visitors.id", ondelete="CASCADE"), nullable=False, index=True),
    # NULL until a message carries it; it can be carried once.
    sa.Column("conversation_id", sa.Text, sa.ForeignKey("conversations.id", ondelete="CASCADE"), index=True),
    sa.Column("message_id", sa.Text),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("media_type", sa.Text, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("sha256", sa.LargeBinary, nullable=False),
    # What a document says; empty for an image.
    sa.Column("text", Words, nullable=False),
    sa.Column("truncated", sa.Boolean, nullable=False),
    sa.Column("created_at", Instant, nullable=False, index=True),
    sa.CheckConstraint("kind IN ('image', 'document')", name="kind_known"),
)
