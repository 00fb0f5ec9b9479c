"""Staff accounts and their sessions: bearer tokens that are kept only as hashes, passwords only as scrypt hashes."""

from __future__ import annotations

import asyncio
import secrets
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, TypeVar

from gateway.identity.passwords import generate_password, hash_password, verify_password, weakness
from gateway.identity.sessions import TICKET_LIFE, TOKEN_BYTES, TOKEN_LENGTH_LIMIT, IssuedTicket, digest
from gateway.storage.staff import StaffMember
from shared.errors import FailedPrecondition, InvalidRequest, NotFound, Unauthenticated, Violation
from shared.ids import new_id
from shared.text import text_violation

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from datetime import datetime

    from gateway.storage.contract import Store
    from gateway.storage.staff import StaffRole
    from shared.clock import Clock

Done = TypeVar("Done")
SESSION_LIFE: Final = timedelta(hours=12)
"""A working day; whoever works longer signs in again."""
TOKEN_PREFIX: Final = "st_"  # noqa: S105 - what a staff token begins with is no secret
TICKET_PREFIX: Final = "stt_"
"""What a staff stream ticket begins with: no session's token does, so that neither passes for the other."""
HASHES_AT_ONCE: Final = 2
"""Passwords hashed at the same time: each takes 32 MiB."""
NAME_LIMIT: Final = 60
LOGIN_LIMIT: Final = 60
ROLES: Final = ("agent", "admin")


@dataclass(frozen=True, slots=True)
class IssuedStaffSession:
    """A new session; the token is told once and never again."""

    token: str
    member: StaffMember
    expires_at: datetime


