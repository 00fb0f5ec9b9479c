"""Every operation of `/openapi.json` with what schemathesis makes of its description: no 500, no hang (issue 6).

`PASSEUR_FUZZ_EXAMPLES` says how many cases an operation gets of each kind; the suite plays a few.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from gateway.identity.limits import Rate
from gateway.web.services import LimitSettings
from tests.fakes.gateway import OPERATOR_TOKEN
from tests.integration.gateway.support.test_escalation import escalate

EXAMPLES = int(os.environ.get("PASSEUR_FUZZ_EXAMPLES", "2"))
ANSWER_S = 60.0
TOLD = {501, 503}
"""What a server may say of itself with a status past 499: not in this release, not ready."""
CREDENTIALS = ("", "Bearer ", "Bearer x", "Bearer st_x", "Bearer stt_x", "Basic eDp5", f"Bearer {'é' * 40}", "\xff")


@pytest.fixture
def limits():
    unbounded = Rate(10**9, 10**9)
    return LimitSettings(requests=unbounded, sessions=unbounded, messages=unbounded, streams_per_visitor=10**6)


@pytest.fixture
async def known(browser, conversation, ana, services):
    """Real ids to put where the description only says that there is one, and a token of each kind."""
    turn = await browser.say(conversation, "Bonjour")
    sent = await browser.call(
        "POST", "/v1/attachments?name=a.txt", data=b"texte", headers={"Content-Type": "text/plain"}
    )
    ticket = await escalate(browser, conversation)
    notice = (await ana.good("GET", "/v1/notifications"))["notifications"]
    return {
        "ids": {
            "conversation_id": conversation,
            "turn_id": turn["turn_id"],
            "ticket_id": ticket["id"],
            "attachment_id": sent.body["id"],
            "visitor_id": browser.visitor_id,
            "notification_id": notice[0]["id"] if notice else "0",
            "citation_id": f"{turn['ai_message']['id']}.1",
        },
        "tokens": {"visitor": browser.token, "staff": ana.token, "operator": OPERATOR_TOKEN},
    }


@pytest.fixture
async def url_document(browser):
    return await browser.good("GET", "/openapi.json")


async def test_no_operation_breaks_or_hangs(url, url_document, known):
    statuses = await asyncio.to_thread(fuzz, url, url_document, known)
    assert sum(statuses.values()) >= EXAMPLES * len(url_document["paths"])
    assert {200, 400, 401, 404} <= set(statuses)


def fuzz(url: str, document: dict, known: dict) -> Counter[int]:
    """Play every operation with fitting and unfitting data, with and without credentials; tells the statuses."""
    statuses: Counter[int] = Counter()
    with requests.Session() as session:
        for found in schemathesis.openapi.from_dict(document).get_all_operations():
            operation = found.ok()
            described = document["paths"][operation.path][operation.method]
            for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):
                try:
                    play(session, url, described, operation.as_strategy(mode), known, statuses)
                except Unsatisfiable:
                    # Nothing unfitting can be made for an operation that takes nothing.
                    assert mode is schemathesis.GenerationMode.NEGATIVE, operation.label
    return statuses


def play(session, url, described, strategy, known, statuses: Counter[int]) -> None:
    """Send some cases of one operation."""
    callers = [name for scheme in described.get("security", []) for name in scheme]
    tokens = [f"Bearer {known['tokens'][name]}" for name in callers if known["tokens"].get(name)]

    @settings(
        max_examples=EXAMPLES, deadline=None, database=None, phases=[Phase.generate], derandomize=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(case=strategy, real=st.booleans(), bearer=st.sampled_from([*tokens, *tokens, *CREDENTIALS]))
    def check(case, real, bearer):
        if real:
            case.path_parameters = {**(case.path_parameters or {}), **pick(case.path_parameters, known["ids"])}
        sent = case.as_transport_kwargs(base_url=url, headers={"Authorization": bearer.encode("utf-8")})
        # A stream never ends by itself: the status is what counts, the rest is left unread.
        with session.request(**sent, stream=True, timeout=ANSWER_S, allow_redirects=False) as response:
            status = response.status_code
            assert status < 500 or status in TOLD, (status, sent["method"], sent["url"], response.text[:300])
            told = described["responses"].keys()
            assert str(status) in told, (status, sent["method"], sent["url"])
            if status >= 400:
                assert response.headers["Content-Type"].startswith("application/problem+json"), sent["url"]
        statuses[status] += 1

    check()


def pick(parameters, ids: dict[str, str]) -> dict[str, str]:
    """Choose the ids that a path has room for."""
    return {name: ids[name] for name in parameters or {} if name in ids}
