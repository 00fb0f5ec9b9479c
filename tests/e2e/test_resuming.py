"""Nothing is lost by closing, reloading, cutting or doubling."""

import asyncio

import pytest
from playwright.async_api import Request, expect

from gateway.assistant.contract import Delta, Step
from gateway.storage.contract import NewEvent
from tests.e2e.conftest import Stage, ask, said
from tests.fakes.assistant import Pause, answering
from tests.fakes.gateway import PASSWORD, staff_member

pytestmark = [pytest.mark.service("chromium"), pytest.mark.asyncio(loop_scope="session")]

FIRST, SECOND = "Première partie. ", "Seconde partie."


def in_two_parts(_question):
    """Say the first part, wait to be released, say all of it."""
    return [Step("retrieve"), Step("generate"), Delta(0, FIRST), Pause(), *answering(FIRST + SECOND)]


async def test_a_reload_in_the_middle_of_an_answer_goes_on_where_it_was(stage: Stage):
    stage.assistant.script = in_two_parts
    page = await (await stage.visitor()).tab()
    await ask(page, "Raconte")
    await expect(page.locator('[data-state="streaming"]')).to_contain_text(FIRST.strip())
    await page.reload()
    await expect(page.locator('[data-state="streaming"]')).to_contain_text(FIRST.strip())
    await expect(page.get_by_role("button", name="Arrêter la réponse")).to_be_visible()
    stage.assistant.release()
    await expect(said(page).locator(".message-body")).to_have_text(FIRST + SECOND)
    await expect(page.locator("passeur-message")).to_have_count(2)
    await expect(page.get_by_role("button", name="Envoyer")).to_be_visible()
    assert stage.assistant.started == 1


async def test_a_cut_connection_resumes_by_the_last_event_id(stage: Stage):
    """P13 seen from the browser: every stream is cut in mid-answer, and the text is whole in the end."""
    stage.assistant.script = in_two_parts
    visitor = await stage.visitor()
    page = await visitor.tab()
    await ask(page, "Raconte")
    await expect(page.locator('[data-state="streaming"]')).to_contain_text(FIRST.strip())
    async with page.expect_request(lambda request: "/v1/events?" in request.url) as resumed:
        stage.services.hub.close()
    assert (await (await resumed.value).all_headers())["last-event-id"].rpartition(".")[2] != "0"
    await expect(page.locator('[data-state="streaming"]')).to_contain_text(FIRST.strip())
    stage.assistant.release()
    await expect(said(page).locator(".message-body")).to_have_text(FIRST + SECOND)
    await expect(page.locator("passeur-message")).to_have_count(2)


async def test_two_tabs_share_one_stream_and_the_second_takes_over(stage: Stage):
    """DESIGN section 7: one leader tab holds the event stream for all."""
    visitor = await stage.visitor()
    streams: list[Request] = []
    visitor.context.on("request", lambda request: streams.append(request) if "/v1/events?" in request.url else None)
    first = await visitor.tab()
    await ask(first, "Bonjour")
    await expect(said(first)).to_have_count(1)
    second = await visitor.tab(first.url.partition("/chat")[2])
    await expect(said(second)).to_have_count(1)

    stage.assistant.script = in_two_parts
    await ask(first, "Raconte")
    await expect(second.locator('[data-state="streaming"]')).to_contain_text(FIRST.strip())
    await expect(second.get_by_role("button", name="Arrêter la réponse")).to_be_visible()
    assert len(streams) == 1

    await first.close()  # the leader leaves in the middle
    stage.assistant.release()
    await expect(said(second).last.locator(".message-body")).to_have_text(FIRST + SECOND)
    await expect(second.locator("passeur-message")).to_have_count(4)
    assert len(streams) == 2
    assert "last-event-id" in await streams[1].all_headers()


async def test_a_tab_that_opens_late_hears_what_is_being_said(stage: Stage):
    stage.assistant.script = in_two_parts
    visitor = await stage.visitor()
    first = await visitor.tab()
    await ask(first, "Raconte")
    await expect(first.locator('[data-state="streaming"]')).to_contain_text(FIRST.strip())
    second = await visitor.tab(first.url.partition("/chat")[2])
    await expect(second.locator('[data-state="streaming"]')).to_contain_text(FIRST.strip())
    stage.assistant.release()
    await expect(said(second).locator(".message-body")).to_have_text(FIRST + SECOND)


async def test_an_expired_session_is_renewed_without_a_word(stage: Stage):
    page = await (await stage.visitor()).tab()
    await ask(page, "Bonjour")
    await expect(said(page)).to_have_count(1)
    refused = {"type": "unauthenticated", "status": 401}
    await page.route("**/messages", lambda route: route.fulfill(status=401, json=refused), times=1)
    await ask(page, "Encore là ?")
    await expect(said(page)).to_have_count(2)


NATIVE = """
async ([token, from]) => {
    const headers = { authorization: `Bearer ${token}` };
    const { ticket } = await (await fetch("/v1/events/ticket", { method: "POST", headers })).json();
    const address = `/v1/events?channels=support&ticket=${ticket}${from ? `&last_event_id=${from}` : ""}`;
    const source = new EventSource(address);
    const heard = [];
    source.addEventListener("ticket.updated", (event) => heard.push([event.lastEventId, JSON.parse(event.data).n]));
    await new Promise((end) => { source.onopen = end; });
    document.documentElement.dataset.opened = "true";
    while (heard.length < 3) await new Promise((end) => setTimeout(end, 20));
    source.close();
    // A ticket is good once: opening the same address again ends in an error, not in a stream.
    const again = new EventSource(address);
    const refused = await new Promise((end) => { again.onerror = () => end(true); again.onopen = () => end(false); });
    again.close();
    return { heard, refused };
}
"""


@pytest.mark.parametrize("who", ["visitor", "staff"])
async def test_the_browsers_own_eventsource_follows_by_ticket_and_resumes(stage: Stage, who):
    """Issue 6: native EventSource, which can send no header."""
    services = stage.services
    project = services.projects.get("demo")
    assert project is not None
    if who == "staff":
        await staff_member(services, "ana")
        token, stream_id = (await services.support.staff.sign_in("ana", PASSWORD)).token, "staff:demo"
    else:
        issued = await services.sessions.open_anonymous(project, "fr")
        token, stream_id = issued.token, f"visitor:{issued.visitor.id}"
    page = await (await stage.visitor()).context.new_page()
    await page.goto(f"{stage.url}/status")

    async def publish(numbers: range) -> None:
        for number in numbers:
            async with services.store.transaction() as tx:
                await tx.events.append(stream_id, NewEvent("ticket.updated", {"n": number}, "support"))

    first = asyncio.ensure_future(page.evaluate(NATIVE, [token, ""]))
    await expect(page.locator("html")).to_have_attribute("data-opened", "true")
    await publish(range(3))
    told = await first
    assert (told["refused"], [number for _, number in told["heard"]]) == (True, [0, 1, 2])
    await publish(range(3, 6))
    told = await page.evaluate(NATIVE, [token, told["heard"][-1][0]])
    assert [number for _, number in told["heard"]] == [3, 4, 5]
