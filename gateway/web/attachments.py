"""Files that come with messages."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from aiohttp import web

from gateway.attachments.headers import IMAGE_TYPES
from gateway.attachments.service import DOCUMENT_TYPES, size_limit
from gateway.web.answers import answer
from gateway.web.bodies import idempotency_key, path_id
from gateway.web.caller import visitor_of
from gateway.web.people import StaffCaller, person_of
from gateway.web.support import SUPPORT
from shared.errors import BodyTooLarge, DeadlinePassed, UnsupportedMedia, Violation

if TYPE_CHECKING:
    from gateway.storage.attachments import Attachment

TAKEN: Final = tuple(sorted({*IMAGE_TYPES, *DOCUMENT_TYPES}))
UPLOAD_TIMEOUT_S: Final = 60.0
SANDBOX: Final = "default-src 'none'; sandbox; frame-ancestors 'none'"


async def create(request: web.Request) -> web.Response:
    """Send a file: its bytes are the body, its type the Content-Type, its name the query's `name`."""
    caller, key = await visitor_of(request), idempotency_key(request)
    support = request.app[SUPPORT]
    support.uploads.take(caller.visitor.id)
    media_type = request.content_type
    if media_type not in TAKEN:
        raise UnsupportedMedia([Violation("Content-Type", f"must be one of {', '.join(TAKEN)}")])
    data = await _body(request, size_limit(media_type))
    name = request.query.get("name", "")
    return answer(attachment_view(await support.attachments.take(caller.visitor, name, media_type, data, key)), 201)


async def show(request: web.Request) -> web.Response:
    """Fetch a file. An image can be shown; a document is only ever saved, since nobody has looked inside."""
    caller, attachments = await person_of(request), request.app[SUPPORT].attachments
    attachment_id = path_id(request, "attachment_id")
    if isinstance(caller, StaffCaller):
        found, data = await attachments.for_staff(caller.member, attachment_id)
    else:
        found, data = await attachments.for_visitor(caller.visitor, attachment_id)
    shown = "inline" if found.kind == "image" else "attachment"
    headers = {
        "Content-Type": found.media_type if found.kind == "image" else "application/octet-stream",
        "Content-Disposition": f"{shown}; filename*=UTF-8''{quote(found.name)}",
        "Content-Security-Policy": SANDBOX,
        "Cache-Control": "private, no-store",
    }
    return web.Response(body=data, headers=headers)


def attachment_view(attachment: Attachment) -> dict[str, Any]:
    """Show what is known of a file."""
    return {
        "id": attachment.id,
        "kind": attachment.kind,
        "name": attachment.name,
        "media_type": attachment.media_type,
        "size": attachment.size,
        "truncated": attachment.truncated,
        "created_at": attachment.created_at.isoformat(),
    }


async def _body(request: web.Request, limit: int) -> bytes:
    """Read the body piece by piece and stop at the limit, however long it says to be."""
    refusal = BodyTooLarge(f"The file is over {limit // 1024 // 1024} MiB: make it smaller.")
    if (request.content_length or 0) > limit:
        raise refusal
    pieces: list[bytes] = []
    size = 0
    try:
        async with asyncio.timeout(UPLOAD_TIMEOUT_S):
            async for piece in request.content.iter_any():
                size += len(piece)
                if size > limit:
                    raise refusal
                pieces.append(piece)
    except TimeoutError as exc:
        raise DeadlinePassed(f"The file did not arrive within {UPLOAD_TIMEOUT_S:g} s.") from exc
    return b"".join(pieces)
