"""What the next call does: a frozen list of wishes, each off by default."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

STAMP = f"@{0:019d} "
"""A piece of text whose digits become monotonic nanoseconds; the machine's processes share that clock."""

UsageMode = Literal["final", "cumulative", "missing", "zero", "late", "duplicated", "inconsistent"]


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A tool call of the answer, sent in `fragments` pieces where the format streams pieces."""

    name: str
    arguments: str = "{}"
    call_id: str = "call_1"
    fragments: int = 1


@dataclass(frozen=True, slots=True)
class Script:
    """One call. Token counts of None are counted from the request and the text."""

    chunks: tuple[str, ...] = ("The answer ", "is ", "forty-two", ".")
    calls: tuple[ScriptedCall, ...] = ()
    finish: Literal["stop", "length", "refused", "null_last"] = "stop"
    usage: UsageMode = "final"
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int = 0
    tool_use_tokens: int = 0
    service_tier: str = ""

    latency_s: float = 0.0
    """Before the response begins."""
    pace_s: float = 0.0
    """Between two frames."""
    stamped: bool = False
    """Where `STAMP` stands in a frame, write when it was sent."""

    list_content: bool = False
    """Content as a list of thinking and text parts (Mistral)."""
    empty_choices: bool = False
    """A first and a last chunk without choices (OpenAI's format); a chunk without parts (Gemini)."""
    unknown_event: bool = False
    """An event of a kind that no SDK knows (Anthropic)."""
    thoughts: str = ""
    """Reasoning shown apart from the answer; never part of it."""

    error_after: int | None = None
    """An error event inside the 200 stream, after so many text frames."""
    error_status: int = 529
    stall_after: int | None = None
    """Silence after so many text frames, until the client goes."""
    cut_after: int | None = None
    """The connection breaks after so many text frames."""
    cut_at_byte: int | None = None
    """The connection breaks after so many bytes of the body."""
    split: int | None = None
    """Write so many bytes at a time, whatever characters they cut."""
    status: int | None = None
    """Answer with this status and the family's error body."""
    error_text: str = ""
    """What the error body says; `{key}` becomes the key that the client sent."""
    error_in_200: bool = False
    """An error body with status 200 in place of an answer."""
    drop: bool = False
    """Take the request, bill it, and close the socket without a word."""
    hang_up: bool = False
    """Close the connection after a whole stream, without having said so: llama.cpp's server does."""

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Script:
        """Read a script from the control interface; unknown fields are refused."""
        unknown = data.keys() - {each.name for each in fields(cls)}
        if unknown:
            raise ValueError(f"unknown fields: {sorted(unknown)}")
        changed = dict(data)
        if "chunks" in changed:
            changed["chunks"] = tuple(changed["chunks"])
        if "calls" in changed:
            changed["calls"] = tuple(ScriptedCall(**each) for each in changed["calls"])
        return cls(**changed)
