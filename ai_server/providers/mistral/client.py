"""The SDK's client, as we want it: no retries, no redirects; and what its exceptions mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import httpx2
from mistralai.client import Mistral
from mistralai.client.errors import MistralError, NoResponseError

from ai_server.providers.options import failures_of

if TYPE_CHECKING:
    from pydantic import SecretStr

    from ai_server.providers.catalog import ModelRow
    from ai_server.providers.failures import Failures

BASE_URL: Final = "https://api.mistral.ai"
CONNECT_S: Final = 10.0
"""The longest wait for a connection, made anew or given back by another call."""
LIMITS: Final = httpx2.Limits(max_connections=1000, max_keepalive_connections=100)
"""As the other SDKs have them. Left alone there would be 100, and the answer after those would wait for one of them."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Where and as whom one model is called."""

    model: str
    row: ModelRow
    base_url: str
    api_key: SecretStr
    stall_s: float

    def client(self) -> Mistral:
        """Make a client; no network. It never retries unless it is told to."""
        timeout = httpx2.Timeout(None, connect=CONNECT_S, pool=CONNECT_S)
        http = httpx2.AsyncClient(follow_redirects=False, timeout=timeout, limits=LIMITS)
        return Mistral(api_key=self.api_key.get_secret_value(), server_url=self.base_url, async_client=http)

    def failures(self) -> Failures:
        """Make the errors of this provider."""
        return failures_of("mistral", self.api_key)


async def close_client(client: Mistral) -> None:
    """Close both HTTP clients: the SDK leaves one that was handed in open, and makes a second that we never use."""
    configuration = client.sdk_configuration
    http: Any = configuration.async_client
    if http is not None:
        await http.aclose()
    if configuration.client is not None:
        configuration.client.close()


def classify(failures: Failures, exc: Exception, *, begun: bool) -> Exception:
    """Turn what the SDK raised into ours."""
    if isinstance(exc, MistralError) and exc.status_code >= 400:  # noqa: PLR2004 - HTTP's own number
        return failures.status(exc.status_code, exc.body, started=begun)
    if isinstance(exc, NoResponseError):
        return failures.cut("the connection closed before it answered")
    if begun and "'object': 'error'" in str(exc):
        # The SDK has no type for an error inside a stream: it fails to validate it, and shows what it could not.
        return failures.overloaded(started=True)
    return failures.transport(exc, begun=begun)