class StaffService:
    """Issues and checks staff sessions, and keeps the accounts."""

    def __init__(self, store: Store, clock: Clock) -> None:
        """Take where accounts are kept."""
        self._store = store
        self._clock = clock
        self._hashing = ThreadPoolExecutor(HASHES_AT_ONCE, thread_name_prefix="passwords")
        # Verified against when the login is unknown, so that both refusals take the same time.
        self._nobody: str | None = None

    async def sign_in(self, login: str, password: str) -> IssuedStaffSession:
        """Open a session.

        Raises:
            Unauthenticated: unknown login, wrong password or disabled account; all told alike.
        """
        async with self._store.transaction() as tx:
            found = await tx.staff.by_login(fold_login(login))
        kept = found[1] if found is not None else await self._stand_in()
        fits = await self._in_thread(verify_password, password, kept)
        if found is None or not fits or not found[0].is_active:
            raise Unauthenticated
        now = self._clock.now()
        issued = IssuedStaffSession(TOKEN_PREFIX + secrets.token_urlsafe(TOKEN_BYTES), found[0], now + SESSION_LIFE)
        async with self._store.transaction() as tx:
            await tx.staff_sessions.forget_before(now)
            await tx.staff_sessions.add(digest(issued.token), found[0].id, now, issued.expires_at)
        return issued

    async def authenticate(self, token: str) -> StaffMember:
        """Find whose token it is.

        Raises:
            Unauthenticated: unknown, past its end, or of an account that was disabled; all told alike.
        """
        if not token.startswith(TOKEN_PREFIX) or len(token) > TOKEN_LENGTH_LIMIT:
            raise Unauthenticated
        async with self._store.transaction() as tx:
            found = await tx.staff_sessions.find(digest(token))
        if found is None or found[1] <= self._clock.now() or not found[0].is_active:
            raise Unauthenticated
        return found[0]

    async def sign_out(self, token: str) -> None:
        """End a session; one that is gone already is no error."""
        async with self._store.transaction() as tx:
            await tx.staff_sessions.end(digest(token))

    async def open_ticket(self, member: StaffMember) -> IssuedTicket:
        """Make a ticket with which native EventSource, which cannot send headers, opens one stream.

        It is kept as a session of a minute that no request can bear, so that it ends with the account's sessions.
        """
        now = self._clock.now()
        issued = IssuedTicket(TICKET_PREFIX + secrets.token_urlsafe(TOKEN_BYTES), now + TICKET_LIFE)
        async with self._store.transaction() as tx:
            await tx.staff_sessions.add(digest(issued.ticket), member.id, now, issued.expires_at)
        return issued

    async def redeem_ticket(self, ticket: str) -> StaffMember:
        """Use a ticket up.

        Raises:
            Unauthenticated: unknown, used, past its 60 s, or of an account that was disabled; all told alike.
        """
        async with self._store.transaction() as tx:
            found = await tx.staff_sessions.find(digest(ticket))
            is_ours = await tx.staff_sessions.end(digest(ticket))
        if found is None or not is_ours or found[1] <= self._clock.now() or not found[0].is_active:
            raise Unauthenticated
        return found[0]

    # ------------------------------------------------------------------ accounts

    async def add(
        self, project_id: str, login: str, *, name: str, role: StaffRole, password: str | None = None
    ) -> tuple[StaffMember, str]:
        """Make an account, with a generated password when none is given; the password is told once.

        Raises:
            InvalidRequest: login, name, role or password out of bounds.
            FailedPrecondition: the login is taken.
        """
        chosen = generate_password() if password is None else password
        faults = [
            text_violation("login", login, limit=LOGIN_LIMIT),
            text_violation("name", name, limit=NAME_LIMIT),
            Violation("role", f"must be one of {', '.join(ROLES)}") if role not in ROLES else None,
            Violation("password", problem) if (problem := weakness(chosen)) else None,
        ]
        if found := [each for each in faults if each is not None]:
            raise InvalidRequest(found)
        now = self._clock.now()
        member = StaffMember(new_id(now), project_id, fold_login(login), name.strip(), role, now)
        kept = await self._in_thread(hash_password, chosen)
        async with self._store.transaction() as tx:
            if not await tx.staff.add(member, kept):
                raise FailedPrecondition(f"There is someone with the login {member.login!r} already: choose another.")
        return member, chosen

    async def set_password(self, login: str, password: str | None = None) -> tuple[StaffMember, str]:
        """Replace a password (with a generated one when none is given) and end every session of the account.

        Raises:
            NotFound: there is no such login.
            InvalidRequest: the password is out of bounds.
        """
        chosen = generate_password() if password is None else password
        if problem := weakness(chosen):
            raise InvalidRequest.of("password", problem)
        kept = await self._in_thread(hash_password, chosen)
        async with self._store.transaction() as tx:
            member = await _by_login(tx.staff.by_login(fold_login(login)), login)
            await tx.staff.set_password(member.id, kept)
        return member, chosen

    async def disable(self, login: str) -> StaffMember:
        """Let someone in no more; what they wrote stays.

        Raises:
            NotFound: there is no such login.
        """
        async with self._store.transaction() as tx:
            member = await _by_login(tx.staff.by_login(fold_login(login)), login)
            await tx.staff.disable(member.id, self._clock.now())
        return member

    async def of_project(self, project_id: str | None) -> Sequence[StaffMember]:
        """List everyone of a project, or of all."""
        async with self._store.transaction() as tx:
            return await tx.staff.of_project(project_id)

    def close(self) -> None:
        """Let the hashing threads go."""
        self._hashing.shutdown(wait=False, cancel_futures=True)

    async def _stand_in(self) -> str:
        if self._nobody is None:
            self._nobody = await self._in_thread(hash_password, generate_password())
        return self._nobody

    async def _in_thread(self, work: Callable[..., Done], *arguments: str) -> Done:
        return await asyncio.get_running_loop().run_in_executor(self._hashing, work, *arguments)


def fold_login(login: str) -> str:
    """Fold a login, so that nobody is told from another by case or spaces around."""
    return login.strip().casefold()


async def _by_login(finding: Awaitable[tuple[StaffMember, str] | None], login: str) -> StaffMember:
    found = await finding
    if found is None:
        raise NotFound(f"There is nobody with the login {login!r}.")
    return found[0]
