"""Whether someone is there: what they chose, made `offline` when no page of theirs is connected."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime


class Status(StrEnum):
    """What a person chose to be, and what others see."""

    ONLINE = "online"
    AWAY = "away"
    OFFLINE = "offline"


@dataclass(frozen=True, slots=True)
class Presence:
    """One person's presence. `seen` is the status others were last told; telemetry is None without consent."""

    person: str
    project_id: str
    chosen: Status
    seen: Status
    product: str | None
    consent: bool
    telemetry: Mapping[str, Any] | None
    updated_at: datetime


def absent(person: str, project_id: str, now: datetime) -> Presence:
    """Make the presence of someone who was never here: they will be online once they come."""
    return Presence(person, project_id, Status.ONLINE, Status.OFFLINE, None, False, None, now)


def declare(
    known: Presence,
    *,
    chosen: Status,
    product: str | None,
    consent: bool,
    telemetry: Mapping[str, Any] | None,
    now: datetime,
) -> Presence:
    """Take what a person says of themself, whole. Without consent nothing of the telemetry is kept, new or old."""
    kept = (known.telemetry if telemetry is None else telemetry) if consent else None
    return replace(known, chosen=chosen, product=product, consent=consent, telemetry=kept, updated_at=now)


def settle(known: Presence, stream_count: int, now: datetime) -> Presence:
    """Work out what others see from how many streams the person holds; with none, the current product is cleared."""
    if stream_count > 0:
        return known if known.seen is known.chosen else replace(known, seen=known.chosen, updated_at=now)
    if known.seen is Status.OFFLINE and known.product is None:
        return known
    return replace(known, seen=Status.OFFLINE, product=None, updated_at=now)
