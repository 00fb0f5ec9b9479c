"""Notices in the words of whoever reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateway.conversation.model import ServerText
from gateway.conversation.texts import render

if TYPE_CHECKING:
    from collections.abc import Mapping


def rendered(notification: Mapping[str, Any], language: str) -> dict[str, Any]:
    """Put a kept notice in the reader's words."""
    shown = {name: value for name, value in notification.items() if name != "server_text"}
    return {**shown, "text": render(ServerText(**notification["server_text"]), language)}
