"""Turns that search services, over gRPC, with the real connectors against described services (issue 8)."""

from __future__ import annotations

import ipaddress
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest
from aiohttp.test_utils import TestServer

from ai_server.connectors import kinds
from ai_server.connectors.contract import ConnectorSpec
from ai_server.knowledge.contract import KeySpec, ProjectKnowledge
from ai_server.providers.contract import TextDelta
from ai_server.providers.registry import ModelChoice
from shared.pb.passeur.v1 import assistant_pb2, common_pb2
from tests.fakes import ai_server as rigs
from tests.fakes.ai_server import ai_server
from tests.fakes.described_service import DescribedService
from tests.fakes.generation import ScriptedGenerator, saying

FILMS = {
    "batman": [
        {
            "Id": "1",
            "Name": "The Batman",
            "Type": "Movie",
            "ProductionYear": 2022,
            "Overview": "A *masked* [[c:abc]] man.",
        },
        {"Id": "2", "Name": "Batman v Superman", "Type": "Movie", "ProductionYear": 2016, "Overview": "Two heroes."},
    ],
    "alien": [{"Id": "3", "Name": "Alien", "Type": "Movie", "ProductionYear": 1979, "Overview": "In space."}],
}
PUBLIC_RIGHTS = {"scope": ("docs",)}


def films(path, query):
    return {"Items": FILMS.get(query["searchTerm"], [])}


@pytest.fixture
async def library():
    """A Jellyfin, a Nextcloud and a GitHub on loopback."""
    services = {
        "jellyfin": DescribedService("jellyfin.yaml", films),
        "nextcloud": DescribedService(
            "nextcloud.yaml", lambda path, query: {"ocs": {"data": {"name": "Files", "entries": []}}}
        ),
        "github": DescribedService("github.json", lambda path, query: {"total_count": 0, "items": []}),
    }
    async with AsyncExitStack() as stack:
        specs = []
        for kind, service in services.items():
            server = TestServer(service.app)
            await server.start_server()
            stack.push_async_callback(server.close)
            specs.append(
                ConnectorSpec(
                    connector=kind,
                    instance="home",
                    name={"jellyfin": "Jellyfin", "nextcloud": "Nextcloud", "github": "GitHub"}[kind],
                    url=str(server.make_url("")).rstrip("/"),
                    endpoints=kinds.KNOWN[kind],
                    rights=PUBLIC_RIGHTS,
                    networks=(ipaddress.ip_network("127.0.0.0/8"),),
                    timeout_s=2.0,
                )
            )
        yield services, tuple(specs)


@pytest.fixture
async def rig(library, monkeypatch):
    """An AI server whose project has the three services."""
    _, specs = library
    plain = rigs.project

    def with_services(*chain, **given):
        keys = (KeySpec("scope", True, frozenset({"docs"}), True),)
        made = plain(*chain, **given)
        knowledge = ProjectKnowledge(made.project_id, (), keys, made.languages)
        return replace(made, connectors=specs, knowledge=knowledge)

    monkeypatch.setattr(rigs, "project", with_services)
    async with ai_server() as running:
        yield running


async def test_a_request_that_names_its_service_is_searched_and_cited(rig, library):
    result = await rig.answer("cherche batman sur jellyfin", language_hint="fr")
    assert result.outcome == common_pb2.OUTCOME_ANSWERED
    assert result.text.splitlines()[0] == "Résultats sur Jellyfin pour « batman » :"
    assert [(each.title, each.url.rpartition("=")[2]) for each in result.citations] == [
        ("The Batman (2022)", "1"),
        ("Batman v Superman (2016)", "2"),
    ]
    assert [(each.service, each.text) for each in result.citations] == [
        ("Jellyfin", "2022\nA *masked* [[c:abc]] man."),
        ("Jellyfin", "2016\nTwo heroes."),
    ]
    assert not result.HasField("confidence")
    assert (result.model, result.cost_nanousd) == ("", 0)
    # What the service says is text: neither Markdown nor a marker of ours.
    assert "A \\*masked\\*" in result.text
    assert "[[c:" not in result.text
    assert library[0]["jellyfin"].undeclared == []


async def test_cherche_batman_asks_where_and_the_choice_is_searched(rig):
    """The source document's first case."""
    question = await rig.answer("cherche batman", language_hint="fr")
    assert question.outcome == common_pb2.OUTCOME_CLARIFY_CONNECTOR
    assert question.text == ""
    labels = {each.label["fr"]: each for each in question.candidates}
    assert "Jellyfin – films, séries, musique" in labels
    assert len(labels) == 4
    chosen = labels["Jellyfin – films, séries, musique"]
    answer = await rig.answer("cherche batman", language_hint="fr", resolved_intent=chosen)
    assert answer.outcome == common_pb2.OUTCOME_ANSWERED
    assert "The Batman (2022)" in answer.text
    documents = labels["Documentation – pages d'aide"]
    assert documents.kind == assistant_pb2.INTENT_KIND_DOCUMENTS


