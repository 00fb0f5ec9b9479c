"""Sessions, origins and hosts over a real socket."""

import json

import pytest

from gateway.identity.sessions import RENEWED_GRACE
from tests.fakes.clock import ManualClock
from tests.fakes.gateway import open_services

JSON = {"Content-Type": "application/json"}


async def test_a_public_key_opens_a_session_and_its_token_works(browser):
    assert (await browser.good("GET", "/v1/conversations")) == {"conversations": [], "next_cursor": None}


async def test_an_old_token_renews_the_same_visitor(browser):
    old = browser.token
    renewed = await browser.open_session()
    assert renewed["visitor_id"] == browser.visitor_id
    assert renewed["token"] != old
    assert (await browser.call("GET", "/v1/conversations")).status == 200


async def test_every_cause_of_a_refusal_reads_the_same(new_browser):
    """CONTRACTS.md: one body for all causes."""
    browser = await new_browser(with_session=False)
    bodies = []
    for token in ("", "wrong", "x" * 500, "é"):
        headers = {"Authorization": f"Bearer {token}".encode().decode("latin-1")} if token else {}
        answer = await browser.call("GET", "/v1/conversations", headers=headers)
        assert answer.status == 401
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        bodies.append({name: value for name, value in answer.body.items() if name != "request_id"})
    unknown_key = await browser.call("POST", "/v1/sessions", {"public_key": "pk_nope"})
    bodies.append({name: value for name, value in unknown_key.body.items() if name != "request_id"})
    assert bodies == [bodies[0]] * 5


async def test_a_token_is_not_taken_from_the_address(browser):
    token, browser.token = browser.token, ""
    assert (await browser.call("GET", f"/v1/conversations?token={token}&access_token={token}")).status == 401


async def test_a_session_of_one_project_is_not_renewed_for_another(browser):
    answer = await browser.call("POST", "/v1/sessions", {"public_key": "pk_other"})
    assert answer.status == 401


@pytest.mark.parametrize(
    ("origin", "status"), [("https://listed.example", 201), ("https://evil.example", 403), ("null", 403)]
)
async def test_a_present_origin_must_be_listed(new_browser, origin, status):
    browser = await new_browser(with_session=False)
    answer = await browser.call("POST", "/v1/sessions", {"public_key": "pk_demo"}, headers={"Origin": origin})
    assert answer.status == status
    allowed = answer.headers.get("Access-Control-Allow-Origin")
    assert allowed == (origin if status == 201 else None)


async def test_our_own_pages_are_always_allowed(new_browser, url):
    browser = await new_browser(with_session=False)
    answer = await browser.call("POST", "/v1/sessions", {"public_key": "pk_demo"}, headers={"Origin": url})
    assert answer.status == 201


async def test_the_origin_is_checked_on_every_call_not_only_the_first(browser):
    answer = await browser.call("GET", "/v1/conversations", headers={"Origin": "https://other.example"})
    assert (answer.status, answer.body["type"]) == (403, "forbidden-origin")


async def test_another_host_is_refused(browser):
    """PROMISES.md P32: DNS rebinding."""
    answer = await browser.call("GET", "/v1/conversations", headers={"Host": "evil.example"})
    assert (answer.status, answer.body["type"]) == (403, "forbidden")
    assert (await browser.call("GET", "/healthz", headers={"Host": "10.0.0.7:8080"})).status == 200


async def test_a_form_cannot_post(browser, conversation):
    """PROMISES.md P32: what a foreign page can send without a preflight changes nothing."""
    for media_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        answer = await browser.call(
            "POST",
            f"/v1/conversations/{conversation}/messages",
            data=json.dumps({"text": "forged"}),
            headers={"Content-Type": media_type},
        )
        assert (answer.status, answer.body["type"]) == (415, "unsupported-media")


async def test_a_preflight_is_answered_for_listed_origins_only(new_browser):
    browser = await new_browser(with_session=False)
    asked = {"Access-Control-Request-Method": "POST"}
    good = await browser.call("OPTIONS", "/v1/conversations", headers={**asked, "Origin": "https://listed.example"})
    assert (good.status, good.headers["Access-Control-Allow-Origin"]) == (204, "https://listed.example")
    assert "Authorization" in good.headers["Access-Control-Allow-Headers"]
    assert "Access-Control-Allow-Credentials" not in good.headers
    bad = await browser.call("OPTIONS", "/v1/conversations", headers={**asked, "Origin": "https://evil.example"})
    assert (bad.status, bad.headers.get("Access-Control-Allow-Origin")) == (403, None)


async def test_sessions_end_and_can_be_renewed_for_a_while(tmp_path, assistant):
    clock = ManualClock()
    from gateway.identity.sessions import RENEWABLE_AFTER_END, SESSION_LIFE
    from shared.errors import Unauthenticated

    async with open_services(tmp_path, assistant, clock=clock) as services:
        project = services.projects.get("demo")
        issued = await services.sessions.open_anonymous(project, "fr")
        clock.advance(SESSION_LIFE.total_seconds())
        with pytest.raises(Unauthenticated):
            await services.sessions.authenticate(issued.token)
        renewed = await services.sessions.renew(issued.token, project)
        assert renewed.visitor.id == issued.visitor.id
        clock.advance((SESSION_LIFE + RENEWABLE_AFTER_END).total_seconds())
        with pytest.raises(Unauthenticated):
            await services.sessions.renew(renewed.token, project)


async def test_a_renewed_token_works_a_little_longer_and_no_more(tmp_path, assistant):
    clock = ManualClock()
    from shared.errors import Unauthenticated

    async with open_services(tmp_path, assistant, clock=clock) as services:
        project = services.projects.get("demo")
        old = await services.sessions.open_anonymous(project, "fr")
        await services.sessions.renew(old.token, project)
        clock.advance(RENEWED_GRACE.total_seconds() - 1)
        assert (await services.sessions.authenticate(old.token)).id == old.visitor.id
        clock.advance(1)
        with pytest.raises(Unauthenticated):
            await services.sessions.authenticate(old.token)


async def test_tokens_are_kept_as_hashes_only(services, browser, tmp_path):
    raw = b"".join(path.read_bytes() for path in (tmp_path / "gateway").iterdir() if path.is_file())
    assert browser.visitor_id.encode() in raw
    assert browser.token.encode() not in raw
