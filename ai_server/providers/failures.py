"""How a provider's failure becomes one of ours: by status, by what broke, and without a word that could hold a key.

Foreign exceptions stop here. Their text is shown only scrubbed, and only where it helps the person who must act.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from shared.errors import ProviderCut, ProviderError, ProviderOverloaded, ProviderRefused

if TYPE_CHECKING:
    from collections.abc import Iterable

EXCERPT_LIMIT: Final = 240
"""Most characters of a provider's own words that we repeat."""

CHAIN_LIMIT: Final = 8
"""Most links of an exception's chain that are looked at."""

WINDOW: Final = 8
"""So many characters in a row shared with a secret are masked."""

MASK: Final = "…"

REFUSED: Final[dict[int, tuple[str, str]]] = {
    400: ("bad-request", "it refused the request as malformed; check model and settings"),
    401: ("credentials", "it refused the API key; set a valid one and restart"),
    403: ("forbidden", "the API key may not do this; check its rights and the account's region"),
    404: ("unknown-model", "it does not know the model or the address; check the model id and the base URL"),
    405: ("bad-request", "it does not take this call at this address; check the base URL"),
    409: ("bad-request", "it refused the request as conflicting"),
    413: ("too-large", "the request is larger than it takes; shorten the input"),
    415: ("bad-request", "it does not take this content type"),
    422: ("bad-request", "it refused the request as invalid; check model and settings"),
}
OVERLOADED: Final[dict[int, tuple[str, str]]] = {
    402: ("quota", "the account has no credit left; add credit or use another provider"),
    408: ("timeout", "it gave up waiting; try again"),
    429: ("rate", "its rate or quota is used up; wait, or raise the limit"),
    498: ("overloaded", "it has no capacity now; try again later"),
    503: ("overloaded", "it is overloaded; try again later"),
    529: ("overloaded", "it is overloaded; try again later"),
}
NOT_STARTED: Final = frozenset({408, 429, 498, 503, 529})
"""Statuses of 4xx and 5xx by which a provider says that it did not take the work up."""

NOT_SENT: Final = frozenset(
    {"ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol", "InvalidURL"}
    | {"DefaultCredentialsError", "RefreshError"}
)
"""Names of exceptions (httpx2, google.auth) that mean that no request went out."""

NOT_SENT_BY_AIOHTTP: Final = frozenset({"ClientConnectorError", "ConnectionTimeoutError", "InvalidURL"})
"""The same for aiohttp, whose names go first: SDKs on aiohttp report even a connection that closed after the request
was taken as httpx's ConnectTimeout (openai 3.57, `_vendor/httpx_aiohttp/transport.py`).
"""

NEVER_WRITTEN: Final = ("ClientConnectionResetError", "Cannot write to closing transport")
"""What aiohttp raises, and says, when a kept connection is closed between being chosen and being written to. It does
not write a request in two pieces, so no byte of it has gone out (aiohttp 3.14, `http_writer.py`).
"""

HUNG_UP: Final = "hung-up"
"""The class of that failure."""

SILENT: Final = frozenset({"TimeoutException", "TimeoutError", "APITimeoutError"})
"""Names of exceptions that mean that no answer came in time."""

SPENT: Final = frozenset({401, 429})
"""Statuses by which an account without credit is told, OpenAI's 429 and Perplexity's 401, with one of these words."""

QUOTA_WORDS: Final = ("insufficient_quota", "insufficient_balance", "billing_hard_limit", "insufficient credits")
SAID_ALOUD: Final = frozenset({"bad-request", "unknown-model", "too-large", "policy"})
"""Classes whose foreign text is worth repeating; those about credentials never are."""


class ForeignFailure(Exception):
    """What a provider's SDK raised: its type's name and its text, scrubbed. Serves as `__cause__` in its place."""


class Scrubber:
    """Removes what a text shares with secrets, also in base64 and percent-encoding."""

    def __init__(self, secrets: Iterable[str]) -> None:
        """Prepare for `secrets`; those shorter than eight characters are matched whole."""
        self._grams: set[str] = set()
        self._short: set[str] = set()
        for secret in secrets:
            forms = {secret, quote(secret, safe=""), *_base64_forms(secret)}
            for form in forms - {""}:
                if len(form) < WINDOW:
                    self._short.add(form)
                self._grams |= {form[start : start + WINDOW] for start in range(len(form) - WINDOW + 1)}

    def clean(self, text: str, limit: int = EXCERPT_LIMIT) -> str:
        """Mask shared runs, flatten white space, and cut to `limit` characters."""
        marks = bytearray(len(text))
        for start in range(len(text) - WINDOW + 1):
            if text[start : start + WINDOW] in self._grams:
                marks[start : start + WINDOW] = b"\x01" * WINDOW
        kept = "".join("\x00" if marked else character for character, marked in zip(text, marks, strict=True))
        for short in self._short:
            kept = kept.replace(short, "\x00")
        flat = re.sub(r"\s+", " ", re.sub("\x00+", MASK, kept)).strip()
        return flat if len(flat) <= limit else f"{flat[: limit - 1]}…"


