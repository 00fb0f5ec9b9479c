"""One visitor message from receive to publish, over a real socket."""

import asyncio
import json

import aiohttp
import pytest

from gateway.assistant.contract import Citation, Outcome, Passage, Problem, Result, Step
from shared.errors import BudgetExhausted, InvalidRequest
from tests.fakes.assistant import Pause, answering, ending
from tests.fakes.gateway import serving
from tests.integration.gateway.client import is_done
from tests.waiting import eventually

CITED = (
    Citation("a", "chunk-1", "Guide", "https://docs.example/guide", "les mots", 3),
    Citation("b", "chunk-2", "Autre", "javascript:alert(1)", "d'autres", 7),
    Citation("c", "chunk-1", "Guide", "https://docs.example/guide", "les mots", 7),
)


def data_of(events):
    return [(event.type, json.loads(event.data)) for event in events]


async def test_an_answer_as_json_holds_both_messages(browser, conversation, assistant):
    assistant.script = lambda question: answering("Oui **bien**.", citations=CITED)
    turn = await browser.say(conversation, "Ça marche ?")
    assert (turn["outcome"], turn["problem"]) == ("answered", None)
    assert (turn["user_message"]["role"], turn["user_message"]["html"]) == ("USER", "<p>Ça marche ?</p>")
    said = turn["ai_message"]
    assert (said["role"], said["kind"], said["text"], said["model"], said["cost_nanousd"]) == (
        "AI", "answer", "Oui **bien**.", "extractive", 0,
    )  # fmt: skip
    assert [(each["title"], each["url"]) for each in said["citations"]] == [
        ("Guide", "https://docs.example/guide"),
        ("Autre", None),
    ]
    assert said["html"].count(f'data-citation="{said["citations"][0]["id"]}"') == 2
    assert said["html"].count(f'data-citation="{said["citations"][1]["id"]}"') == 1


async def test_the_same_turn_as_a_stream_has_steps_deltas_messages_and_done_last(browser, conversation, assistant):
    assistant.script = lambda question: answering("un deux trois quatre")
    async with browser.turn(conversation, "compte") as turn:
        events = data_of(await turn.rest())
    steps = [data["step"] for kind, data in events if kind == "turn.step"]
    assert steps[-1] == "done"
    assert [step for step in steps if step != "saving"] == ["intent", "retrieval", "api_call", "formatting", "done"]
    created = [data for kind, data in events if kind == "message.created"]
    assert [each["role"] for each in created] == ["USER", "AI"]
    text = ""
    for kind, data in events:
        if kind == "message.delta":
            assert data["message_id"] == created[1]["id"]
            text = text[: data["start"]] + data["text"]
    assert text == created[1]["text"] == "un deux trois quatre"
    assert events[-1][1]["outcome"] == "answered"


async def test_the_visitors_stream_carries_the_same_events_with_ids(browser, conversation, assistant):
    assistant.script = lambda question: answering("bonjour à tous")
    async with browser.events() as stream:
        await stream.opened()
        await browser.say(conversation, "salut")
        events = await stream.until(is_done)
    stored = [event for event in events if event.type == "message.created" or is_done(event)]
    offsets = [int(event.last_event_id.partition(".")[2]) for event in stored]
    assert offsets == [1, 2, 3]


async def test_the_question_carries_history_contexts_and_language(browser, conversation, assistant):
    assistant.script = lambda question: answering(f"réponse à {question.text}")
    await browser.say(conversation, "première")
    browser.language = "es"
    await browser.say(conversation, "segunda")
    first, second = assistant.questions
    assert first.history == ()
    assert [(each.role, each.text) for each in second.history] == [("user", "première"), ("ai", "réponse à première")]
    assert first.contexts == ({"scope": ("docs",), "audience": ("public",)},)
    assert (first.language_hint, second.language_hint, first.budget_user) == ("fr", "es", "anonymous")
    assert first.user == browser.visitor_id


async def test_twice_rephrase_then_a_person_and_an_answer_begins_again(browser, conversation, assistant):
    """DESIGN.md section 4."""
    kinds = []
    for good in (False, False, False, True, False):
        assistant.script = lambda question, good=good: (
            answering("voilà") if good else ending(Outcome.INSUFFICIENT_CONTEXT)
        )
        turn = await browser.say(conversation, "une question")
        kinds.append(turn["ai_message"]["kind"])
    assert kinds == ["rephrase", "rephrase", "suggest_human", "answer", "rephrase"]


