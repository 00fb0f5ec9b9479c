"""The unit of work: one room for each kind of thing, all inside one database transaction.

A new room is a file here, a field below, its table and a migration.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gateway.storage.attachments import Attachments
from gateway.storage.conversations import Conversations
from gateway.storage.events import Events
from gateway.storage.keys import IdempotencyKeys
from gateway.storage.messages import Messages
from gateway.storage.notifications import Notifications
from gateway.storage.pending import PendingActions
from gateway.storage.presence import PresenceRoom
from gateway.storage.questions import Questions
from gateway.storage.readers import ReadMarkers
from gateway.storage.staff import Staff, StaffSessions
from gateway.storage.tickets import Tickets
from gateway.storage.turns import Turns
from gateway.storage.visitors import Sessions, StreamTickets, Visitors

if TYPE_CHECKING:
    from gateway.storage.connection import Connection
    from shared.clock import Clock


class Transaction:
    """What a unit of work can do."""

    def __init__(self, connection: Connection, clock: Clock) -> None:
        """Open every room on the same connection."""
        self.visitors = Visitors(connection)
        self.sessions = Sessions(connection)
        self.stream_tickets = StreamTickets(connection)
        self.conversations = Conversations(connection)
        self.messages = Messages(connection)
        self.turns = Turns(connection)
        self.events = Events(connection, clock)
        self.read_markers = ReadMarkers(connection)
        self.keys = IdempotencyKeys(connection)
        self.tickets = Tickets(connection)
        self.staff = Staff(connection)
        self.staff_sessions = StaffSessions(connection)
        self.presence = PresenceRoom(connection)
        self.notifications = Notifications(connection)
        self.attachments = Attachments(connection)
        self.questions = Questions(connection)
        self.pending = PendingActions(connection)
