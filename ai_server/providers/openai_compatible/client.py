"""Where and as whom a model is called, and what the failures of the client mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ai_server.providers.openai_compatible.http import ErrorEvent, JsonClient, Refusal
from ai_server.providers.options import failures_of

if TYPE_CHECKING:
    from pydantic import SecretStr

    from ai_server.providers.catalog import ModelRow
    from ai_server.providers.failures import Failures
    from ai_server.providers.openai_compatible.profiles import Profile
    from shared.errors import ProviderError


@dataclass(frozen=True, slots=True)
class Connection:
    """Where and as whom one model of one provider is called."""

    provider: str
    model: str
    profile: Profile
    row: ModelRow
    base_url: str
    api_key: SecretStr
    stall_s: float

    def client(self) -> JsonClient:
        """Make a client; no network."""
        return JsonClient(self.base_url, self.api_key)

    def failures(self) -> Failures:
        """Make the errors of this provider."""
        return failures_of(self.provider, self.api_key)


def classify(failures: Failures, exc: Exception, *, begun: bool) -> ProviderError:
    """Turn what the client raised into ours."""
    if isinstance(exc, Refusal):
        words = " ".join(str(exc.said[name]) for name in ("code", "type", "message") if exc.said.get(name))
        return failures.status(exc.status, words, started=begun)
    if isinstance(exc, ErrorEvent):
        code = exc.said.get("code")  # some give an HTTP status
        status = int(code) if isinstance(code, (int, str)) and str(code).isdigit() else 0
        return failures.status(status, started=True) if status >= 400 else failures.overloaded(started=True)  # noqa: PLR2004 - HTTP's own number
    return failures.transport(exc, begun=begun)
