"""One row of the table that the router and `/openapi.json` are made of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aiohttp.typedefs import Handler
    from pydantic import BaseModel

Caller = Literal["visitor", "staff", "operator"]


@dataclass(frozen=True, slots=True)
class Route:
    """One operation. `answers` is a status and what comes with it; None is an empty body.

    `callers` are those who may ask, each with a bearer token of their kind; nobody at all needs one when it is empty.
    `media` names the types of a body that is not JSON. With `again` the whole request is answered anew when the
    database undid it (`gateway.web.middleware.repeatable`); a handler whose body comes once, or that stays for hours,
    sees to that itself.
    """

    method: str
    path: str
    handler: Handler
    answers: Mapping[int, type[BaseModel] | None]
    body: type[BaseModel] | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    streams: bool = False
    callers: tuple[Caller, ...] = ("visitor",)
    takes_key: bool = False
    problems: tuple[int, ...] = ()
    media: tuple[str, ...] = ()
    sends: tuple[str, ...] = ()
    again: bool = True
