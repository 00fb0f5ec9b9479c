"""The two formats of the family, by name: where a request goes, how it is written, and what reads the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ai_server.providers.openai_compatible import responses_wire, wire
from ai_server.providers.openai_compatible.reader import ChatReader
from ai_server.providers.openai_compatible.responses_reader import ResponsesReader

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ai_server.providers.calls import Reader
    from ai_server.providers.catalog import ModelRow
    from ai_server.providers.contract import GenerationRequest
    from ai_server.providers.failures import Failures
    from ai_server.providers.openai_compatible.profiles import Profile, WireName


@dataclass(frozen=True, slots=True)
class Wire:
    """One format. `path` is below the base URL."""

    path: str
    body: Callable[[GenerationRequest, ModelRow, Profile], dict[str, object]]
    reader: Callable[[Profile, Failures], Reader]


WIRES: Final[Mapping[WireName, Wire]] = {
    "chat": Wire("/chat/completions", wire.body, ChatReader),
    "responses": Wire("/responses", responses_wire.body, ResponsesReader),
}
