"""Results come back as they were stored, and bodies are told apart."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from ai_server.answering.codec import answer_body, body_digest, decode_result, encode_result
from ai_server.answering.contract import (
    AnswerInput,
    AnswerResult,
    Citation,
    FailedSearch,
    HistoryMessage,
    Image,
    Intent,
    IntentKind,
    Outcome,
    Problem,
)
from shared.usage import Usage

INTENT = Intent(IntentKind.CONNECTOR, "jellyfin", search_terms=("dune",), label={"fr": "films"}, score=0.5)
FULL = AnswerResult(
    outcome=Outcome.TRUNCATED,
    turn_id="t",
    text="Texte avec “guillemets” et 👩‍👩‍👧\n",
    language="fr",
    citations=(Citation("t.1", "chunk", "Titre", None, "mots", 4), Citation("t.2", "other", "T", "https://x", "q", 9)),
    candidates=(INTENT,),
    failed_search=FailedSearch(INTENT, ("a",), ("b",), ("c",), (INTENT,)),
    confidence=0.25,
    model="m",
    provider="p",
    economy=True,
    usage=Usage(input=3, units={"searches": 2}),
    cost_nanousd=None,
    estimated=True,
    greeting=True,
    problem=Problem("BUDGET_EXHAUSTED", "spent", datetime(2026, 12, 1, tzinfo=UTC), "p"),
    duration_ms=12,
)
ASKED = AnswerInput(
    "k",
    "demo",
    "documents",
    "u",
    "Question ?",
    history=(HistoryMessage("user", "h"),),
    image=Image("image/png", b"x"),
    contexts=({"scope": frozenset({"a", "b"}), "audience": frozenset({"public"})},),
    resolved_intent=INTENT,
)


@pytest.mark.parametrize("result", [FULL, AnswerResult(Outcome.ANSWERED, "t")])
def test_a_stored_result_comes_back_equal(result):
    back = decode_result(encode_result(result))
    assert replace(back, usage=Usage()) == replace(result, usage=Usage())
    assert (back.usage.input, dict(back.usage.units)) == (result.usage.input, dict(result.usage.units))


def test_equal_bodies_have_equal_digests_whatever_the_order_of_their_sets():
    same = replace(
        ASKED, idempotency_key="other", contexts=({"audience": frozenset({"public"}), "scope": frozenset({"b", "a"})},)
    )
    assert body_digest("answer", answer_body(same)) == body_digest("answer", answer_body(ASKED))


@pytest.mark.parametrize(
    "change",
    [
        {"question": "Question"},
        {"history": ()},
        {"image": Image("image/png", b"y")},
        {"contexts": ()},
        {"detached": True},
        {"temperature": 0.0},
        {"budget_user": "anonymous"},
        {"resolved_intent": None},
        {"attached_texts": (("a", "b"),)},
    ],
)
def test_any_difference_in_a_body_changes_its_digest(change):
    changed = replace(ASKED, **change)
    assert body_digest("answer", answer_body(changed)) != body_digest("answer", answer_body(ASKED))
    assert body_digest("ask", answer_body(ASKED)) != body_digest("answer", answer_body(ASKED))
