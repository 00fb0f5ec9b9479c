"""What a result becomes in the conversation."""

from datetime import UTC, datetime

import pytest

from gateway.assistant.contract import Citation, Outcome, Problem, Result
from gateway.conversation.model import Kind
from gateway.turns.reply import compose, failure, notice_key
from shared.errors import BudgetExhausted, NotReady

RESETS = datetime(2026, 12, 1, tzinfo=UTC)


def test_an_answer_is_said_with_its_citations_and_resets_the_count():
    cited = Citation("c1", "chunk", "Title", None, "quote", 3)
    reply = compose(Result(Outcome.ANSWERED, "Oui.", "fr", citations=(cited,), cost_nanousd=7), 2)
    assert (reply.kind, reply.text, reply.insufficient_count) == (Kind.ANSWER, "Oui.", 0)
    assert reply.citations[0].chunk_id == "chunk"
    assert reply.facts.cost_nanousd == 7
    assert reply.server_text is None


def test_a_greeting_does_not_reset_the_count():
    reply = compose(Result(Outcome.ANSWERED, "Bonjour !", "fr", greeting=True), 2)
    assert (reply.kind, reply.insufficient_count) == (Kind.GREETING, 2)


def test_a_cut_answer_keeps_its_text_and_says_that_it_is_not_whole():
    reply = compose(Result(Outcome.TRUNCATED, "Il était", "fr"), 1)
    assert (reply.kind, reply.text, reply.insufficient_count) == (Kind.ANSWER, "Il était", 1)
    assert reply.server_text.key == "support_notice_truncated"


@pytest.mark.parametrize(
    ("outcome", "slug", "key"),
    [
        (Outcome.FAILED, "not-ready", "support_notice_not_ready"),
        (Outcome.FAILED, "budget-exhausted", "support_notice_budget_exhausted"),
        (Outcome.FAILED, "provider-cut", "support_notice_provider"),
        (Outcome.FAILED, "something-new", "support_notice_failed"),
        (Outcome.FAILED, None, "support_notice_failed"),
        (Outcome.STOPPED, None, "support_notice_stopped"),
        (Outcome.INTERRUPTED, None, "support_notice_interrupted"),
    ],
)
def test_a_turn_without_text_says_why(outcome, slug, key):
    problem = None if slug is None else Problem(slug, "for operators")
    result = Result(outcome, "  ", "fr", problem=problem)
    assert notice_key(result) == key
    reply = compose(result, 0)
    assert (reply.kind, reply.text, reply.server_text.key) == (Kind.NOTICE, "", key)


def test_what_operators_read_is_not_told_to_visitors():
    reply = compose(failure(NotReady("connect to 10.0.0.7 failed"), "", "fr"), 0)
    assert "10.0.0.7" not in repr(reply)


def test_a_spent_budget_tells_when_it_opens_again():
    reply = compose(failure(BudgetExhausted("spent", RESETS), "", "fr"), 0)
    assert reply.problem == {
        "type": "budget-exhausted",
        "text_key": "support_notice_budget_exhausted",
        "resets_at": RESETS.isoformat(),
    }
