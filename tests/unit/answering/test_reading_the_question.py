"""Greetings, languages, and what a question leans on, in the three languages that ship."""

from __future__ import annotations

import pytest

from ai_server.answering.contract import HistoryMessage
from ai_server.answering.greeting import is_greeting
from ai_server.answering.language import turn_language
from ai_server.answering.query import LONGEST_QUERY, leans, search_query

THREE = ("fr", "en", "es")


@pytest.mark.parametrize(
    "text",
    [
        *("Bonjour", "bonjour !", "Salut, ça va ?", "Coucou tout le monde", "BONSOIR", "Rebonjour"),
        *("hi", "Hello!", "Hey there", "good morning", "Hi, how are you?"),
        *("Hola", "¡Buenos días!", "hola, ¿qué tal?", "Buenas tardes"),
    ],
)
def test_greetings_are_recognised(text):
    assert is_greeting(text)


@pytest.mark.parametrize(
    "text",
    [
        *("Bonjour, comment payer ?", "Salut les prix ont changé ?", "history", "hi-fi", "Hello world program"),
        *("hola quiero exportar", "", "?", "good", "bon", "Hey, the export fails", "bonjour " * 20),
    ],
)
def test_a_greeting_with_a_question_is_a_question(text):
    assert not is_greeting(text)


@pytest.mark.parametrize(
    "text",
    [
        *("et sur mobile ?", "Et en PDF ?", "pourquoi ?", "et si ça échoue ?", "c'est payant, ça ?", "prix"),
        *("and on mobile?", "what about Linux?", "why?", "how do I undo it?", "is that free?"),
        *("¿y en el móvil?", "¿por qué?", "¿y eso cuánto cuesta?"),
    ],
)
def test_a_question_that_leans_is_recognised(text):
    assert leans(text)


@pytest.mark.parametrize(
    "text",
    [
        *("Comment exporter mes données ?", "mot de passe oublié", "Quelles langues sont prises en charge ?"),
        *("How do I export my data?", "reset password", "Which formats can I import into the wiki?"),
        *("¿Cómo exporto mis datos?", "restablecer contraseña"),
    ],
)
def test_a_question_that_stands_alone_is_searched_as_it_is(text):
    history = [HistoryMessage("user", "Something else entirely, about billing")]
    assert search_query(text, history) == text


def test_a_chain_of_follow_ups_keeps_the_subject():
    history = [
        HistoryMessage("user", "Comment exporter mes données ?"),
        HistoryMessage("ai", "Dans les réglages."),
        HistoryMessage("user", "et sur mobile ?"),
        HistoryMessage("ai", "Aussi."),
    ]
    assert search_query("et en PDF ?", history) == "Comment exporter mes données ? et en PDF ?"


def test_a_follow_up_to_nothing_is_searched_as_it_is_and_queries_are_bounded():
    assert search_query("et sur mobile ?", []) == "et sur mobile ?"
    assert (
        len(search_query("et " + "x" * 5_000, [HistoryMessage("user", "Une longue question " * 500)])) == LONGEST_QUERY
    )


@pytest.mark.parametrize(
    ("question", "hint", "expected"),
    [
        ("How do I export all of my data?", "", "en"),
        ("Comment puis-je exporter toutes mes données ?", "", "fr"),
        ("¿Cómo puedo exportar todos mis datos?", "", "es"),
        ("export", "es", "es"),
        ("export", "es-MX", "es"),
        ("export data", "de", "fr"),
        ("How do I export all of my data from this page?", "fr", "en"),
        ("export", "", "fr"),
    ],
)
def test_the_language_is_the_questions_then_the_hint_then_the_projects(question, hint, expected):
    assert turn_language(question, hint, (), THREE) == expected


def test_a_short_question_takes_the_conversations_language():
    history = [HistoryMessage("user", "¿Cómo puedo exportar todos mis datos?"), HistoryMessage("ai", "Así.")]
    assert turn_language("PDF ?", "", history, THREE) == "es"
