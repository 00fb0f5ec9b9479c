"""What someone has not read yet: a visitor counts the team's messages, each of the team counts the visitor's."""

from __future__ import annotations

from typing import Final

from gateway.conversation.model import Role

VISITOR: Final = "visitor"
STAFF: Final = "staff"


def visitor_reader(visitor_id: str) -> str:
    """Name a visitor as a reader of their conversations."""
    return f"{VISITOR}:{visitor_id}"


def staff_reader(staff_id: str) -> str:
    """Name one of the staff as a reader: each has a marker of their own."""
    return f"{STAFF}:{staff_id}"


def kind_of(person: str) -> str:
    """Tell whether a reader is a `visitor` or `staff`."""
    return person.partition(":")[0]


def id_of(person: str) -> str:
    """Tell a reader's own id."""
    return person.partition(":")[2]


def counted_role(person: str) -> Role:
    """Tell whose messages count as unread for this reader."""
    return Role.ADMIN if kind_of(person) == VISITOR else Role.USER
