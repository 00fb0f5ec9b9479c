"""The pages and their files, with a policy under which nothing foreign runs or loads."""

from __future__ import annotations

import html
import json
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from aiohttp import web

from gateway.web.services import SERVICES
from shared.errors import NotFound

if TYPE_CHECKING:
    from gateway.identity.projects import Project, PublicKey
    from gateway.web.services import Services

NAMELESS: Final = "Passeur"
MARK_DATA: Final = '<meta name="passeur-project" content="" />'
MARKS_NAME: Final = (f"<title>{NAMELESS}</title>", f'<h1 class="wordmark">{NAMELESS}</h1>')
"""What the chat page has in the places where the project's facts and name go."""
MANIFEST: Final = "static/chat/manifest.webmanifest"
KEY_SHOWN: Final = 64
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
    """Serve the chat page of the project whose public key the address names."""
    return chat_page(request)


async def manifest(request: web.Request) -> web.StreamResponse:
    """Describe the chat page as an app: with a project's key in the address, that project's own."""
    services = request.app[SERVICES]
    found = services.projects.by_public_key(request.query.get("key", ""))
    told = json.loads((services.static / MANIFEST.removeprefix("static/")).read_text(encoding="utf-8"))
    if found is not None:
        project, key = found
        page = f"../../chat?key={quote(key.key, safe='')}"
        told |= {"id": f"chat?key={key.key}", "name": project.name, "short_name": project.name, "start_url": page}
    headers = {"Cache-Control": "no-cache", "Cross-Origin-Resource-Policy": "same-origin"}
    return web.json_response(told, headers=headers, content_type=SERVED[".webmanifest"])


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
        "Content-Security-Policy": page_policy(_listed(services)),
        "Cross-Origin-Resource-Policy": "cross-origin" if name.parts[0] == "widget" else "same-origin",
    }
    return web.FileResponse(services.static / name, headers=headers)


def chat_page(request: web.Request) -> web.Response:
    """Write what the page must know of its project into it, so that its name stands there from the first paint.

    A key that no project has makes a page that says so, with 404. Only pages that the key allows may frame it.
    """
    services = request.app[SERVICES]
    asked = request.query.get("key", "")
    key = asked or services.projects.default_key()
    found = None if key is None else services.projects.by_public_key(key)
    known = {"unknown_key": asked[:KEY_SHOWN]} if found is None else _known(*found)
    text = (services.static / "chat/index.html").read_text(encoding="utf-8")
    name = html.escape(str(known.get("name", NAMELESS)))
    text = text.replace(MARK_DATA, MARK_DATA.replace('""', f'"{html.escape(json.dumps(known))}"'))
    for mark in MARKS_NAME:
        text = text.replace(mark, mark.replace(NAMELESS, name))
    if asked and found is not None:
        text = text.replace(MANIFEST, f"{MANIFEST}?key={quote(found[1].key, safe='')}")
    listed = found[1].allowed_origins if asked and found is not None else _listed(services)
    headers = {"Cache-Control": "no-cache", "Content-Security-Policy": page_policy(listed)}
    headers["Cross-Origin-Resource-Policy"] = "same-origin"
    status = HTTPStatus.NOT_FOUND if found is None else HTTPStatus.OK
    return web.Response(text=text, content_type="text/html", charset="utf-8", headers=headers, status=status)


def _known(project: Project, key: PublicKey) -> dict[str, object]:
    return {
        "key": key.key,
        "name": project.name,
        "languages": project.languages,
        "default_language": project.default_language,
        "greeting": dict(project.greeting),
    }


def _listed(services: Services) -> frozenset[str]:
    return frozenset().union(*(project.allowed_origins for project in services.projects))


def page_policy(origins: frozenset[str]) -> str:
    """The policy of our pages: hosts that may frame them are the origins that the projects list."""
    return PAGE_POLICY.format(ancestors=" ".join(["'self'", *sorted(origins)]))
