"""The two cases of the source document, over a real socket: one question, a reply, a result (issue 8)."""

import asyncio
import json

import pytest

from gateway.assistant.contract import Outcome, Problem, Sight
from tests.fakes.assistant import answering, ending


def candidate(connector, holds):
    return {
        "kind": "INTENT_KIND_CONNECTOR",
        "connector": connector.lower(),
        "instance": "home",
        "search_terms": ["batman"],
        "label": {"fr": f"{connector} – {holds}", "en": f"{connector} – {holds} (en)"},
    }


JELLYFIN, NEXTCLOUD = candidate("Jellyfin", "films, séries"), candidate("Nextcloud", "fichiers")
FAILED = {
    "intent": {**JELLYFIN, "search_terms": ["xenomorph", "awakening"]},
    "search_terms": ["xenomorph", "awakening"],
    "tried_terms": ["xenomorph awakening"],
    "suggestions": ["xenomorph", "awakening"],
    "other_services": [NEXTCLOUD],
}


def library(question):
    """Ask where when nothing is resolved; know Alien and Batman only."""
    resolved = question.resolved_intent
    if resolved is None and "xenomorph" in question.text:
        return ending(Outcome.CLARIFY_SEARCH, failed_search=FAILED)
    if resolved is None and question.text.startswith("cherche"):
        return ending(Outcome.CLARIFY_CONNECTOR, candidates=(JELLYFIN, NEXTCLOUD))
    if resolved is None:
        return answering(f"Réponse ordinaire à {question.text}")
    terms = " ".join(resolved["search_terms"])
    if terms.casefold() in {"alien", "batman"}:
        return answering(f"Trouvé {terms} sur {resolved['connector']}")
    failed = {**FAILED, "intent": resolved, "search_terms": resolved["search_terms"], "tried_terms": [terms]}
    return ending(Outcome.CLARIFY_SEARCH, failed_search=failed)


@pytest.fixture(autouse=True)
def known(assistant):
    assistant.script = library


async def test_cherche_batman_is_asked_about_chosen_and_found(browser, conversation, assistant):
    asked = await browser.say(conversation, "cherche batman")
    message = asked["ai_message"]
    assert (asked["outcome"], message["kind"]) == ("clarify_connector", "clarification")
    assert message["text"].startswith("Où faut-il chercher ?\n\n1. Jellyfin – films, séries\n2. Nextcloud")
    assert message["choices"] == [
        {"label": "Jellyfin – films, séries", "reply": "1"},
        {"label": "Nextcloud – fichiers", "reply": "2"},
    ]
    found = await browser.say(conversation, "1")
    assert (found["outcome"], found["ai_message"]["text"]) == ("answered", "Trouvé batman sur jellyfin")
    assert found["ai_message"]["choices"] == []
    resumed = assistant.questions[-1]
    assert (resumed.text, dict(resumed.resolved_intent)) == ("cherche batman", JELLYFIN)


async def test_nothing_found_becomes_a_suggestion_and_then_a_result(browser, conversation):
    asked = await browser.say(conversation, "cherche xenomorph awakening sur jellyfin")
    assert asked["outcome"] == "clarify_search"
    assert [each["label"] for each in asked["ai_message"]["choices"]] == [
        "Chercher « xenomorph » seul",
        "Chercher « awakening » seul",
        "Chercher sur un autre service",
    ]
    found = await browser.say(conversation, "alien")
    assert found["ai_message"]["text"] == "Trouvé alien sur jellyfin"


async def test_the_question_is_read_in_each_readers_language(browser, conversation):
    await browser.say(conversation, "cherche batman")
    browser.language = "en"
    page = await browser.good("GET", f"/v1/conversations/{conversation}/messages")
    said = page["messages"][-1]
    assert said["text"].startswith("Where should I search?\n\n1. Jellyfin – films, séries (en)")
    assert said["choices"][0] == {"label": "Jellyfin – films, séries (en)", "reply": "1"}


