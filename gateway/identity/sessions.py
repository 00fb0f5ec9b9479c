"""Visitor sessions: bearer tokens that are kept only as hashes."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from gateway.conversation.model import Visitor
from gateway.identity.entitlements import contexts_for
from gateway.storage.again import again
from shared.errors import Unauthenticated
from shared.ids import new_id

if TYPE_CHECKING:
    from datetime import datetime

    from gateway.identity.projects import Project
    from gateway.identity.proofs import Proven
    from gateway.storage.contract import Store
    from gateway.storage.transaction import Transaction
    from shared.clock import Clock

SESSION_LIFE: Final = timedelta(days=30)
RENEWABLE_AFTER_END: Final = timedelta(days=60)
"""How long after its end a session can still be renewed, so that a visitor who comes back finds their conversations."""
RENEWED_GRACE: Final = timedelta(minutes=10)
"""How long a renewed token still works, for requests and tabs that hold it."""
PROVEN_LIFE: Final = timedelta(hours=12)
"""How long a host's proof lasts: what it claimed may have changed since."""
TICKET_LIFE: Final = timedelta(seconds=60)
TOKEN_BYTES: Final = 32
TOKEN_LENGTH_LIMIT: Final = 128


@dataclass(frozen=True, slots=True)
class IssuedSession:
    """A new session; the token is told once and never again."""

    token: str
    visitor: Visitor
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class IssuedTicket:
    """A single-use ticket for one event stream."""

    ticket: str
    expires_at: datetime


def digest(secret: str) -> bytes:
    """Hash a bearer secret for keeping: 32 random bytes need no salt and no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


class SessionService:
    """Issues, renews and checks sessions and stream tickets."""

    def __init__(self, store: Store, clock: Clock) -> None:
        """Take where sessions are kept."""
        self._store = store
        self._clock = clock

    async def open_anonymous(self, project: Project, language: str) -> IssuedSession:
        """Make a new visitor who proved nothing."""
        now = self._clock.now()
        visitor = Visitor(
            id=new_id(now), project_id=project.id, subject=None, language=language, contexts=(), created_at=now
        )
        async with self._store.transaction() as tx:
            await tx.visitors.add(visitor)
            return await self._issue(tx, visitor)

    async def open_proven(self, project: Project, proven: Proven, language: str) -> IssuedSession:
        """Open a session for someone whose host proved who they are; always the same visitor, never an anonymous one.

        What they may read is taken from the claims anew each time. Such a session is short and not renewed: the host
        proves again.
        """
        now = self._clock.now()
        contexts = contexts_for(proven.claims, project.entitlements, project.anonymous_contexts)

        async def act() -> IssuedSession:
            async with self._store.transaction() as tx:
                known = await tx.visitors.by_subject(project.id, proven.user_id)
                if known is None:
                    visitor = Visitor(new_id(now), project.id, proven.user_id, language, contexts, now)
                    await tx.visitors.add(visitor)
                else:
                    visitor = replace(known, contexts=contexts)
                    await tx.visitors.set_contexts(visitor.id, contexts)
                return await self._issue(tx, visitor, PROVEN_LIFE)

        return await again(act, self._clock)

    async def renew(self, token: str, project: Project) -> IssuedSession:
        """Give the visitor of an old token a new one; the old one works for `RENEWED_GRACE` more.

        Raises:
            Unauthenticated: the token is unknown, too old, of another project, or of someone whom the host must prove.
        """
        now = self._clock.now()
        async with self._store.transaction() as tx:
            found = await tx.sessions.find(digest(token))
            if found is None:
                raise Unauthenticated("old_token_unknown")
            visitor, ends = found
            if ends + RENEWABLE_AFTER_END <= now or visitor.project_id != project.id:
                raise Unauthenticated("old_token_not_renewable")
            if visitor.subject is not None:
                raise Unauthenticated("proof_needed")
            await tx.sessions.shorten(digest(token), now + RENEWED_GRACE)
            return await self._issue(tx, visitor)

    async def authenticate(self, token: str) -> Visitor:
        """Find whose token it is.

        Raises:
            Unauthenticated: unknown or past its end; the two are told alike.
        """
        if not token or len(token) > TOKEN_LENGTH_LIMIT:
            raise Unauthenticated
        async with self._store.transaction() as tx:
            found = await tx.sessions.find(digest(token))
        if found is None or found[1] <= self._clock.now():
            raise Unauthenticated
        return found[0]

    async def open_ticket(self, visitor: Visitor) -> IssuedTicket:
        """Make a ticket with which native EventSource, which cannot send headers, opens one stream."""
        issued = IssuedTicket(secrets.token_urlsafe(TOKEN_BYTES), self._clock.now() + TICKET_LIFE)
        async with self._store.transaction() as tx:
            await tx.stream_tickets.add(digest(issued.ticket), visitor.id, issued.expires_at)
        return issued

    async def redeem_ticket(self, ticket: str) -> Visitor:
        """Use a ticket up.

        Raises:
            Unauthenticated: unknown, used or past its 60 s; all told alike.
        """
        async with self._store.transaction() as tx:
            visitor_id = await tx.stream_tickets.redeem(digest(ticket), self._clock.now())
            visitor = None if visitor_id is None else await tx.visitors.get(visitor_id)
        if visitor is None:
            raise Unauthenticated
        return visitor

    async def _issue(self, tx: Transaction, visitor: Visitor, life: timedelta = SESSION_LIFE) -> IssuedSession:
        now = self._clock.now()
        issued = IssuedSession(secrets.token_urlsafe(TOKEN_BYTES), visitor, now + life)
        await tx.sessions.add(digest(issued.token), visitor.id, now, issued.expires_at)
        return issued