def _chain(exc: BaseException) -> Iterable[BaseException]:
    link: BaseException | None = exc
    for _ in range(CHAIN_LIMIT):
        if link is None:
            return
        yield link
        link = link.__cause__ or link.__context__


def _base64_forms(secret: str) -> set[str]:
    raw = secret.encode()
    return {base64.b64encode(raw).decode().rstrip("="), base64.urlsafe_b64encode(raw).decode().rstrip("=")}


class Failures:
    """Makes the typed errors of one provider."""

    def __init__(self, provider: str, secrets: Iterable[str] = ()) -> None:
        """Name the provider; `secrets` never come out."""
        self.provider = provider
        self._scrubber = Scrubber(secrets)

    def foreign(self, exc: BaseException) -> ForeignFailure:
        """Keep the type and the scrubbed text of a foreign exception."""
        return ForeignFailure(f"{type(exc).__module__}.{type(exc).__name__}: {self._scrubber.clean(str(exc))}")

    def status(self, status: int, text: str = "", *, started: bool = False) -> ProviderError:
        """Classify an HTTP status with the text that came with it.

        `started` true: the status came inside a stream that had begun, so work may be billed whatever it is.
        """
        lowered = text.casefold()
        if status in SPENT and any(word in lowered for word in QUOTA_WORDS):
            status = 402
        if status in REFUSED:
            error_class, remedy = REFUSED[status]
            said = f" ({self._scrubber.clean(text)})" if text and error_class in SAID_ALOUD else ""
            return ProviderRefused(self.provider, remedy + said, started=started, error_class=error_class)
        if status in OVERLOADED:
            error_class, remedy = OVERLOADED[status]
            return ProviderOverloaded(self.provider, remedy, started=started, error_class=error_class)
        if status >= 500:  # noqa: PLR2004 - HTTP's own number
            remedy = f"it failed with status {status}; try again later"
            return ProviderOverloaded(
                self.provider, remedy, started=started or status not in NOT_STARTED, error_class="server"
            )
        remedy = f"it answered with the unexpected status {status}; check the base URL"
        return ProviderRefused(self.provider, remedy, started=started, error_class="unexpected")

    def transport(self, exc: BaseException, *, begun: bool) -> ProviderError:
        """Classify an exception of the network or of decoding, by the names in its chain: SDKs wrap one another's."""
        chain = list(_chain(exc))
        if any((type(link).__name__, str(link)) == NEVER_WRITTEN for link in chain):
            return self.hung_up()
        names = {each.__name__ for link in chain for each in type(link).__mro__}
        not_sent = NOT_SENT_BY_AIOHTTP if "ClientConnectionError" in names else NOT_SENT
        if not begun and names & not_sent:
            return self.unreachable()
        if names & SILENT and not names & {"ServerDisconnectedError", "ClientConnectionResetError"}:
            return self.stalled() if begun else self.timeout(started=True)
        if names & {"ValidationError", "ResponseValidationError", "APIResponseValidationError", "JSONDecodeError"}:
            return self.malformed()
        return self.cut() if begun else self.cut("the connection closed before it answered")

    def refused(self, error_class: str, remedy: str, *, started: bool = False) -> ProviderRefused:
        """Make a refusal, ours or theirs; `remedy` is our own text."""
        return ProviderRefused(self.provider, remedy, started=started, error_class=error_class)

    def unreachable(self) -> ProviderOverloaded:
        """The connection could not be made, so nothing was sent."""
        remedy = "cannot be reached; check the network and the base URL"
        return ProviderOverloaded(self.provider, remedy, started=False, error_class="unreachable")

    def hung_up(self) -> ProviderOverloaded:
        """A kept connection was closed by the other side before the request was written, so nothing was sent."""
        remedy = "closed each kept connection before a request was sent; try again"
        return ProviderOverloaded(self.provider, remedy, started=False, error_class=HUNG_UP)

    def timeout(self, *, started: bool) -> ProviderOverloaded:
        """No answer in time."""
        remedy = "did not answer in time; try again, or raise the deadline"
        return ProviderOverloaded(self.provider, remedy, started=started, error_class="timeout")

    def overloaded(self, *, started: bool) -> ProviderOverloaded:
        """It said inside a stream that it is overloaded."""
        return ProviderOverloaded(
            self.provider, "it broke off because it is overloaded; try again", started=started, error_class="overloaded"
        )

    def cut(self, what: str = "the answer broke off") -> ProviderCut:
        """The request was sent and no complete answer came: work may be billed."""
        return ProviderCut(self.provider, f"{what}; try again", started=True, error_class="cut")

    def stalled(self) -> ProviderCut:
        """The stream began and went silent."""
        return ProviderCut(self.provider, "the answer stopped coming; try again", started=True, error_class="stalled")

    def malformed(self) -> ProviderCut:
        """It answered with something that is not its own format."""
        return ProviderCut(
            self.provider,
            "it answered in a form that cannot be read; check the base URL",
            started=True,
            error_class="malformed",
        )
