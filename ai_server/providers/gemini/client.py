"""The SDK's client, as we want it: no retries, no redirects, on aiohttp; and what its exceptions mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import aiohttp
from google import genai
from google.genai import errors, types
from google.oauth2.credentials import Credentials

from ai_server.providers.network import REQUEST_ID_HEADER
from ai_server.providers.options import failures_of

if TYPE_CHECKING:
    from pydantic import SecretStr

    from ai_server.ledger.contract import Permit
    from ai_server.providers.catalog import ModelRow
    from ai_server.providers.failures import Failures

DEVELOPER_URL: Final = "https://generativelanguage.googleapis.com"
VERTEX_URL: Final = "https://aiplatform.googleapis.com"
GLOBAL: Final = "global"


@dataclass(frozen=True, slots=True)
class Connection:
    """Where and as whom one model is called. `project` set: Vertex AI; else the Developer API."""

    model: str
    row: ModelRow
    base_url: str
    api_key: SecretStr
    project: str
    location: str
    access_token: SecretStr
    stall_s: float

    @property
    def vertex(self) -> bool:
        """Say whether calls go to Vertex AI."""
        return bool(self.project)

    def client(self) -> genai.Client:
        """Make a client; no network. One attempt is said, because the SDK sends a broken request again unless it is."""
        options = types.HttpOptions(
            base_url=self.base_url,
            retry_options=types.HttpRetryOptions(attempts=1),
            async_client_args={"allow_redirects": False},
            # Ours, because the SDK's own session is of a class that aiohttp warns about.
            aiohttp_client=aiohttp.ClientSession(),
        )
        if not self.vertex:
            return genai.Client(vertexai=False, api_key=self.api_key.get_secret_value(), http_options=options)
        token = self.access_token.get_secret_value()
        # Without a token the SDK finds the machine's own credentials when it first needs them.
        credentials: Any = Credentials(token=token) if token else None
        return genai.Client(
            vertexai=True,
            project=self.project,
            location=self.location,
            credentials=credentials,
            http_options=options,
        )

    def failures(self) -> Failures:
        """Make the errors of this provider."""
        return failures_of("gemini", self.api_key, self.access_token)


def call_options(deadline_s: float, permit: Permit | None = None) -> types.HttpOptions:
    """Give the deadline and the reservation's id of one call."""
    headers = {REQUEST_ID_HEADER: permit.reservation_id} if permit is not None else {}
    return types.HttpOptions(timeout=int(deadline_s * 1000), headers=headers)


async def close_client(client: genai.Client) -> None:
    """Close both of the SDK's clients, and the session that was handed in."""
    session = client._api_client._http_options.aiohttp_client  # noqa: SLF001 - the SDK leaves a session that it was given open
    await client.aio.aclose()
    client.close()
    if session is not None:
        await session.close()


def classify(failures: Failures, exc: Exception, *, begun: bool) -> Exception:
    """Turn what the SDK raised into ours."""
    if isinstance(exc, errors.APIError):
        return failures.status(exc.code if isinstance(exc.code, int) else 500, exc.message or "", started=begun)
    return failures.transport(exc, begun=begun)
