"""What the rest of the AI server asks of requests known by idempotency key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Collection, Sequence
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class RequestKey:
    """Names a request: the client that sent it, and its idempotency key."""

    client: str
    key: str


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A request known by key. `result` is None while it runs, and for ever if its process died (`owner` tells)."""

    key: RequestKey
    body_digest: bytes
    turn_id: str
    owner: str
    result: bytes | None
    created_at: datetime


class RequestStore(Protocol):
    """Requests and their results by idempotency key, kept for 24 h."""

    async def claim(self, request: StoredRequest) -> StoredRequest | None:
        """Write a new request, or return the one that holds the key; None means that it is now ours.

        Raises:
            IdempotencyConflict: the key is held with another body digest.
        """
        ...

    def finish(self, key: RequestKey, result: bytes) -> Awaitable[None]:
        """Begin to store the result, once, and tell when it is durable; later calls change nothing."""
        ...

    async def find(self, key: RequestKey) -> StoredRequest | None:
        """Look a request up."""
        ...

    async def abandoned(
        self, owner: str, limit: int, departed: Collection[int] | None = None
    ) -> Sequence[StoredRequest]:
        """List running requests whose owner is not `owner`: left by a process that died, or by `departed` servers
        alone.
        """
        ...

    async def forget_before(self, instant: datetime) -> int:
        """Remove finished requests older than `instant`; tells how many."""
        ...
