"""Greetings, languages, and what a question leans on, in the three languages that ship."""

from __future__ import annotations

import gzip
import json
import os
from itertools import islice
from pathlib import Path

import pytest

from ai_server.answering.contract import HistoryMessage
from ai_server.answering.greeting import is_greeting
from ai_server.answering.language import turn_language
from ai_server.answering.query import LONGEST_QUERY, leans, search_query
from ai_server.knowledge.language import told

THREE = ("fr", "en", "es")
DATA = Path(os.environ.get("PASSEUR_EVAL_DATA", ""))


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
        ("export data", "fr", "fr"),
        ("export data", "de", "en"),
        ("How do I export all of my data from this page?", "fr", "en"),
        ("What is economy mode?", "fr", "en"),
        ("Comment installer Passeur ?", "en", "fr"),
        ("¿Cómo instalarlo?", "fr", "es"),
        ("¿Hay cookies?", "fr", "es"),
        ("Gitane", "en", "en"),
        ("economy mode", "", "en"),
        ("export", "", "fr"),
    ],
)
def test_the_language_is_the_questions_then_the_hint_then_the_likeliest(question, hint, expected):
    assert turn_language(question, hint, (), THREE) == expected


@pytest.mark.parametrize("hint", ["", "fr"])
def test_a_question_that_does_not_tell_takes_the_conversations_language(hint):
    history = [HistoryMessage("user", "¿Cómo puedo exportar todos mis datos?"), HistoryMessage("ai", "Así.")]
    assert turn_language("PDF ?", hint, history, THREE) == "es"


@pytest.mark.service("data")
@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("retrieval/piaf_fr.questions.jsonl.gz", "fr"),
        ("retrieval/squad2_en.questions.jsonl.gz", "en"),
        ("intents/clinc150_en.jsonl.gz", "en"),
    ],
)
def test_the_first_words_of_real_messages_tell_their_language_or_nothing(name, language):
    """Provenance: a newcomer's report; real questions cut to their first four words."""
    with gzip.open(DATA / name, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in islice(file, 600)]
    found = [told(" ".join((row.get("question") or row["text"]).split()[:4]), THREE) for row in rows]
    certain = [each.language for each in found if each.certain]
    assert len(certain) >= 0.93 * len(found)
    assert certain.count(language) >= 0.998 * len(certain)