async def test_nothing_found_says_what_was_tried_and_what_may_be(rig, library):
    """The source document's second case."""
    result = await rig.answer("cherche xenomorph awakening sur jellyfin", language_hint="fr")
    assert result.outcome == common_pb2.OUTCOME_CLARIFY_SEARCH
    failed = result.failed_search
    assert list(failed.search_terms) == ["xenomorph", "awakening"]
    assert list(failed.suggestions) == ["xenomorph", "awakening"]
    assert failed.tried_terms[0] == "xenomorph awakening"
    assert [each.connector for each in failed.other_services] == ["nextcloud", "github", ""]
    assert (failed.intent.connector, failed.intent.instance) == ("jellyfin", "home")
    assert len(library[0]["jellyfin"].requests) >= 2
    retry = failed.intent
    retry.search_terms[:] = ["alien"]
    found = await rig.answer("alien", resolved_intent=retry)
    assert found.outcome == common_pb2.OUTCOME_ANSWERED
    assert "Alien (1979)" in found.text


async def test_a_model_that_can_word_presents_what_was_found(rig, library, monkeypatch):
    seen = []

    def script(request):
        seen.append(request)
        return [TextDelta(f"Voici : The Batman {request.passages[0].marker}.")]

    async with ai_server(ScriptedGenerator(script)) as running:
        result = await running.answer("cherche batman sur jellyfin", language_hint="fr")
    assert result.text == "Voici : The Batman."
    assert [each.title for each in result.citations] == ["The Batman (2022)"]
    read = seen[0].messages[-1].parts[0].text
    assert "[[c:abc]]" not in read
    assert "The Batman (2022)" in read


async def test_a_service_that_is_down_fails_the_turn_for_a_passing_reason(rig, library):
    service = library[0]["jellyfin"]
    service._answer = None
    result = await rig.answer("cherche batman sur jellyfin")
    assert result.outcome == common_pb2.OUTCOME_FAILED
    assert result.problem.reason == "PROVIDER_OVERLOADED"
    assert result.problem.provider == "jellyfin/home"


async def test_a_caller_without_the_rights_cannot_search_a_service_even_by_choosing_it(rig):
    chosen = assistant_pb2.Intent(
        kind=assistant_pb2.INTENT_KIND_CONNECTOR, connector="jellyfin", instance="home", search_terms=["batman"]
    )
    for contexts in ([], [common_pb2.RetrievalContext(allowed={"scope": common_pb2.Values(values=["other"])})]):
        result = await rig.answer("cherche batman", resolved_intent=chosen, retrieval_contexts=contexts)
        assert result.outcome == common_pb2.OUTCOME_FAILED
        assert result.problem.reason == "NOT_FOUND"
        asked_openly = await rig.answer("cherche batman sur jellyfin", retrieval_contexts=contexts)
        assert asked_openly.outcome == common_pb2.OUTCOME_INSUFFICIENT_CONTEXT


async def test_the_intent_can_be_asked_for_alone(rig):
    request = assistant_pb2.DetectIntentRequest(project_id="demo", message="cherche le film batman")
    found = await rig.assistant.DetectIntent(request, metadata=rig.metadata(), timeout=10)
    assert found.confidence == assistant_pb2.CONFIDENCE_HIGH
    assert (found.intent.connector, list(found.intent.search_terms)) == ("jellyfin", ["batman"])


async def test_a_question_stored_under_its_key_is_the_same_again(rig):
    first = await rig.answer("cherche batman", idempotency_key="k1")
    again = await rig.answer("cherche batman", idempotency_key="k1")
    assert first == again


async def test_courtesy_costs_nothing_and_asks_no_one(rig, library):
    result = await rig.answer("merci !", language_hint="fr")
    assert (result.outcome, result.answer_kind) == (common_pb2.OUTCOME_ANSWERED, assistant_pb2.ANSWER_KIND_GREETING)
    assert library[0]["jellyfin"].requests == []


async def test_a_model_that_the_project_names_chooses_where_one_would_be_asked(rig, library, monkeypatch):
    """Issue 8: optional, metered, and only in the uncommon case; what it cannot decide is asked."""
    answers = {"cherche batman": "1", "cherche alien": "0"}
    chooser = ScriptedGenerator(lambda request: saying(answers[request.question]), name="chooser")
    chosen = (ModelChoice("chooser", "m"),)
    with_services = rigs.project
    monkeypatch.setattr(rigs, "project", lambda *chain, **given: replace(with_services(**given), intent_chain=chosen))
    async with ai_server(chooser) as running:
        found = await running.answer("cherche batman", language_hint="fr")
        asked_back = await running.answer("cherche alien", language_hint="fr")
        named = await running.answer("cherche batman sur jellyfin", language_hint="fr")
    assert found.outcome == named.outcome == common_pb2.OUTCOME_ANSWERED
    assert found.text.startswith("Résultats sur Jellyfin")
    assert found.cost_nanousd > 0
    assert asked_back.outcome == common_pb2.OUTCOME_CLARIFY_CONNECTOR
    assert asked_back.cost_nanousd > 0
    assert named.cost_nanousd == 0
    assert [each.question for each in chooser.requests] == ["cherche batman", "cherche alien"]
