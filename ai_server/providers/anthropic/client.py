"""The SDK's client, as we want it: no retries, no redirects, on aiohttp; and what its exceptions mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anthropic

from ai_server.providers.options import failures_of

if TYPE_CHECKING:
    from pydantic import SecretStr

    from ai_server.providers.catalog import ModelRow
    from ai_server.providers.failures import Failures

BASE_URL: Final = "https://api.anthropic.com"

IN_STREAM: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""Status of an error event inside a stream that began with 200
(https://platform.claude.com/docs/en/api/errors).
"""


@dataclass(frozen=True, slots=True)
class Connection:
    """Where and as whom one model is called."""

    model: str
    row: ModelRow
    base_url: str
    api_key: SecretStr
    stall_s: float

    def client(self) -> anthropic.AsyncAnthropic:
        """Make a client; no network."""
        return anthropic.AsyncAnthropic(
            api_key=self.api_key.get_secret_value(),
            auth_token=None,
            base_url=self.base_url,
            max_retries=0,
            http_client=anthropic.DefaultAioHttpClient(follow_redirects=False),
        )

    def failures(self) -> Failures:
        """Make the errors of this provider."""
        return failures_of("anthropic", self.api_key)


def classify(failures: Failures, exc: Exception, *, begun: bool) -> Exception:
    """Turn what the SDK raised into ours. An error event carries status 200, so its type tells."""
    if isinstance(exc, anthropic.APIStatusError):
        kind, text = _said(exc.body)
        if exc.status_code >= 400:  # noqa: PLR2004 - HTTP's own number
            return failures.status(exc.status_code, text, started=begun)
        return failures.status(IN_STREAM.get(kind, 500), text, started=True)
    return failures.transport(exc, begun=begun)


def _said(body: object) -> tuple[str, str]:
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return "", ""
    return str(error.get("type", "")), str(error.get("message", ""))
