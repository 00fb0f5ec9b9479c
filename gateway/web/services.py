"""What handlers reach through the application."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aiohttp import web

from gateway.identity.limits import Gauge, Rate, TokenBuckets
from gateway.web.metrics import GatewayMetrics

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network
    from pathlib import Path

    from gateway.assistant.contract import Assistant
    from gateway.events.hub import Hub
    from gateway.events.relay import Relay
    from gateway.identity.origins import HostGuard
    from gateway.identity.projects import Projects
    from gateway.identity.sessions import SessionService
    from gateway.pending.service import Clarifications
    from gateway.storage.contract import Store
    from gateway.turns.service import TurnService
    from gateway.web.support import Support
    from shared.clock import Clock

REQUESTS: Final = Rate(burst=120, per_minute=600)
SESSIONS: Final = Rate(burst=20, per_minute=30)
MESSAGES: Final = Rate(burst=10, per_minute=20)
STREAMS_PER_VISITOR: Final = 20


@dataclass(frozen=True, slots=True)
class LimitSettings:
    """How much one address or visitor may ask."""

    requests: Rate = REQUESTS
    sessions: Rate = SESSIONS
    messages: Rate = MESSAGES
    streams_per_visitor: int = STREAMS_PER_VISITOR


class Limits:
    """The buckets of this process."""

    def __init__(self, settings: LimitSettings, clock: Clock) -> None:
        """Begin with full buckets."""
        self.requests = TokenBuckets(settings.requests, clock)
        self.sessions = TokenBuckets(settings.sessions, clock)
        self.messages = TokenBuckets(settings.messages, clock)
        self.streams = Gauge(settings.streams_per_visitor)


@dataclass(slots=True)
class Lifecycle:
    """Whether the process takes new work."""

    draining: bool = False


@dataclass(frozen=True, slots=True)
class Services:
    """Everything a handler may use."""

    store: Store
    sessions: SessionService
    turns: TurnService
    hub: Hub
    assistant: Assistant
    projects: Projects
    limits: Limits
    hosts: HostGuard
    clock: Clock
    static: Path
    support: Support
    pending: Clarifications
    relay: Relay | None = None
    """Joins this gateway with others on the same database; None where it is alone."""
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...] = ()
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    metrics: GatewayMetrics = field(default_factory=GatewayMetrics)


SERVICES: Final = web.AppKey("services", Services)
REQUEST_ID: Final = web.RequestKey("request_id", str)