async def test_who_asks_for_a_person_is_offered_one_at_once_and_the_ai_server_is_not_asked(
    browser, conversation, assistant
):
    assistant.script = lambda question: answering("voilà")
    turn = await browser.say(conversation, "Je veux parler à un conseiller")
    assert (turn["outcome"], turn["ai_message"]["kind"]) == ("answered", "suggest_human")
    assert turn["ai_message"]["text"].startswith("Une personne de l’équipe")
    assert assistant.questions == []
    turn = await browser.say(conversation, "Comment contacter le service des ressources humaines ?")
    assert (turn["ai_message"]["kind"], len(assistant.questions)) == ("answer", 1)


async def test_what_the_server_says_is_read_in_each_readers_language(browser, conversation, assistant):
    assistant.script = lambda question: ending(Outcome.INSUFFICIENT_CONTEXT)
    said = (await browser.say(conversation, "quoi"))["ai_message"]
    assert said["text"].startswith("Je n’ai pas trouvé")
    texts = {}
    for language in ("en", "es"):
        browser.language = language
        page = await browser.good("GET", f"/v1/conversations/{conversation}/messages")
        texts[language] = page["messages"][1]["text"]
    assert texts["en"].startswith("I found no answer")
    assert texts["es"].startswith("No he encontrado")
    assistant.script = lambda question: ending(Outcome.INSUFFICIENT_CONTEXT)
    in_french = (await browser.say(conversation, "Où est la clé ?"))["ai_message"]
    assert in_french["text"].startswith("Je n’ai pas trouvé")  # on the Spanish page: a reply speaks as the question
    page = await browser.good("GET", f"/v1/conversations/{conversation}/messages")
    assert page["messages"][-1] == in_french


async def test_a_second_message_while_a_turn_runs_names_the_running_turn(browser, conversation, assistant):
    assistant.script = lambda question: [Pause(), *answering("fini")]
    async with browser.turn(conversation, "attends") as turn:
        running = json.loads((await turn.next()).data)["turn_id"]
        answer = await browser.call("POST", f"/v1/conversations/{conversation}/messages", {"text": "et puis"})
        assert (answer.status, answer.body["type"], answer.body["turn_id"]) == (409, "turn-running", running)
        shown = await browser.good("GET", f"/v1/conversations/{conversation}")
        assert shown["running_turn_id"] == running
        await turn.until(lambda event: '"saving"' in event.data)
        await eventually(lambda: assistant.started)
        assistant.release()
        await turn.rest()
    assert (await browser.good("GET", f"/v1/conversations/{conversation}"))["running_turn_id"] is None


async def test_stopping_keeps_what_was_said(browser, conversation, assistant):
    assistant.script = lambda question: [
        *answering("Il était une fois")[:-3],
        Pause(),
        Result(Outcome.ANSWERED, "x", "fr"),
    ]
    async with browser.turn(conversation, "raconte") as turn:
        events = await turn.until(lambda event: event.type == "message.delta" and "une" in event.data)
        turn_id = json.loads(events[0].data)["turn_id"]
        path = f"/v1/conversations/{conversation}/turns/{turn_id}/stop"
        assert await browser.good("POST", path) == {"was_running": True}
        rest = data_of(await turn.rest())
    assert rest[-1][1]["outcome"] == "stopped"
    said = next(data for kind, data in rest if kind == "message.created")
    assert said["text"].startswith("Il était une")
    assert said["notice"] == "Réponse arrêtée à votre demande."
    assert await browser.good("POST", path) == {"was_running": False}


async def test_the_same_key_is_one_turn_and_one_call(browser, conversation, assistant):
    headers = {"Idempotency-Key": "abc"}
    first = await browser.say(conversation, "une fois", headers=headers)
    again = await browser.say(conversation, "une fois", headers=headers)
    assert again == first
    async with browser.turn(conversation, "une fois", **headers) as turn:
        replayed = data_of(await turn.rest())
    assert [kind for kind, _ in replayed] == ["message.created", "message.created", "turn.step"]
    assert replayed[1][1] == first["ai_message"]
    assert assistant.started == 1
    conflict = await browser.call(
        "POST", f"/v1/conversations/{conversation}/messages", {"text": "autre"}, headers=headers
    )
    assert (conflict.status, conflict.body["type"]) == (409, "idempotency-conflict")


