"""The table of questions that conversations wait on."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

from gateway.storage.columns import Instant, Json
from gateway.storage.tables import metadata

pending_actions: Final = sa.Table(
    "pending_actions",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("conversation_id", sa.Text, sa.ForeignKey("conversations.id", ondelete="CASCADE"), nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    # What is needed to go on: candidates, terms, the question as it was asked, what was tried.
    sa.Column("payload", Json, nullable=False),
    sa.Column("asked_at", Instant, nullable=False),
    sa.Column("expires_at", Instant, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    # The turn that the answer started; only that turn settles or re-offers.
    sa.Column("claimed_by", sa.Text),
    sa.CheckConstraint(
        "kind IN ('clarify_connector', 'clarify_search', 'confirmation', 'browser_tool')", name="kind_known"
    ),
    sa.CheckConstraint(
        "state IN ('open', 'claimed', 'answered', 'passed', 'expired', 'replaced', 'cancelled')", name="state_known"
    ),
    sa.CheckConstraint("state <> 'claimed' OR claimed_by IS NOT NULL", name="claimed_by_a_turn"),
    # Whatever races, a conversation waits on one thing.
    sa.Index(
        "uq_pending_actions_one_open_per_conversation",
        "conversation_id",
        unique=True,
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    ),
    sa.Index("ix_pending_actions_claimed_by", "claimed_by"),
    sa.Index("ix_pending_actions_expires_at", "expires_at"),
)
