"""What reading a reply to a waiting question leads to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.conversation.model import ServerText
    from gateway.storage.pending import Kind


@dataclass(frozen=True, slots=True)
class Resumed:
    """The reply answered the question, and this turn claimed it: ask `text` again with what is known now."""

    text: str
    resolved_intent: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AskedLocally:
    """The reply is answered by another question of ours; the AI server has nothing to do."""

    kind: Kind
    text: ServerText


class LookFirst(Exception):
    """The reply reads as a new search term, and nobody looked yet whether it surely asks for something else."""


Answer = Resumed | AskedLocally | None
"""`None`: the message is an ordinary one, and nothing waits any more."""