async def test_a_stream_tells_the_step_clarify_before_the_question(browser, conversation):
    async with browser.turn(conversation, "cherche batman") as turn:
        events = [(event.type, json.loads(event.data)) for event in await turn.rest()]
    told = [data.get("step") or data["kind"] for kind, data in events if kind in {"turn.step", "message.created"}]
    assert told[-3:] == ["clarify", "clarification", "done"]
    async with browser.turn(conversation, "1 ou 2") as turn:
        events = [(event.type, json.loads(event.data)) for event in await turn.rest()]
    told = [data.get("step") or data["kind"] for kind, data in events if kind in {"turn.step", "message.created"}]
    assert told == [None, "clarify", "clarification", "done"]
    assert events[-1][1]["outcome"] == "clarify_connector"


async def test_an_unclear_reply_is_asked_again_without_the_ai_server(browser, conversation, assistant):
    await browser.say(conversation, "cherche batman")
    again = await browser.say(conversation, "7")
    assert again["outcome"] == "clarify_connector"
    assert [each["reply"] for each in again["ai_message"]["choices"]] == ["1", "2"]
    assert len(assistant.questions) == 1
    assert (await browser.say(conversation, "Nextcloud"))["ai_message"]["text"] == "Trouvé batman sur nextcloud"


async def test_what_is_no_answer_is_an_ordinary_message(browser, conversation, assistant):
    await browser.say(conversation, "cherche batman")
    assert (await browser.say(conversation, "3 idiots"))["ai_message"]["text"] == "Réponse ordinaire à 3 idiots"
    assert (await browser.say(conversation, "1"))["ai_message"]["text"] == "Réponse ordinaire à 1"


async def test_a_sure_request_is_no_search_term(browser, conversation, assistant):
    assistant.sights["le film dune"] = Sight("connector", sure=True)
    await browser.say(conversation, "cherche xenomorph awakening sur jellyfin")
    await browser.say(conversation, "le film dune")
    assert assistant.questions[-1].resolved_intent is None
    await browser.say(conversation, "cherche xenomorph awakening sur jellyfin")
    await browser.say(conversation, "dune")
    assert assistant.questions[-1].resolved_intent["search_terms"] == ["dune"]


async def test_two_tabs_answering_at_once_run_one_search(browser, conversation, assistant):
    await browser.say(conversation, "cherche batman")
    path = f"/v1/conversations/{conversation}/messages"
    answers = await asyncio.gather(*(browser.call("POST", path, {"text": "1"}) for _ in range(4)))
    resumed = [each for each in assistant.questions if each.resolved_intent is not None]
    assert len(resumed) == 1
    assert {each.status for each in answers} <= {200, 409}


async def test_a_passing_failure_offers_the_choice_again(browser, conversation, assistant):
    await browser.say(conversation, "cherche batman")
    assistant.script = lambda question: ending(
        Outcome.FAILED, problem=Problem("provider-overloaded", "jellyfin does not answer")
    )
    failed = await browser.say(conversation, "1")
    assert failed["outcome"] == "failed"
    assert [each["reply"] for each in failed["ai_message"]["choices"]] == ["1", "2"]
    assert "1. Jellyfin" in failed["ai_message"]["text"]
    assistant.script = library
    assert (await browser.say(conversation, "1"))["ai_message"]["text"] == "Trouvé batman sur jellyfin"


async def test_after_two_fruitless_rounds_a_person_is_suggested(browser, conversation):
    await browser.say(conversation, "cherche xenomorph awakening sur jellyfin")
    second = await browser.say(conversation, "1")
    assert second["outcome"] == "clarify_search"
    third = await browser.say(conversation, "predator")
    assert (third["outcome"], third["ai_message"]["kind"]) == ("insufficient_context", "suggest_human")
    assert third["ai_message"]["choices"] == []


async def test_a_person_who_takes_over_is_not_asked_back(browser, conversation, assistant):
    await browser.say(conversation, "cherche batman")
    await browser.good("POST", f"/v1/conversations/{conversation}/escalate")
    assert (await browser.say(conversation, "1"))["outcome"] == "handed_over"
    assert len(assistant.questions) == 1


async def test_questions_and_their_ends_are_counted(browser, conversation, services):
    await browser.say(conversation, "cherche batman")
    await browser.say(conversation, "1 ou 2")
    await browser.say(conversation, "2")
    counted = services.metrics.registry.get_sample_value
    name = "passeur_gateway_clarifications_total"
    assert [
        counted(name, {"kind": "clarify_connector", "event": event}) for event in ("asked", "asked_again", "selected")
    ] == [1.0, 1.0, 1.0]
