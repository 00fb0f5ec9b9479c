"""Signed-in visitors over a real socket; PROMISES.md P31, CASES.md J3."""

from dataclasses import replace

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey
from structlog.testing import capture_logs

from gateway.identity.entitlements import Entitlement
from gateway.identity.proofs import HostIdentity, HostKey, sign_hmac
from tests.fakes.gateway import DEMO
from tests.integration.gateway import conftest

KEY = OctKey.import_key("k" * 32)
SECRET = b"s" * 32
MEMBERS = ({"scope": ("docs",), "audience": ("members",)},)
HOSTED = replace(
    DEMO,
    host=HostIdentity("https://host.example", "passeur", {"main": HostKey("HS256", KEY)}, SECRET),
    entitlements=(Entitlement("plan", frozenset({"pro"}), MEMBERS),),
)


@pytest.fixture
def projects():
    return (HOSTED, conftest.OTHER)


def token(services, sub="user-1", **claims):
    now = int(services.clock.now().timestamp())
    body = {"iss": "https://host.example", "aud": "passeur", "sub": sub, "exp": now + 600, **claims}
    return jwt.encode({"alg": "HS256", "kid": "main"}, body, KEY)


def user(services, user_id="user-1", secret=SECRET):
    now = int(services.clock.now().timestamp())
    return {"user_id": user_id, "issued_at": now, "signature": sign_hmac("demo", user_id, now, secret)}


async def sign_in(browser, **proof):
    return await browser.call("POST", "/v1/sessions", {"public_key": "pk_demo", **proof})


async def test_a_signed_in_visitor_is_the_same_on_every_device(new_browser, services):
    phone, desk = await new_browser(with_session=False), await new_browser(with_session=False)
    ids = {
        (await sign_in(phone, jwt=token(services))).body["visitor_id"],
        (await sign_in(desk, jwt=token(services))).body["visitor_id"],
        (await sign_in(desk, user=user(services))).body["visitor_id"],
    }
    assert len(ids) == 1
    assert (await sign_in(desk, jwt=token(services, "user-2"))).body["visitor_id"] not in ids


async def test_signing_in_never_takes_over_an_anonymous_visitor(browser, services):
    anonymous, conversation = browser.visitor_id, await browser.open_conversation()
    signed = (await sign_in(browser, jwt=token(services))).body
    assert signed["visitor_id"] != anonymous
    browser.token = signed["token"]
    assert (await browser.call("GET", f"/v1/conversations/{conversation}")).status == 404


async def test_a_proven_session_is_proven_anew_and_not_renewed(browser, services):
    browser.token = (await sign_in(browser, jwt=token(services))).body["token"]
    assert (await browser.call("GET", "/v1/conversations")).status == 200
    assert (await sign_in(browser)).status == 401


async def test_what_a_visitor_may_read_follows_their_latest_claims(browser, services, assistant):
    contexts = []
    for claims in ({"plan": "pro"}, {"plan": "free"}, {}):
        browser.token = (await sign_in(browser, jwt=token(services, **claims))).body["token"]
        await browser.say(await browser.open_conversation(), "quoi ?")
        contexts.append(assistant.questions[-1].contexts)
    assert contexts == [DEMO.anonymous_contexts + MEMBERS, DEMO.anonymous_contexts, DEMO.anonymous_contexts]
    assert assistant.questions[-1].budget_user == assistant.questions[-1].user


async def test_a_claim_without_a_good_proof_makes_no_session_at_all(new_browser, services):
    """CASES.md J3: setting another user's id without a hash, or with an empty one."""
    browser = await new_browser(with_session=False)
    good = user(services)
    wrong = [
        {"user": {**good, "signature": ""}},
        {"user": {**good, "signature": "0" * 64}},
        {"user": {**good, "user_id": "user-2"}},
        {"user": user(services, secret=b"x" * 32)},
        {"jwt": ""},
        {"jwt": token(services)[:-3]},
        {"jwt": token(services, aud="other")},
    ]
    with capture_logs() as logged:
        answers = [await sign_in(browser, **proof) for proof in wrong]
        answers.append(await browser.call("POST", "/v1/sessions", {"public_key": "pk_mistyped"}))
    assert [answer.status for answer in answers] == [401] * len(answers)
    assert len({answer.body["detail"] for answer in answers}) == 1
    assert "Authorization" not in answers[0].body["detail"]  # which is not where a proof goes
    causes = ["malformed", "signature", "signature", "signature", "malformed", "signature", "audience", "public_key"]
    assert [each["reason"] for each in logged if each["event"] == "session_refused"] == causes
    assert {each["log_level"] for each in logged if each["event"] == "session_refused"} == {"info"}
    assert not [each for each in logged if "user-1" in str(each) or good["signature"] in str(each)]
    for malformed in ({"user": {"user_id": "user-1"}}, {"user_id": "user-1"}, {"user": "user-1"}):
        assert (await sign_in(browser, **malformed)).status == 400


async def test_another_project_does_not_believe_the_first_ones_host(new_browser, services):
    browser = await new_browser(with_session=False)
    answer = await browser.call("POST", "/v1/sessions", {"public_key": "pk_other", "jwt": token(services)})
    assert answer.status == 401
