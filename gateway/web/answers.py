"""Plain data as JSON responses."""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web


def dump(data: Any) -> str:
    """Write JSON."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def answer(data: Any, status: int = 200) -> web.Response:
    """Answer with JSON that no cache keeps."""
    return web.Response(
        text=dump(data), status=status, content_type="application/json", headers={"Cache-Control": "no-store"}
    )


def nothing() -> web.Response:
    """Answer that it is done."""
    return web.Response(status=204)
