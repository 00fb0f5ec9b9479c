"""The rooms of the staff and their sessions. Secrets are kept as hashes only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

import sqlalchemy as sa

from gateway.storage.connection import Connection, one
from gateway.storage.support_tables import staff, staff_sessions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

StaffRole = Literal["agent", "admin"]
PAGE: Final = 500


@dataclass(frozen=True, slots=True)
class StaffMember:
    """One of the people who answer. `login` is what they sign in with, `name` what visitors see."""

    id: str
    project_id: str
    login: str
    name: str
    role: StaffRole
    created_at: datetime
    disabled_at: datetime | None = None

    @property
    def is_active(self) -> bool:
        """Tell whether they may work here."""
        return self.disabled_at is None


class Staff:
    """Staff by id and by login."""

    def __init__(self, connection: Connection) -> None:
        """Take the transaction's connection."""
        self._connection = connection

    async def add(self, member: StaffMember, password_hash: str) -> bool:
        """Keep someone new; False when the login is taken."""
        row = {name: getattr(member, name) for name in StaffMember.__slots__}
        new = self._connection.insert_new(staff)
        return await self._connection.run(new, {**row, "password_hash": password_hash}) == 1

    async def get(self, staff_id: str) -> StaffMember | None:
        """Read one."""
        found = await one(self._connection, sa.select(staff).where(staff.c.id == staff_id))
        return None if found is None else _member(found)

    async def by_login(self, login: str) -> tuple[StaffMember, str] | None:
        """Read one with the hash of their password."""
        found = await one(self._connection, sa.select(staff).where(staff.c.login == login))
        return None if found is None else (_member(found), found["password_hash"])

    async def of_project(self, project_id: str | None) -> Sequence[StaffMember]:
        """Read everyone of a project (or of all), by name."""
        query = sa.select(staff).order_by(staff.c.name, staff.c.id).limit(PAGE)
        if project_id is not None:
            query = query.where(staff.c.project_id == project_id)
        return [_member(row) for row in await self._connection.rows(query)]

    async def set_password(self, staff_id: str, password_hash: str) -> None:
        """Replace a password and end every session it opened."""
        await self._connection.run(sa.update(staff).where(staff.c.id == staff_id).values(password_hash=password_hash))
        await self._connection.run(sa.delete(staff_sessions).where(staff_sessions.c.staff_id == staff_id))

    async def disable(self, staff_id: str, now: datetime) -> None:
        """Let someone in no more, and end their sessions; what they wrote stays."""
        await self._connection.run(sa.update(staff).where(staff.c.id == staff_id).values(disabled_at=now))
        await self._connection.run(sa.delete(staff_sessions).where(staff_sessions.c.staff_id == staff_id))


class StaffSessions:
    """Bearer sessions of staff by the hash of their token."""

    def __init__(self, connection: Connection) -> None:
        """Take the transaction's connection."""
        self._connection = connection

    async def add(self, token_hash: bytes, staff_id: str, now: datetime, expires_at: datetime) -> None:
        """Keep a new session."""
        row = {"token_hash": token_hash, "staff_id": staff_id, "created_at": now, "expires_at": expires_at}
        await self._connection.run(sa.insert(staff_sessions).values(**row))

    async def find(self, token_hash: bytes) -> tuple[StaffMember, datetime] | None:
        """Read whose session it is and when it ends."""
        query = (
            sa.select(staff, staff_sessions.c.expires_at)
            .join(staff_sessions, staff_sessions.c.staff_id == staff.c.id)
            .where(staff_sessions.c.token_hash == token_hash)
        )
        found = await one(self._connection, query)
        return None if found is None else (_member(found), found["expires_at"])

    async def end(self, token_hash: bytes) -> bool:
        """End one session; tells whether it was there, which of several at once is true for one."""
        statement = sa.delete(staff_sessions).where(staff_sessions.c.token_hash == token_hash)
        return await self._connection.run(statement) == 1

    async def forget_before(self, instant: datetime) -> int:
        """Remove sessions that ended before `instant`."""
        return await self._connection.run(sa.delete(staff_sessions).where(staff_sessions.c.expires_at < instant))


def _member(row: Mapping[str, Any]) -> StaffMember:
    return StaffMember(**{name: row[name] for name in StaffMember.__slots__})
