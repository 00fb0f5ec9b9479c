"""The text of a message while it is being written, and how often readers hear of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gateway.events.contract import Encoder, Running

STEP_LIMIT: Final = 64
"""Steps kept for those who join in the middle; a turn has a handful."""


class RunningText:
    """What a message says so far, and from where on readers have not heard it."""

    def __init__(self, running: Running) -> None:
        """Begin with nothing said."""
        self.running = running
        self.text = ""
        self.steps: list[Mapping[str, Any]] = []
        self._unsent_from: int | None = None
        self._encoded: bytes | None = None

    def replace(self, start: int, text: str) -> None:
        """Make the text from `start` on be `text`; a start past the end is taken as the end."""
        start = min(start, len(self.text))
        self.text = self.text + text if start == len(self.text) else self.text[:start] + text
        self._unsent_from = start if self._unsent_from is None else min(start, self._unsent_from)
        self._encoded = None

    def take_unsent(self) -> Mapping[str, Any] | None:
        """Make one delta of everything readers have not heard; None when there is nothing."""
        start, self._unsent_from = self._unsent_from, None
        return None if start is None else self._delta(start)

    def so_far(self) -> Mapping[str, Any] | None:
        """Make one delta of the whole text, for a reader who joins now; None when nothing was said."""
        return self._delta(0) if self.text else None

    def encoded_so_far(self, encoder: Encoder) -> bytes:
        """Encode all steps and the whole text, once for all who join before it goes on."""
        if self._encoded is None:
            parts = [encoder.passing("turn.step", step) for step in self.steps]
            if so_far := self.so_far():
                parts.append(encoder.passing("message.delta", so_far))
            self._encoded = b"".join(parts)
        return self._encoded

    def step(self, name: str, detail: str) -> Mapping[str, Any]:
        """Keep a step and make its event."""
        data = {**self._names(), "step": name, "detail": detail}
        if len(self.steps) < STEP_LIMIT:
            self.steps.append(data)
            self._encoded = None
        return data

    def _delta(self, start: int) -> Mapping[str, Any]:
        return {**self._names(), "message_id": self.running.message_id, "start": start, "text": self.text[start:]}

    def _names(self) -> dict[str, Any]:
        return {"conversation_id": self.running.conversation_id, "turn_id": self.running.turn_id}
