"""The pure rules of a conversation."""

from datetime import UTC, datetime

import pytest

from gateway.conversation.history import CHARACTER_LIMIT, MESSAGE_LIMIT, TEXT_LIMIT, select_history
from gateway.conversation.model import Kind, Message, Role, ServerText
from gateway.conversation.suggestion import suggest
from gateway.conversation.texts import CATALOGUES, preferred, render
from gateway.conversation.title import LIMIT, title_of

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def said(position, role=Role.USER, text="bonjour", kind=None, server_text=None):
    return Message(f"m{position}", "c", position, role, kind, text, NOW, server_text)


def test_history_is_what_people_and_models_said_and_never_what_the_server_words():
    """DESIGN.md section 4: texts that the server writes never enter the model's history."""
    messages = [
        said(1, text="q1"),
        said(2, Role.AI, "a1", Kind.ANSWER),
        said(3, text="q2"),
        said(4, Role.AI, "", Kind.REPHRASE, ServerText("support_ai_clarify")),
        said(5, Role.SYSTEM, "ticket"),
        said(6, Role.ADMIN, "a person"),
        said(7, Role.AI, "hello", Kind.GREETING),
    ]
    assert select_history(messages, 0) == (("user", "q1"), ("ai", "a1"), ("user", "q2"))


def test_history_begins_after_the_boundary():
    assert select_history([said(1, text="old"), said(2, text="new")], 1) == (("user", "new"),)


def test_history_keeps_the_newest_messages_within_its_bounds():
    many = [said(place, text=str(place)) for place in range(1, 100)]
    chosen = select_history(many, 0)
    assert [text for _, text in chosen] == [str(place) for place in range(100 - MESSAGE_LIMIT, 100)]


def test_history_stays_within_its_characters():
    long = "x" * (TEXT_LIMIT + 5)
    chosen = select_history([said(1, text=long), said(2, text=long)], 0)
    assert [len(text) for _, text in chosen] == [TEXT_LIMIT]
    assert sum(len(text) for _, text in chosen) <= CHARACTER_LIMIT


def test_the_third_insufficient_question_in_a_row_suggests_a_person():
    """DESIGN.md section 4: the first two times the AI asks to rephrase, the third time it suggests a human."""
    kinds, count = [], 0
    for _ in range(5):
        suggestion = suggest(count)
        kinds.append(suggestion.kind)
        count = suggestion.insufficient_count
    assert kinds == [Kind.REPHRASE, Kind.REPHRASE, *[Kind.SUGGEST_HUMAN] * 3]


def test_every_language_has_every_text_with_the_same_parameters():
    from string import Formatter

    def shape(catalogue):
        return {key: {name for _, name, _, _ in Formatter().parse(text) if name} for key, text in catalogue.items()}

    shapes = {language: shape(catalogue) for language, catalogue in CATALOGUES.items()}
    assert set(shapes) == {"fr", "en", "es"}
    assert shapes["fr"] == shapes["en"] == shapes["es"]


def test_a_server_text_is_rendered_for_its_reader():
    text = ServerText("support_notice_stopped")
    assert [render(text, language)[:7] for language in ("fr-CA", "en", "es", "xx")] == [
        "Réponse", "Answer ", "Respues", "Answer ",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("accepted", "chosen"),
    [
        ("es-MX,en;q=0.8", "es"),
        ("de, en;q=0.5, es;q=0.9", "es"),
        ("de", "fr"),
        ("", "fr"),
        ("en;q=0, fr;q=0.1", "fr"),
        ("en;q=abc, es", "es"),
        (";;;,,,q=", "fr"),
    ],
)
def test_the_reader_language_follows_accept_language(accepted, chosen):
    """RFC 9110 §12.5.4."""
    assert preferred(accepted, ("fr", "en", "es"), "fr") == chosen


def test_a_title_is_one_short_line_cut_at_a_word():
    title = title_of("Comment\n\nfaire   " + "très " * 40)
    assert title.startswith("Comment faire très")
    assert len(title) <= LIMIT
    assert title.endswith("très…")


def test_a_title_without_spaces_is_cut_too():
    assert title_of("x" * 200) == "x" * (LIMIT - 1) + "…"
