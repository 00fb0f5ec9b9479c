"""The SDK's client, as we want it: no retries, no redirects, no clock of its own, on aiohttp; and what its exceptions
mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import openai

from ai_server.providers.options import failures_of, is_near

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

    def client(self) -> openai.AsyncOpenAI:
        """Make a client; no network. It needs no time-outs: `Call` bounds every wait.

        A model on our own machine or network is asked over a connection of its own each time: that costs next to
        nothing there, and llama.cpp's server closes a kept one after each stream without saying so, of which one
        request in thirty that follow at once is lost half-way.
        """
        return _Discreet(
            api_key=self.api_key.get_secret_value() or "none",
            base_url=self.base_url,
            max_retries=0,
            timeout=None,
            default_headers={"Connection": "close"} if self.near else None,
            http_client=openai.DefaultAioHttpClient(follow_redirects=False),
        )

    @property
    def near(self) -> bool:
        """Say whether it is one's own server, close by."""
        return self.profile.near_only and is_near(urlsplit(self.base_url).hostname or "")

    def failures(self) -> Failures:
        """Make the errors of this provider."""
        return failures_of(self.provider, self.api_key)


class _Discreet(openai.AsyncOpenAI):
    """The SDK's client, which says nothing of the machine that it runs on: that is half of its headers, none of a
    provider's business, and a cost at every call.
    """

    @property
    def user_agent(self) -> str:
        """Be known as the SDK, which names itself after its class."""
        return f"AsyncOpenAI/Python {openai.__version__}"

    def platform_headers(self) -> dict[str, str]:
        """Name no platform."""
        return {}


def classify(failures: Failures, exc: Exception, *, begun: bool) -> ProviderError:
    """Turn what the SDK raised into ours."""
    if isinstance(exc, openai.APIStatusError):
        return failures.status(exc.status_code, _words(exc), started=begun)
    if isinstance(exc, openai.APIConnectionError):
        return failures.transport(exc, begun=begun)
    if isinstance(exc, openai.APIError) and not isinstance(exc, openai.APIResponseValidationError):
        # An error event inside a stream: the body may hold a status as its code.
        code = exc.body.get("code") if isinstance(exc.body, dict) else None
        status = int(code) if isinstance(code, (int, str)) and str(code).isdigit() else 0
        return failures.status(status, started=True) if status >= 400 else failures.overloaded(started=True)  # noqa: PLR2004 - HTTP's own number
    return failures.transport(exc, begun=begun)


def _words(exc: openai.APIStatusError) -> str:
    body = exc.body if isinstance(exc.body, dict) else {}
    return " ".join(str(body[name]) for name in ("code", "type", "message") if body.get(name))
