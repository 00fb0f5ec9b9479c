"""What the gateway knows of each project."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from gateway.identity.proofs import HostIdentity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from gateway.conversation.model import Visitor
    from gateway.identity.entitlements import Entitlement


DEMO: Final = "demo"
"""The project that we ship: the chat page shows it where several are there and the address names none."""
NO_HOST: Final = HostIdentity()
"""A project whose host proves nobody."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that names the project to browsers (it is no secret), and the origins whose pages may use it."""

    key: str
    allowed_origins: frozenset[str]


@dataclass(frozen=True, slots=True)
class Project:
    """One tenant. `anonymous_contexts` is what a visitor who proved nothing may read.

    `greeting` holds, by language, what an empty conversation begins with; our own words where a language has none.
    """

    id: str
    name: str
    languages: tuple[str, ...]
    default_language: str
    public_keys: tuple[PublicKey, ...]
    anonymous_contexts: tuple[Mapping[str, tuple[str, ...]], ...]
    expose_model: bool = False
    expose_cost: bool = False
    host: HostIdentity = NO_HOST
    entitlements: tuple[Entitlement, ...] = ()
    greeting: Mapping[str, str] = field(default_factory=dict)

    @property
    def allowed_origins(self) -> frozenset[str]:
        """Every origin that any of the project's keys allows."""
        return frozenset().union(*(each.allowed_origins for each in self.public_keys))

    def contexts_of(self, visitor: Visitor) -> tuple[Mapping[str, tuple[str, ...]], ...]:
        """Tell what a visitor may read: what they proved, or what everyone may."""
        return self.anonymous_contexts if visitor.subject is None else visitor.contexts


class Projects:
    """All projects, by id and by public key."""

    def __init__(self, projects: Iterable[Project]) -> None:
        """Take projects whose ids and keys are unique, which the settings have checked."""
        self._by_id = {project.id: project for project in projects}
        self._by_key = {key.key: (project, key) for project in self._by_id.values() for key in project.public_keys}

    def __iter__(self) -> Iterator[Project]:
        """Go through the projects."""
        return iter(self._by_id.values())

    def get(self, project_id: str) -> Project | None:
        """Find a project by id."""
        return self._by_id.get(project_id)

    def by_public_key(self, key: str) -> tuple[Project, PublicKey] | None:
        """Find the project that a public key names."""
        return self._by_key.get(key)

    def default_key(self) -> str | None:
        """Name the key of an address that names none: of the only project, else of the demo, else nobody's."""
        only = next(iter(self._by_id.values())) if len(self._by_id) == 1 else self._by_id.get(DEMO)
        return None if only is None else only.public_keys[0].key
