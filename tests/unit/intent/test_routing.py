"""Intent detection: silent only when sure, one question otherwise (issue 8; DESIGN section 3, step 2)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ai_server.answering.contract import Confidence, HistoryMessage, IntentKind, Mode
from ai_server.answering.intent import RoutingDetector, visible
from ai_server.connectors.contract import Endpoint
from tests.unit.intent.requests import MEMBERS, SERVICES, assistant, project, rows, said, service


@pytest.fixture(scope="module")
def detector():
    return RoutingDetector()


async def detect(detector, message, *, services=SERVICES, mode=Mode.DOCUMENTS, history=(), contexts=None):
    return await detector.detect(project(services), assistant(mode), message, history, "fr", contexts=contexts)


async def test_no_request_of_the_table_goes_silently_to_a_wrong_place(detector):
    wrong = [
        (row.message, answer)
        for row in rows()
        if (answer := said(await detect(detector, row.message))) not in {row.expected, "ask"}
    ]
    assert wrong == []


async def test_at_most_one_request_in_twenty_is_asked_without_need(detector):
    table = [row for row in rows() if row.expected != "ask"]
    asked = [row.message for row in table if said(await detect(detector, row.message)) == "ask"]
    assert len(asked) <= len(table) // 20, asked


async def test_the_terms_are_what_is_to_be_found(detector):
    wrong = [
        (row.message, terms)
        for row in rows()
        if row.terms and (terms := " ".join((await detect(detector, row.message)).intent.search_terms)) != row.terms
    ]
    assert wrong == []


async def test_cherche_batman_offers_every_service_with_what_it_holds(detector):
    """The source document's first case."""
    found = await detect(detector, "cherche batman")
    assert found.confidence is Confidence.MEDIUM
    assert {each.label["fr"] for each in found.candidates} == {
        "Jellyfin – films, séries, musique",
        "Nextcloud – fichiers, documents",
        "GitHub – dépôts, tickets, code",
        "Documentation – pages d'aide",
    }
    services = [each for each in found.candidates if each.kind is IntentKind.CONNECTOR]
    assert {each.search_terms for each in services} == {("batman",)}


async def test_without_services_everything_is_asked_of_the_documents(detector):
    found = await detect(detector, "cherche batman", services=())
    assert (found.intent.kind, found.confidence) == (IntentKind.DOCUMENTS, Confidence.HIGH)


STOCK = service(
    "openapi",
    "stock",
    name="Stock du magasin",
    endpoints=(Endpoint("bikes", {"fr": "vélos en stock", "en": "bikes in stock"}, {"disponible": {}}),),
)


@pytest.mark.parametrize(
    ("message", "terms"),
    [
        ("Stock du magasin : Gitane", "Gitane"),
        ("le stock du magasin: Gitane bleu", "Gitane bleu"),
        ("Gitane au stock du magasin", "Gitane"),
        ("Peugeot dans le stock du magasin ?", "Peugeot"),
        ("dans le stock du magasin, Gitane", "Gitane"),
        ("vélos en stock", "vélos en stock"),
        ("Les vélos en stock ?", "vélos en stock"),
        ("vélos en stock Gitane", "Gitane"),
        ("Gitane, vélos en stock", "Gitane"),
        ("bikes in stock: Peugeot", "Peugeot"),
        ("cherche des vélos en stock Gitane", "Gitane"),
        ("Cherche Gitane dans le stock du magasin", "Gitane"),
    ],
)
@pytest.mark.parametrize("services", [(STOCK,), (*SERVICES, STOCK)], ids=["alone", "among others"])
async def test_a_service_named_as_the_place_or_by_what_it_alone_holds_is_searched_at_once(
    detector, message, terms, services
):
    """A newcomer's report: each of these but the last was asked about."""
    found = await detect(detector, message, services=services)
    assert (said(found), " ".join(found.intent.search_terms)) == ("openapi", terms)


@pytest.mark.parametrize(
    "message",
    [
        *("Le stock du magasin est en panne", "Erreur sur le stock du magasin", "comment marche le stock du magasin ?"),
        *("Je ne vois rien dans le stock du magasin", "problème avec le stock du magasin", "Stock du magasin : aide"),
        *("est-ce que les vélos en stock sont garantis ?", "pourquoi les vélos en stock sont-ils chers ?"),
        *("Jellyfin : je ne peux pas me connecter", "login on jellyfin", "jellyfin lent", "slow on nextcloud"),
    ],
)
async def test_a_sentence_about_a_service_is_never_searched_in_it_silently(detector, message):
    assert said(await detect(detector, message, services=(*SERVICES, STOCK))) in {"ask", "documents"}


