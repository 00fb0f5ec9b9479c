"""What people asked in vain, for those who write the documents."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from gateway.tickets.questions import LONGEST_DAYS
from gateway.web.answers import answer
from gateway.web.bodies import path_id, whole_number
from gateway.web.people import staff_of
from gateway.web.support import SUPPORT

if TYPE_CHECKING:
    from aiohttp import web

    from gateway.conversation.grouping import Asked, Group

DAYS: Final = 30
SHOWN: Final = 100


async def index(request: web.Request) -> web.Response:
    """Group the questions of the last `days` that found no answer, the most asked first."""
    caller = await staff_of(request)
    groups = await request.app[SUPPORT].questions.groups(
        caller.member, whole_number(request, "days", DAYS, LONGEST_DAYS)
    )
    return answer({"groups": [_group(each) for each in groups[:SHOWN]]})


async def passages(request: web.Request) -> web.Response:
    """Name the passages that such a turn looked at and did not find good enough, nearest first."""
    caller = await staff_of(request)
    found = await request.app[SUPPORT].questions.near_passages(caller.member, path_id(request, "turn_id"))
    return answer({"passages": [asdict(each) for each in found]})


def _group(group: Group) -> dict[str, Any]:
    return {
        "text": group.text,
        "count": group.count,
        "insufficient_count": group.insufficient_count,
        "escalated_count": group.escalated_count,
        "last_at": group.last_at.isoformat(),
        "examples": [_example(each) for each in group.examples],
    }


def _example(asked: Asked) -> dict[str, Any]:
    return {**asdict(asked), "asked_at": asked.asked_at.isoformat()}
