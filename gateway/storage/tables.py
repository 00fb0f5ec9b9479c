"""The tables. A rule that must hold whatever the code does is a constraint here, named after what it forbids.

A change here needs a migration; `tests/unit/gateway/storage` compares the two.
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from gateway.storage.columns import Instant, Json, Words

metadata: Final = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

visitors: Final = sa.Table(
    "visitors",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("project_id", sa.Text, nullable=False),
    # The host's own id, only when it was proven; anonymous visitors have none and are never merged with these.
    sa.Column("subject", sa.Text),
    sa.Column("language", sa.Text, nullable=False),
    # What a proven visitor may read; NULL for anonymous ones, whose contexts are the project's.
    sa.Column("contexts", Json),
    sa.Column("created_at", Instant, nullable=False),
    sa.UniqueConstraint("project_id", "subject"),
)

sessions: Final = sa.Table(
    "sessions",
    metadata,
    sa.Column("token_hash", sa.LargeBinary, primary_key=True),
    sa.Column("visitor_id", sa.Text, sa.ForeignKey("visitors.id", ondelete="CASCADE"), nullable=False, index=True),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("expires_at", Instant, nullable=False, index=True),
)

stream_tickets: Final = sa.Table(
    "stream_tickets",
    metadata,
    sa.Column("ticket_hash", sa.LargeBinary, primary_key=True),
    sa.Column("visitor_id", sa.Text, sa.ForeignKey("visitors.id", ondelete="CASCADE"), nullable=False),
    sa.Column("expires_at", Instant, nullable=False, index=True),
)

conversations: Final = sa.Table(
    "conversations",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("project_id", sa.Text, nullable=False),
    sa.Column("visitor_id", sa.Text, sa.ForeignKey("visitors.id", ondelete="CASCADE"), nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("language", sa.Text, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
    sa.Column("updated_at", Instant, nullable=False),
    sa.Column("last_position", sa.BigInteger, nullable=False),
    sa.Column("boundary", sa.BigInteger, nullable=False),
    sa.Column("insufficient_count", sa.Integer, nullable=False),
    # A ticket is open: the AI is silent.
    sa.Column("escalated", sa.Boolean, nullable=False, server_default=sa.false()),
    sa.Index(None, "visitor_id", "updated_at", "id"),
)

messages: Final = sa.Table(
    "messages",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("conversation_id", sa.Text, sa.ForeignKey("conversations.id", ondelete="CASCADE"), nullable=False),
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("kind", sa.Text),
    sa.Column("text", Words, nullable=False),
    sa.Column("server_text", Json),
    sa.Column("language", sa.Text, nullable=False),
    sa.Column("turn_id", sa.Text),
    sa.Column("citations", Json, nullable=False),
    sa.Column("facts", Json),
    # Who of the staff wrote it, and what came with it.
    sa.Column("author", Json),
    sa.Column("attachments", Json, nullable=False, server_default="[]"),
    sa.Column("created_at", Instant, nullable=False),
    sa.UniqueConstraint("conversation_id", "position"),
)

turns: Final = sa.Table(
    "turns",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("conversation_id", sa.Text, sa.ForeignKey("conversations.id", ondelete="CASCADE"), nullable=False),
    sa.Column("visitor_id", sa.Text, nullable=False),
    sa.Column("user_message_id", sa.Text, nullable=False),
    # Allocated before the first delta.
    sa.Column("ai_message_id", sa.Text, nullable=False),
    # The exact question, because re-attaching to the AI server needs the same body under the same key.
    sa.Column("question", Json, nullable=False),
    sa.Column("owner", sa.Text, nullable=False),
    sa.Column("lease_until", Instant, nullable=False),
    sa.Column("started_at", Instant, nullable=False),
    # NULL while it runs.
    sa.Column("outcome", sa.Text),
    sa.Column("problem", Json),
    sa.Column("ended_at", Instant),
    sa.Index(
        "uq_turns_one_running_per_conversation",
        "conversation_id",
        unique=True,
        sqlite_where=sa.text("outcome IS NULL"),
        postgresql_where=sa.text("outcome IS NULL"),
    ),
    sa.Index("ix_turns_conversation_id_started_at", "conversation_id", "started_at"),
)

streams: Final = sa.Table(
    "streams",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    # Names this life of the stream: a cursor of another life cannot be resumed.
    sa.Column("epoch", sa.Text, nullable=False),
    # Offset of the newest event; 0 before the first.
    sa.Column("head", sa.BigInteger, nullable=False),
    # Events up to and including this offset were trimmed.
    sa.Column("trimmed", sa.BigInteger, nullable=False),
    sa.CheckConstraint("trimmed <= head", name="trimmed_up_to_head"),
)

events: Final = sa.Table(
    "events",
    metadata,
    sa.Column("stream_id", sa.Text, sa.ForeignKey("streams.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("offset", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("channel", sa.Text, nullable=False),
    sa.Column("conversation_id", sa.Text),
    sa.Column("turn_id", sa.Text),
    sa.Column("data", Json, nullable=False),
    sa.Column("created_at", Instant, nullable=False),
)

read_markers: Final = sa.Table(
    "read_markers",
    metadata,
    sa.Column("conversation_id", sa.Text, sa.ForeignKey("conversations.id", ondelete="CASCADE"), primary_key=True),
    # `visitor:<id>` or `staff:<id>`.
    sa.Column("reader", sa.Text, primary_key=True),
    sa.Column("position", sa.BigInteger, nullable=False),
    sa.Column("read_at", Instant, nullable=False),
)

idempotency: Final = sa.Table(
    "idempotency",
    metadata,
    # Whose key it is: keys of two people never meet.
    sa.Column("scope", sa.Text, primary_key=True),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("body_hash", sa.LargeBinary, nullable=False),
    # The id of what was created.
    sa.Column("created_id", sa.Text, nullable=False),
    sa.Column("created_at", Instant, nullable=False, index=True),
)
