"""Pages, headers for safety, readiness and the description of the API."""

from gateway.web.routes import ROUTES


async def test_the_chat_page_comes_with_a_policy_that_lets_nothing_foreign_in(browser):
    page = await browser.call("GET", "/chat")
    policy = page.headers["Content-Security-Policy"]
    for part in (
        "default-src 'none'",
        "script-src 'self'",
        "object-src 'none'",
        "base-uri 'none'",
        "connect-src 'self'",
    ):
        assert part in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'self' https://listed.example https://other.example" in policy
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    assert page.headers["Referrer-Policy"] == "no-referrer"


async def test_the_bare_address_leads_to_the_chat_page(browser):
    page = await browser.call("GET", "/")
    assert page.status == 200
    assert "passeur-" in str(page.body)


async def test_a_file_is_sent_once_and_then_revalidated(browser):
    first = await browser.call("GET", "/static/look/base.css")
    assert (first.status, first.headers["Content-Type"]) == (200, "text/css; charset=utf-8")
    again = await browser.call("GET", "/static/look/base.css", headers={"If-None-Match": first.headers["ETag"]})
    assert again.status == 304


async def test_api_answers_are_not_kept_by_caches_nor_framed(browser):
    answer = await browser.call("GET", "/v1/conversations")
    assert answer.headers["Cache-Control"] == "no-store"
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]


async def test_liveness_touches_nothing_and_readiness_tells_the_truth(browser, assistant, services):
    from gateway.assistant.contract import Readiness

    assert (await browser.call("GET", "/healthz")).body == {"status": "alive"}
    for state, status, told in [("ready", 200, "ready"), ("degraded", 200, "degraded"), ("down", 503, "degraded")]:
        assistant.state = Readiness(True, state, ("retrieval: loading",))
        answer = await browser.call("GET", "/readyz")
        assert (answer.status, answer.body["state"]) == (status, told)
        assert answer.body["dependencies"]["ai_server"]["reasons"] == ["retrieval: loading"]
    services.lifecycle.draining = True
    assert (await browser.call("GET", "/readyz")).body["state"] == "down"
    assert (await browser.call("GET", "/healthz")).status == 200


async def test_the_description_names_every_route_of_the_api_and_no_other(browser, url, services):
    from gateway.app import build_app

    document = browser.documented.document
    described = {(method.upper(), path) for path, operations in document["paths"].items() for method in operations}
    served = {
        (route.method, route.resource.canonical)
        for route in build_app(services).router.routes()
        if route.resource.canonical.startswith(("/v1/", "/healthz", "/readyz")) and route.method != "HEAD"
    }
    assert described == served == {(route.method, route.path) for route in ROUTES}


async def test_the_description_is_valid_openapi(browser):
    import schemathesis

    schema = schemathesis.openapi.from_dict(browser.documented.document)
    schema.validate()
    assert document_ids_are_unique(browser.documented.document)


def document_ids_are_unique(document):
    ids = [operation["operationId"] for operations in document["paths"].values() for operation in operations.values()]
    return len(ids) == len(set(ids))


async def test_metrics_count_requests_by_pattern_and_never_by_what_a_visitor_typed(browser, services, conversation):
    from prometheus_client import generate_latest

    await browser.call("GET", "/v1/conversations/visitor-typed-this")
    await browser.call("GET", "/typed-path")
    await browser.say(conversation, "bonjour")
    text = generate_latest(services.metrics.registry).decode()
    assert 'route="/v1/conversations/{conversation_id}",status="404"' in text
    assert 'route="unknown",status="404"' in text
    assert "typed" not in text
    assert 'passeur_gateway_turns_total{outcome="answered"} 1.0' in text
    assert "passeur_gateway_stream_readers 0.0" in text
