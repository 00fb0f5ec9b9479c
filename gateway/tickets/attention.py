"""Who looks at a conversation, how far they have read, and who is writing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gateway.conversation.model import staff_stream_id, visitor_stream_id
from gateway.conversation.unread import STAFF, VISITOR, counted_role, kind_of, staff_reader, visitor_reader
from gateway.events import announcement
from gateway.storage.again import again
from gateway.storage.contract import NewEvent
from gateway.tickets.audience import StaffAudience
from gateway.tickets.telling import tell_looking, tell_ticket
from shared.errors import NotFound

if TYPE_CHECKING:
    from gateway.conversation.model import Conversation, Visitor
    from gateway.events.contract import Whisperer
    from gateway.storage.contract import Store
    from gateway.storage.staff import StaffMember
    from gateway.storage.transaction import Transaction
    from shared.clock import Clock

NO_CONVERSATION: Final = "There is no such conversation."
TYPING: Final = "typing"


class Attention:
    """Read markers, typing, and what each of the staff has open."""

    def __init__(self, store: Store, whisperer: Whisperer, clock: Clock) -> None:
        """Take the seams."""
        self._store = store
        self._whisperer = whisperer
        self._clock = clock

    # ------------------------------------------------------------------ reading

    async def visitor_read(self, visitor: Visitor, conversation_id: str, message_id: str) -> int:
        """Remember how far a visitor has read, and tell how many messages of the staff they have not.

        Raises:
            NotFound: the conversation or message is not there, or not theirs.
        """

        async def act() -> int:
            async with self._store.transaction() as tx:
                conversation = await self._of_visitor(tx, visitor, conversation_id)
                return await self._read(tx, conversation, visitor_reader(visitor.id), message_id)

        return await again(act, self._clock)

    async def staff_read(self, member: StaffMember, conversation_id: str, message_id: str) -> int:
        """Remember how far one of the staff has read, and tell how many messages of the visitor they have not.

        Raises:
            NotFound: the conversation or message is not there, or not for this person.
        """

        async def act() -> int:
            async with self._store.transaction() as tx:
                conversation = await conversation_for(tx, member, conversation_id)
                return await self._read(tx, conversation, staff_reader(member.id), message_id)

        return await again(act, self._clock)

    async def _read(self, tx: Transaction, conversation: Conversation, reader: str, message_id: str) -> int:
        message = await tx.messages.get(message_id)
        if message is None or message.conversation_id != conversation.id:
            raise NotFound("There is no such message in this conversation.")
        now = self._clock.now()
        if await tx.read_markers.advance(conversation.id, reader, message.position, now):
            await tx.notifications.mark_conversation_read(reader, conversation.id, now)
            event = announcement.read(conversation.id, reader, message.position, message.id)
            ticket = await tx.tickets.latest_in(conversation.id)
            await tx.events.append(visitor_stream_id(conversation.visitor_id), _for_visitor(event, reader))
            if kind_of(reader) == STAFF or ticket is not None:
                await tx.events.append(staff_stream_id(conversation.project_id), event)
            if ticket is not None and kind_of(reader) == VISITOR:
                await tell_ticket(tx, ticket)
        position = await tx.read_markers.position(conversation.id, reader)
        return await tx.messages.unread(conversation.id, counted_role(reader), position)

    # ------------------------------------------------------------------ typing

    async def visitor_types(self, visitor: Visitor, conversation_id: str, *, typing: bool) -> None:
        """Tell the staff who have the conversation open that the visitor is writing, or stopped.

        Raises:
            NotFound: the conversation is not there, or not theirs.
        """
        async with self._store.transaction() as tx:
            conversation = await self._of_visitor(tx, visitor, conversation_id)
        data = {"conversation_id": conversation.id, "by": VISITOR, "typing": typing}
        streams = (staff_stream_id(conversation.project_id),)
        sender = visitor_reader(visitor.id)
        self._whisperer.whisper(streams, TYPING, data, conversation_id=conversation.id, sender=sender)

    async def staff_types(self, member: StaffMember, conversation_id: str, *, typing: bool) -> None:
        """Tell the visitor, and colleagues who have the conversation open, that someone is writing, or stopped.

        Raises:
            NotFound: the conversation is not there, or not for this person.
        """
        async with self._store.transaction() as tx:
            conversation = await conversation_for(tx, member, conversation_id)
        author = {"id": member.id, "name": member.name}
        data = {"conversation_id": conversation.id, "by": STAFF, "author": author, "typing": typing}
        streams = (visitor_stream_id(conversation.visitor_id), staff_stream_id(conversation.project_id))
        sender = staff_reader(member.id)
        self._whisperer.whisper(streams, TYPING, data, conversation_id=conversation.id, sender=sender)

    # ------------------------------------------------------------------ looking

    async def look(self, member: StaffMember, conversation_id: str, *, opened: bool) -> None:
        """Follow a conversation on this person's stream from now on, or no longer.

        Raises:
            NotFound: the conversation is not there, or not for this person.
        """
        async with self._store.transaction() as tx:
            conversation = await conversation_for(tx, member, conversation_id)
            if not opened:
                if await tx.tickets.close_for(member.id, conversation.id):
                    await tell_looking(tx, member.project_id, member.id, conversation.id, opened=False)
                return
            closed = await tx.tickets.open_for(member.id, conversation.id, self._clock.now())
            await tell_looking(tx, member.project_id, member.id, conversation.id, opened=True)
            for each in closed:
                await tell_looking(tx, member.project_id, member.id, each, opened=False)

    async def audience_of(self, member: StaffMember) -> StaffAudience:
        """Make the filter through which one of the staff sees their project's stream."""
        async with self._store.transaction() as tx:
            return StaffAudience(member.id, await tx.tickets.opened_by(member.id))

    async def _of_visitor(self, tx: Transaction, visitor: Visitor, conversation_id: str) -> Conversation:
        conversation = await tx.conversations.owned(conversation_id, visitor.id)
        if conversation is None:
            raise NotFound(NO_CONVERSATION)
        return conversation


async def conversation_for(tx: Transaction, member: StaffMember, conversation_id: str) -> Conversation:
    """Read a conversation that one of the staff may see: of their project, and passed to the staff once.

    Raises:
        NotFound: not there, or not for this person; the two are told alike.
    """
    conversation = await tx.conversations.get(conversation_id)
    if conversation is None or conversation.project_id != member.project_id:
        raise NotFound(NO_CONVERSATION)
    if await tx.tickets.latest_in(conversation_id) is None:
        raise NotFound(NO_CONVERSATION)
    return conversation


def _for_visitor(event: NewEvent, reader: str) -> NewEvent:
    """Leave out which of the staff it was: visitors see that they were read, not by whom."""
    if kind_of(reader) != STAFF:
        return event
    data = {name: value for name, value in event.data.items() if name != "staff_id"}
    return NewEvent(event.type, data, event.channel, event.conversation_id)
