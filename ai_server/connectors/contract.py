"""What a connector is. A connector only reads; what it finds is untrusted data, and it fails as a `ProviderError`.

`ProviderOverloaded` (down, slow, busy) passes: the same search may work later. `ProviderRefused` (wrong credentials,
an answer that is not one, an address that is not allowed) needs the operator.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Network
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

RESULT_LIMIT: Final = 10
"""Most items of one search; a person reads a handful, a model no more."""
TITLE_LIMIT: Final = 300
SNIPPET_LIMIT: Final = 1_000
LINK_LIMIT: Final = 2_000
TERMS_LIMIT: Final = 200
"""Longest joined search terms, in characters; longer ones are cut at a word."""

Network = IPv4Network | IPv6Network


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One kind of thing that a service can be searched for.

    `holds` says what is found there, by language, as a person reads it: "films, séries, musique". `hints` are folded
    words that point at it, each with the parameters that narrow a search to that kind of thing, possibly none; those
    in `kept` ("invoice") are searched for as well, while the others ("file") only say where. `examples` are whole
    requests that belong here.
    """

    name: str
    holds: Mapping[str, str]
    hints: Mapping[str, Mapping[str, str]] = field(default_factory=lambda: MappingProxyType({}))
    examples: tuple[str, ...] = ()
    kept: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ConnectorSpec:
    """A declared instance. `rights` are values for the project's rights keys, as a document would carry them: whoever
    may not read those does not learn that the service exists. `networks` are private networks that may be dialled.
    `secret` is the credential itself, masked in `repr`. `options` are what its type alone understands.
    """

    connector: str
    instance: str
    name: str
    url: str
    endpoints: tuple[Endpoint, ...]
    rights: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    networks: tuple[Network, ...] = ()
    secret: str = field(default="", repr=False)
    user: str = ""
    timeout_s: float = 8.0
    options: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def key(self) -> str:
        """`type/instance`: names the instance inside its project."""
        return f"{self.connector}/{self.instance}"

    def label(self) -> Mapping[str, str]:
        """What a person reads when asked to choose, by language: "Jellyfin – films, séries, musique"."""
        languages = dict.fromkeys(language for each in self.endpoints for language in each.holds)
        holds = {
            language: ", ".join(
                dict.fromkeys(each.holds[language] for each in self.endpoints if language in each.holds)
            )
            for language in languages
        }
        return {language: f"{self.name} – {text}" for language, text in holds.items()}

    def endpoint(self, name: str) -> Endpoint | None:
        """Find an endpoint by name; the first one for an empty name."""
        return next((each for each in self.endpoints if name in {"", each.name}), None)


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search. `wide` asks to leave out what narrows it (types, states, folders) beyond the terms themselves."""

    endpoint: str
    terms: str
    parameters: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    limit: int = RESULT_LIMIT
    wide: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """One thing found, already bounded and free of markup. `date` is ISO 8601 (a day or an instant), or empty."""

    title: str
    url: str | None
    date: str
    snippet: str
    kind: str = ""


class Connector(Protocol):
    """One instance of a live system."""

    @property
    def spec(self) -> ConnectorSpec:
        """How it was declared."""
        ...

    async def search(self, request: SearchRequest) -> tuple[Item, ...]:
        """Find up to `request.limit` items, best first; none found is an empty tuple.

        Raises:
            ProviderOverloaded: down, slow, over quota: later may do.
            ProviderRefused: credentials, redirects, addresses, or an answer that cannot be read.
        """
        ...

    async def close(self) -> None:
        """Release connections; idempotent."""
        ...