async def test_the_same_key_attaches_to_the_running_turn(browser, conversation, assistant):
    assistant.script = lambda question: [*answering("un deux")[:5], Pause(), *answering("un deux")[5:]]
    headers = {"Idempotency-Key": "abc"}
    async with browser.turn(conversation, "compte", **headers) as first:
        await first.until(lambda event: event.type == "message.delta")
        async with browser.turn(conversation, "compte", **headers) as second:
            early = await second.until(lambda event: event.type == "message.delta")
            assistant.release()
            late = await second.rest()
        both = data_of([*early, *late])
    assert both[-1][1]["outcome"] == "answered"
    assert [data["role"] for kind, data in both if kind == "message.created"] == ["USER", "AI"]
    assert assistant.started == 1


async def test_closing_the_tab_loses_neither_answer_nor_turn(browser, conversation, assistant):
    """DESIGN.md section 4: the provider call is never tied to the browser."""
    assistant.script = lambda question: [Pause(), *answering("toujours là")]
    async with browser.turn(conversation, "je pars") as turn:
        await turn.next()
    await eventually(lambda: assistant.started)
    assistant.release()

    async def answered():
        page = await browser.good("GET", f"/v1/conversations/{conversation}/messages")
        return [each["text"] for each in page["messages"] if each["role"] == "AI"]

    assert await eventually(answered) == ["toujours là"]


@pytest.mark.parametrize("cancels", [True, False])
@pytest.mark.parametrize("leaving", ["before", "during"])
async def test_leaving_a_json_post_does_not_lose_the_turn_either(
    browser, conversation, assistant, services, leaving, cancels
):
    """CASES.md F1: the same whether or not aiohttp cancels the handler of a client that left."""
    assistant.script = lambda question: [Pause(), *answering("publié")]
    async with serving(services, cancels=cancels) as url, aiohttp.ClientSession() as session:
        headers = {"Authorization": f"Bearer {browser.token}"}
        path = f"{url}/v1/conversations/{conversation}/messages"
        post = asyncio.create_task(session.post(path, json={"text": "vite"}, headers=headers))
        if leaving == "during":
            await eventually(lambda: assistant.started)
        else:
            await asyncio.sleep(0)
        post.cancel()
        await asyncio.wait({post})
    page = await browser.good("GET", f"/v1/conversations/{conversation}/messages")
    if leaving == "during":
        assert len(page["messages"]) == 1
    if not page["messages"]:
        return
    await eventually(lambda: assistant.started)
    assistant.release()

    async def over():
        return (await browser.good("GET", f"/v1/conversations/{conversation}"))["running_turn_id"] is None

    await eventually(over)


@pytest.mark.parametrize(
    ("script", "kind", "problem"),
    [
        ([Step("intent"), BudgetExhausted("spent", None)], "notice", "budget-exhausted"),
        ([InvalidRequest.of("assistant", "is not known")], "notice", "invalid-request"),
        (ending(Outcome.FAILED, problem=Problem("provider-cut", "secret-host broke")), "notice", "provider-cut"),
        (ending(Outcome.FAILED, "à moitié", problem=Problem("provider-cut", "x")), "answer", "provider-cut"),
        (ending(Outcome.TRUNCATED, "à moitié"), "answer", None),
    ],
)
async def test_a_failed_turn_ends_with_a_true_message_and_done(browser, conversation, assistant, script, kind, problem):
    """CONTRACTS.md: last always done, also for failures after HTTP 200."""
    assistant.script = lambda question: script
    async with browser.turn(conversation, "essaie") as turn:
        events = data_of(await turn.rest())
    done = events[-1][1]
    assert (done["step"], done.get("problem", {}).get("type")) == ("done", problem)
    said = [data for name, data in events if name == "message.created"][1]
    assert said["kind"] == kind
    assert said["text"] if kind == "notice" else said["notice"]
    assert "secret-host" not in json.dumps(events)


async def test_with_the_ai_server_away_the_message_is_kept_and_the_visitor_is_told(browser, conversation, assistant):
    assistant.down = True
    turn = await browser.say(conversation, "allô ?")
    assert (turn["outcome"], turn["problem"]["type"]) == ("failed", "not-ready")
    assert turn["ai_message"]["text"].startswith("L’assistant n’est pas joignable")
    ready = await browser.call("GET", "/readyz")
    assert (ready.status, ready.body["state"]) == (503, "degraded")
    assert (await browser.call("GET", "/readyz?of=gateway")).status == 200
    assistant.recover()
    assert (await browser.call("GET", "/readyz")).status == 200
    assert (await browser.say(conversation, "et là ?"))["outcome"] == "answered"


