"""Errors without secrets, and exceptions sorted by whether the request can have begun."""

from __future__ import annotations

import base64
from urllib.parse import quote

import aiohttp
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ai_server.providers.calls import ASKED_AT_MOST, Call
from ai_server.providers.failures import HUNG_UP, Failures, Scrubber
from shared.errors import ProviderCut, ProviderOverloaded, ProviderRefused

KEY = "sk-live/9f3b+7c1e4a8d"
FORMS = [KEY, KEY[:8], KEY[-8:], quote(KEY, safe=""), base64.b64encode(KEY.encode()).decode().rstrip("=")]


@pytest.mark.parametrize("form", FORMS)
def test_no_form_of_a_key_survives(form: str) -> None:
    cleaned = Scrubber([KEY]).clean(f"Incorrect API key provided: {form}. See the docs.")
    assert form not in cleaned
    assert cleaned.startswith("Incorrect API key provided: …")
    assert cleaned.endswith("See the docs.")


@given(before=st.text(max_size=30), after=st.text(max_size=30), start=st.integers(0, 12))
def test_no_eight_characters_of_a_key_survive_anywhere(before: str, after: str, start: int) -> None:
    cleaned = Scrubber([KEY]).clean(before + KEY[start:] + after)
    assert not any(KEY[at : at + 8] in cleaned for at in range(len(KEY) - 7))


def test_short_secrets_are_masked_whole_and_none_changes_nothing() -> None:
    assert Scrubber(["abc"]).clean("abc and abd") == "… and abd"
    assert Scrubber([""]).clean("nothing\n to  hide") == "nothing to hide"


def test_a_long_text_is_cut() -> None:
    assert len(Scrubber([]).clean("x" * 10_000)) == 240


def _chained(outer: Exception, inner: Exception) -> Exception:
    outer.__cause__ = inner
    return outer


REQUEST = httpx2.Request("POST", "http://127.0.0.1/")


@pytest.mark.parametrize(
    ("raised", "begun", "kind", "started"),
    [
        (httpx2.ConnectError("no"), False, ProviderOverloaded, False),
        (httpx2.ConnectTimeout("no"), False, ProviderOverloaded, False),
        (httpx2.PoolTimeout("no"), False, ProviderOverloaded, False),
        (httpx2.ReadTimeout("no"), False, ProviderOverloaded, True),
        (httpx2.RemoteProtocolError("no"), False, ProviderCut, True),
        (httpx2.ReadError("no"), True, ProviderCut, True),
        (aiohttp.ServerDisconnectedError(), False, ProviderCut, True),
        (aiohttp.ClientOSError(104, "reset"), False, ProviderCut, True),
        (aiohttp.ClientPayloadError(), True, ProviderCut, True),
        (aiohttp.ConnectionTimeoutError(), False, ProviderOverloaded, False),
        (aiohttp.SocketTimeoutError(), False, ProviderOverloaded, True),
        # openai and anthropic on aiohttp: the outer name says that nothing was sent, the inner one that it was.
        (_chained(httpx2.ConnectTimeout("no"), aiohttp.ServerDisconnectedError()), False, ProviderCut, True),
        (_chained(httpx2.ConnectTimeout("no"), aiohttp.ConnectionTimeoutError()), False, ProviderOverloaded, False),
        (ConnectionResetError(), False, ProviderCut, True),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "cut"), True, ProviderCut, True),
        (RuntimeError("anything"), False, ProviderCut, True),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, Exception) else str(each),
)
def test_a_request_that_may_have_gone_out_counts_as_begun(raised, begun, kind, started) -> None:
    """CASES A10: only what surely did not start is free and may be tried again."""
    error = Failures("p").transport(raised, begun=begun)
    assert type(error) is kind
    assert error.started is started


@pytest.mark.parametrize("closed", range(ASKED_AT_MOST + 1))
async def test_a_request_that_was_not_written_goes_to_three_connections_at_most(closed: int) -> None:
    """CASES A10: what was not written may be sent again; what may have been may not."""
    failures = Failures("openai")
    asked = 0

    async def ask() -> str:
        nonlocal asked
        asked += 1
        if asked <= closed:
            reset = aiohttp.ClientConnectionResetError("Cannot write to closing transport")
            raise _chained(httpx2.ConnectTimeout("no"), reset)
        return "answered"

    call = Call(failures, lambda exc, begun: failures.transport(exc, begun=begun), deadline_s=60)
    if closed < ASKED_AT_MOST:
        assert await call.whole(ask) == "answered"
        return
    with pytest.raises(ProviderOverloaded) as raised:
        await call.whole(ask)
    assert (asked, raised.value.started, raised.value.error_class) == (ASKED_AT_MOST, False, HUNG_UP)


def test_a_used_up_quota_is_no_rate_limit() -> None:
    failures = Failures("p")
    assert failures.status(429, "rate").error_class == "rate"
    assert failures.status(429, "code: insufficient_quota").error_class == "quota"
    # Perplexity's answer, as several reports of 2026 have it.
    spent = failures.status(401, "401 insufficient_quota You exceeded your current quota")
    assert (spent.error_class, failures.status(401, "401 bad key").error_class) == ("quota", "credentials")


def test_an_unknown_status_is_refused_with_the_remedy() -> None:
    error = Failures("p").status(307)
    assert isinstance(error, ProviderRefused)
    assert "check the base URL" in error.message


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503])
def test_words_about_credentials_and_load_are_not_repeated(status: int) -> None:
    assert "their words" not in Failures("p").status(status, "their words").message