async def test_a_word_that_points_at_a_service_asks_rather_than_finds_nothing(detector):
    """A newcomer's report: "Gitane disponible ?" was looked for in the documents alone."""
    found = await detect(detector, "Peugeot disponible ?", services=(STOCK,))
    assert [each.kind for each in found.candidates] == [IntentKind.CONNECTOR, IntentKind.DOCUMENTS]
    assert said(found) == "ask"
    assert said(await detect(detector, "Quand est-ce disponible ?", services=(STOCK,))) == "documents"


async def test_a_kind_that_two_services_hold_is_asked_about(detector):
    twin = replace(STOCK, instance="depot", name="Dépôt")
    found = await detect(detector, "vélos en stock Gitane", services=(STOCK, twin))
    assert (said(found), {each.instance for each in found.candidates}) == ("ask", {"stock", "depot"})


async def test_a_single_service_of_a_chat_is_searched_without_a_question(detector):
    found = await detect(detector, "cherche batman", services=SERVICES[:1], mode=Mode.CHAT)
    assert (found.intent.connector, found.confidence) == ("jellyfin", Confidence.HIGH)


async def test_two_instances_of_one_type_are_asked_about_and_told_apart_by_name(detector):
    twins = (
        service("nextcloud", "famille", name="Nextcloud famille"),
        service("nextcloud", "travail", name="Nextcloud travail"),
    )
    asked = await detect(detector, "cherche le fichier budget", services=twins)
    named = await detect(detector, "cherche budget sur nextcloud travail", services=twins)
    shared = await detect(detector, "cherche budget sur nextcloud", services=twins)
    assert (asked.confidence, len(asked.candidates)) == (Confidence.MEDIUM, 2)
    assert (named.confidence, named.intent.instance) == (Confidence.HIGH, "travail")
    assert (shared.confidence, [each.instance for each in shared.candidates]) == (
        Confidence.MEDIUM,
        ["famille", "travail"],
    )


async def test_who_may_not_read_a_service_does_not_learn_of_it(detector):
    services = (service("jellyfin", "home"), service("nextcloud", "secret", rights=MEMBERS))
    public = ({"audience": frozenset({"public"})},)
    found = await detect(detector, "cherche budget sur nextcloud", services=services, contexts=public)
    assert all(each.connector != "nextcloud" for each in found.candidates)
    assert [spec.key for spec in visible(project(services), public)] == ["jellyfin/home"]
    assert visible(project(services), ()) == ()
    assert len(visible(project(services), None)) == 2


async def test_what_follows_a_named_search_goes_to_the_same_service(detector):
    history = (HistoryMessage("user", "cherche alien sur jellyfin"), HistoryMessage("ai", "Alien (1979)"))
    found = await detect(detector, "et predator ?", history=history)
    assert (said(found), found.intent.search_terms) == ("jellyfin", ("predator",))
    assert said(await detect(detector, "et predator ?")) == "documents"
    asked = (HistoryMessage("user", "comment payer ?"),)
    assert said(await detect(detector, "et sur mobile ?", history=asked)) == "documents"


async def test_the_kind_of_thing_narrows_the_search(detector):
    assert (await detect(detector, "cherche le film batman")).intent.query_parameters == {"types": "Movie"}
    assert (await detect(detector, "cherche les issues du login")).intent.endpoint == "issues"


@pytest.mark.parametrize(
    "message", ["merci", "Merci beaucoup !", "ok", "laisse tomber", "never mind", "gracias", "bye"]
)
async def test_courtesy_asks_for_nothing(detector, message):
    assert (await detect(detector, message)).intent.kind is IntentKind.CONVERSATION


@pytest.mark.parametrize("message", ["", "   ", "?", "cherche", "x" * 20_000, "\ud800", "1", "sur jellyfin", "🎬" * 50])
async def test_odd_messages_do_not_fail(detector, message):
    await detect(detector, message)


async def test_an_openapi_service_is_known_by_its_declared_words(detector):
    wiki = service("openapi", "wiki", name="Wiki", endpoints=SERVICES[1].endpoints)
    found = await detect(detector, "cherche procédure sur le wiki", services=(*SERVICES, wiki))
    assert (found.intent.connector, found.confidence) == ("openapi", Confidence.HIGH)
