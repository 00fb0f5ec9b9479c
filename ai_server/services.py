"""What the edges (gRPC, command line) are given: each use case, once it is initialised.

The listener is up before any dependency, so every access is a question that may be answered with `NotReady`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ai_server.answering.contract import Project
    from ai_server.answering.service import TurnService
    from ai_server.knowledge.service import KnowledgeService
    from ai_server.ledger.service import Ledger
    from ai_server.providers.registry import ProviderSet
    from ai_server.readiness import Board
    from ai_server.storage.contract import StateStore
    from shared.clock import Clock


class Services(Protocol):
    """The doors. An awaited one starts its initialisation if need be and waits for it, bounded.

    Raises (each awaited accessor):
        NotReady: it is not initialised, with the cause.
    """

    @property
    def clock(self) -> Clock:
        """The process's clock."""
        ...

    @property
    def projects(self) -> Mapping[str, Project]:
        """Projects by id, as their files say."""
        ...

    @property
    def providers(self) -> ProviderSet:
        """Configured providers and the catalogue."""
        ...

    @property
    def board(self) -> Board:
        """Readiness."""
        ...

    def resting(self) -> Mapping[str, str]:
        """Providers that are left alone after failures, each with its last one."""
        ...

    def admit(self) -> None:
        """Refuse new work while the process is down or draining.

        Raises:
            NotReady: with the reasons.
        """
        ...

    async def ready(self) -> None:
        """Everything that a turn needs."""
        ...

    async def store(self) -> StateStore:
        """The open state store."""
        ...

    async def ledger(self) -> Ledger:
        """Money."""
        ...

    async def knowledge(self) -> KnowledgeService:
        """Documents."""
        ...

    async def turns(self) -> TurnService:
        """Answers."""
        ...
