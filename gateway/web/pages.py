"""The pages and their files, with a policy under which nothing foreign runs or loads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from aiohttp import web

from gateway.web.services import SERVICES
from shared.errors import NotFound

if TYPE_CHECKING:
    from gateway.web.services import Services

FOUND: Final = 302
PAGE_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; worker-src 'self'; media-src 'self' blob:; "
    "object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors {ancestors}; "
    "require-trusted-types-for 'script'; trusted-types passeur-answers"
)
SERVED: Final = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".webp": "image/webp",
    ".woff2": "font/woff2",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".txt": "text/plain",
}
TEXTUAL: Final = frozenset({"text/html", "text/javascript", "text/css", "text/plain", "application/json"})


async def root(request: web.Request) -> web.StreamResponse:
    """Lead whoever types the bare address to the chat page."""
    del request
    return web.Response(status=FOUND, headers={"Location": "/chat"})


async def chat(request: web.Request) -> web.StreamResponse:
    """Serve the chat page."""
    return _file(request, Path("chat/index.html"))


async def inbox(request: web.Request) -> web.StreamResponse:
    """Serve the staff's page."""
    return _file(request, Path("inbox/index.html"))


async def status(request: web.Request) -> web.StreamResponse:
    """Serve the page that tells people whether questions can be answered."""
    return _file(request, Path("status/index.html"))


async def static(request: web.Request) -> web.StreamResponse:
    """Serve one of the pages' files; browsers revalidate it by its ETag."""
    return _file(request, Path(request.match_info["path"]))


def _file(request: web.Request, name: Path) -> web.FileResponse:
    services = request.app[SERVICES]
    media_type = SERVED.get(name.suffix)
    try:
        path = (services.static / name).resolve()
        found = media_type is not None and path.is_relative_to(services.static) and path.is_file()
    except (OSError, ValueError):
        found = False
    if not found or media_type is None:
        raise NotFound("There is no such file.")
    charset = "; charset=utf-8" if media_type in TEXTUAL else ""
    headers = {
        "Content-Type": f"{media_type}{charset}",
        "Cache-Control": "no-cache",
        "Content-Security-Policy": page_policy(services),
        "Cross-Origin-Resource-Policy": "cross-origin" if name.parts[0] == "widget" else "same-origin",
    }
    return web.FileResponse(services.static / name, headers=headers)


def page_policy(services: Services) -> str:
    """The policy of our pages: hosts that may frame them are the origins that the projects list."""
    listed = sorted(frozenset().union(*(project.allowed_origins for project in services.projects)))
    return PAGE_POLICY.format(ancestors=" ".join(["'self'", *listed]))
