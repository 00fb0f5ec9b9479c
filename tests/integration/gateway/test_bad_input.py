"""The bad input of issue 2: a clear error that names the field, no 500, nothing else lost."""

import io
import json

import pytest

from gateway.identity.limits import Rate
from gateway.web.bodies import BODY_LIMIT
from gateway.web.services import LimitSettings

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"text": ""}, "text"),
        ({"text": " \n\t "}, "text"),
        ({"text": "x" * 100_000}, "text"),
        ({"text": "x" * 20_001}, "text"),
        ({"text": None}, "text"),
        ({"text": 7}, "text"),
        ({"text": ["a"]}, "text"),
        ({"text": "a\x00b"}, "text"),
        ({}, "text"),
        ({"text": "a", "surprise": 1}, "surprise"),
        ({"text": "a", "assistant": "x" * 101}, "assistant"),
        ([], "body"),
        ("text", "body"),
        (7, "body"),
    ],
)
async def test_a_wrong_body_names_the_field(browser, conversation, assistant, body, field):
    answer = await browser.call("POST", f"/v1/conversations/{conversation}/messages", body)
    assert (answer.status, answer.body["type"]) == (400, "invalid-request")
    assert field in [each["field"] for each in answer.body["violations"]]
    assert assistant.started == 0


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b'{"text": "\xff\xfe"}',
        b'{"text": NaN}',
        b"[" * 100_000,
        b'{"text": "a"} trailing',
        b"\xef\xbb\xbf{}",
        b"null",
        b'{"a":' * 5_000,
    ],
)
async def test_what_is_not_json_in_utf8_is_refused(browser, conversation, raw):
    path = f"/v1/conversations/{conversation}/messages"
    answer = await browser.call("POST", path, data=raw, headers=JSON)
    assert (answer.status, answer.body["type"]) == (400, "invalid-request")


@pytest.mark.parametrize("half", ["\\ud800", "\\udfff", "a\\ud83d", "\\ude00\\ud83d"])
async def test_half_a_surrogate_pair_is_refused(browser, conversation, half):
    path = f"/v1/conversations/{conversation}/messages"
    answer = await browser.call("POST", path, data=f'{{"text": "{half}"}}'.encode(), headers=JSON)
    assert (answer.status, answer.body["violations"][0]["field"]) == (400, "text")


async def test_a_whole_surrogate_pair_is_text(browser, conversation):
    path = f"/v1/conversations/{conversation}/messages"
    answer = await browser.call("POST", path, data=b'{"text": "\\ud83d\\ude00"}', headers=JSON)
    assert (answer.status, answer.body["user_message"]["text"]) == (200, "😀")


@pytest.mark.parametrize("text", ["x" * 20_000, "é" * 20_000, "👩" * 20_000, "\\" * 20_000])
async def test_the_longest_text_passes_whole(browser, conversation, text):
    turn = await browser.say(conversation, text)
    assert turn["user_message"]["text"] == text


async def test_a_body_past_the_limit_is_refused_with_the_limit(browser, conversation):
    path = f"/v1/conversations/{conversation}/messages"
    raw = io.BytesIO(json.dumps({"text": "x" * (BODY_LIMIT + 1)}).encode())
    answer = await browser.call("POST", path, data=raw, headers=JSON)
    assert (answer.status, answer.body["type"]) == (413, "body-too-large")
    assert str(BODY_LIMIT) in answer.body["detail"]
    assert (await browser.call("GET", "/v1/conversations")).status == 200


@pytest.mark.parametrize("id_", ["x", "0", "..%2f..", "é", "0" * 36, "a" * 5000, "%00", "%ff"])
async def test_unknown_ids_are_not_found_whatever_they_look_like(browser, id_):
    for path in (f"/v1/conversations/{id_}", f"/v1/conversations/{id_}/messages"):
        answer = await browser.call("GET", path)
        assert (answer.status, answer.body["type"]) == (404, "not-found"), path


@pytest.mark.parametrize("key", ["", "x" * 129, "é", "a\tb"])
async def test_a_bad_idempotency_key_names_the_header(browser, key):
    headers = {"Idempotency-Key": key.encode().decode("latin-1")}
    answer = await browser.call("POST", "/v1/conversations", {}, headers=headers)
    assert (answer.status, answer.body["violations"][0]["field"]) == (400, "Idempotency-Key")


async def test_every_error_is_a_problem_document_with_an_id_to_find_it_by(browser):
    for method, path, status in [
        ("GET", "/nope", 404),
        ("GET", "/v1/nope", 404),
        ("PUT", "/v1/sessions", 405),
        ("GET", "/static/../settings.py", 404),
        ("GET", "/static/nope.js", 404),
        ("GET", "/static/chat/..%2f..%2fsettings.py", 404),
        ("GET", "/static/%00.js", 404),
    ]:
        answer = await browser.call(method, path)
        assert answer.status == status, path
        assert answer.headers["Content-Type"].startswith("application/problem+json")
        assert answer.body["status"] == status
        assert answer.body["request_id"] == answer.headers["X-Request-Id"]
    assert (await browser.call("PUT", "/v1/sessions")).headers["Allow"] == "POST"


async def test_a_fault_of_ours_says_nothing_but_its_id(browser, services, monkeypatch):
    async def broken(token):
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(services.sessions, "authenticate", broken)
    answer = await browser.call("GET", "/v1/conversations")
    assert (answer.status, answer.body["type"]) == (500, "internal")
    assert "secret detail" not in json.dumps(answer.body)
    assert "ZeroDivision" not in json.dumps(answer.body)


@pytest.mark.parametrize("given", ["abc-123", "x" * 64])
async def test_a_callers_request_id_is_kept(browser, given):
    assert (await browser.call("GET", "/healthz", headers={"X-Request-Id": given})).headers["X-Request-Id"] == given


@pytest.mark.parametrize("given", ["x" * 65, "a b", "<script>"])
async def test_a_request_id_that_could_harm_a_log_is_replaced(browser, given):
    assert (await browser.call("GET", "/healthz", headers={"X-Request-Id": given})).headers["X-Request-Id"] != given


class TestLimits:
    @pytest.fixture
    def limits(self):
        return LimitSettings(requests=Rate(1000, 1000), sessions=Rate(2, 2), messages=Rate(2, 2))

    async def test_too_many_messages_are_told_when_to_come_back(self, browser, conversation):
        for _ in range(2):
            await browser.say(conversation, "encore")
        answer = await browser.call("POST", f"/v1/conversations/{conversation}/messages", {"text": "encore"})
        assert (answer.status, answer.body["type"]) == (429, "rate-limited")
        assert 1 <= int(answer.headers["Retry-After"]) <= 30
        assert answer.body["resets_at"]

    async def test_too_many_sessions_from_one_address_are_refused(self, new_browser):
        for _ in range(2):
            await new_browser()
        browser = await new_browser(with_session=False)
        answer = await browser.call("POST", "/v1/sessions", {"public_key": "pk_demo"})
        assert (answer.status, answer.body["type"]) == (429, "rate-limited")

    async def test_a_forged_forwarded_for_does_not_help(self, new_browser):
        browser = await new_browser(with_session=False)
        statuses = []
        for number in range(4):
            headers = {"X-Forwarded-For": f"10.0.0.{number}"}
            statuses.append(
                (await browser.call("POST", "/v1/sessions", {"public_key": "pk_demo"}, headers=headers)).status
            )
        assert statuses == [201, 201, 429, 429]
