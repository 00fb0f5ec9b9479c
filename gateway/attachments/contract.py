"""What rewrites images, without a process in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Picture:
    """An image drawn anew, at most 3 MiB."""

    media_type: str
    data: bytes


class Darkroom(Protocol):
    """Rewrites images from outside."""

    async def develop(self, data: bytes) -> Picture:
        """Draw an image anew from its pixels.

        Raises:
            InvalidRequest: it cannot be decoded within the limits.
            NotReady: too many images wait.
            NotImplementedHere: the extra that reads images is not installed.
        """
        ...