async def test_a_lost_ai_server_that_comes_back_is_attached_again(browser, conversation, assistant):
    assistant.script = lambda question: [*answering("un deux trois")[:5], Pause(), *answering("un deux trois")[5:]]
    async with browser.turn(conversation, "compte") as turn:
        await turn.until(lambda event: event.type == "message.delta")
        assistant.crash()
        assistant.release()
        await asyncio.sleep(0)
        assistant.recover()
        events = data_of(await turn.rest())
    assert events[-1][1]["outcome"] == "answered"
    assert assistant.started == 1


async def test_a_turn_that_the_ai_server_forgot_is_interrupted(browser, conversation, assistant):
    assistant.script = lambda question: [*answering("un deux trois")[:5], Pause()]
    async with browser.turn(conversation, "compte") as turn:
        await turn.until(lambda event: event.type == "message.delta")
        assistant.crash()
        assistant.forget()
        assistant.recover()
        events = data_of(await turn.rest())
    assert events[-1][1]["outcome"] == "interrupted"
    assert assistant.started == 1
    said = [data for name, data in events if name == "message.created"][-1]
    assert (said["text"], said["notice"][:27]) == ("un ", "La réponse a été interrompu")


async def test_a_citation_opens_with_rights_checked_again(browser, conversation, assistant):
    assistant.script = lambda question: answering("Oui bien.", citations=CITED)
    assistant.passages["chunk-1"] = Passage(
        "chunk-1", "Guide", "https://docs.example/guide", "Début", "tous les mots", "fr"
    )
    said = (await browser.say(conversation, "où ?"))["ai_message"]
    path = f"/v1/conversations/{conversation}/citations"
    passage = await browser.good("GET", f"{path}/{said['citations'][0]['id']}")
    assert (passage["text"], passage["quote"]) == ("tous les mots", "les mots")
    assert assistant.asked_contexts == [({"scope": ("docs",), "audience": ("public",)},)]
    assert (await browser.call("GET", f"{path}/{said['citations'][1]['id']}")).status == 404
    for forged in (
        f"{said['id']}.3",
        f"{said['id']}.0",
        f"{said['id']}.01",
        f"{said['id']}",
        "x.1",
        f"{conversation}.1",
    ):
        assert (await browser.call("GET", f"{path}/{forged}")).status == 404
    elsewhere = await browser.open_conversation()
    stolen = f"/v1/conversations/{elsewhere}/citations/{said['citations'][0]['id']}"
    assert (await browser.call("GET", stolen)).status == 404


async def test_a_citation_of_a_live_service_opens_as_it_was_told(browser, conversation, assistant):
    """Issue 8: no index holds what a service found, and the AI server need not be asked for it."""
    found = Citation(
        "a", "chunk-9", "The Batman (2022)", "http://media.example/1", "The Batman (2022)", 3,
        service="Jellyfin", text="2022-03-04\nA masked man.",
    )  # fmt: skip
    assistant.script = lambda question: answering("Là.", citations=(found,))
    said = (await browser.say(conversation, "où ?"))["ai_message"]
    path = f"/v1/conversations/{conversation}/citations/{said['citations'][0]['id']}"
    passage = await browser.good("GET", path)
    assert passage == {
        "id": said["citations"][0]["id"],
        "title": "The Batman (2022)",
        "url": "http://media.example/1",
        "heading": "",
        "text": "2022-03-04\nA masked man.",
        "language": "",
        "quote": "The Batman (2022)",
        "service": "Jellyfin",
    }
    assert assistant.asked_contexts == []


async def test_a_project_that_hides_model_and_cost_hides_them_everywhere(new_browser, assistant):
    browser = await new_browser(with_session=False)
    await browser.open_session("pk_other")
    conversation = await browser.open_conversation()
    async with browser.turn(conversation, "combien ?") as turn:
        events = data_of(await turn.rest())
    said = [data for name, data in events if name == "message.created"][1]
    assert (said["model"], said["cost_nanousd"]) == (None, None)
    assert assistant.questions[0].contexts == ()


async def test_messages_are_paged_back_in_time(browser, conversation, assistant):
    assistant.script = lambda question: answering(f"r {question.text}")
    for number in range(3):
        await browser.say(conversation, str(number))
    path = f"/v1/conversations/{conversation}/messages"
    newest = await browser.good("GET", f"{path}?limit=4")
    assert [each["text"] for each in newest["messages"]] == ["1", "r 1", "2", "r 2"]
    older = await browser.good("GET", f"{path}?limit=4&cursor={newest['next_cursor']}")
    assert ([each["text"] for each in older["messages"]], older["next_cursor"]) == (["0", "r 0"], None)
