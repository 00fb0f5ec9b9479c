"""One call as the simulator will answer it, and the frames that a wire makes of it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from tests.simulator.invoice import Used
from tests.simulator.prompt import Prompt
from tests.simulator.script import Script


@dataclass(frozen=True, slots=True)
class Plan:
    """What will be said, and what it is billed as."""

    family: str
    model: str
    number: int
    script: Script
    used: Used
    cost_nanousd: int

    @property
    def text(self) -> str:
        """The whole answer."""
        return "".join(self.script.chunks)


@dataclass(frozen=True, slots=True)
class Frame:
    """One piece of a stream. Faults count the frames of kind `text`."""

    kind: Literal["text", "other"]
    data: bytes


class Wire(Protocol):
    """One family's format."""

    def prompt(self, body: dict[str, Any]) -> Prompt: ...
    def frames(self, plan: Plan) -> list[Frame]: ...
    def whole(self, plan: Plan) -> dict[str, Any]: ...
    def error(self, status: int, text: str) -> dict[str, Any]: ...
    def error_frame(self, status: int) -> bytes: ...


def sse(data: object, event: str = "") -> bytes:
    """Write one server-sent event."""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return (f"event: {event}\n" if event else "").encode() + f"data: {text}\n\n".encode()


def pieces(text: str, count: int) -> list[str]:
    """Cut a text into `count` pieces."""
    size = max(1, -(-len(text) // max(1, count)))
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]
