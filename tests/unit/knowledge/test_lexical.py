"""Words: folding, stems, shares."""

from __future__ import annotations

import numpy as np
import pytest

from ai_server.knowledge import language
from ai_server.knowledge.lexical import LexicalIndex, terms


@pytest.mark.parametrize(
    ("text", "code", "expected"),
    [
        ("Où sont les écoles fermées ?", "fr", ["ecol", "ferm"]),
        ("How do I back up the databases?", "en", ["back", "databas"]),
        ("¿Cómo se instalan las aplicaciones?", "es", ["instal", "aplic"]),
        ("STRASSE straße", "de", ["strass", "strass"]),
        ("the of and", "en", ["the", "of", "and"]),
        ("… !?", "fr", []),
    ],
)
def test_text_becomes_folded_stems_without_function_words(text, code, expected):
    assert terms(text, code) == expected


def test_accents_and_number_of_words_make_no_difference():
    assert terms("médecin généraliste", "fr") == terms("MEDECINS GENERALISTES", "fr")


def test_shares_are_between_nothing_and_one_and_coverage_is_weighted_by_rarity():
    index = LexicalIndex([["common", "rare"], ["common"], ["common", "other"]])
    shares, covered = index.match(["common", "rare"])
    assert np.all((shares >= 0) & (shares <= 1))
    assert covered[0] == pytest.approx(1.0)
    assert covered[1] == covered[2] < 0.2
    assert shares[0] > shares[1]


def test_a_word_that_no_passage_holds_weighs_as_the_rarest():
    index = LexicalIndex([["a"], ["b"]])
    _, covered = index.match(["a", "unheard"])
    assert covered[0] < 0.5


def test_nothing_indexed_or_nothing_asked_scores_nothing():
    assert [list(each) for each in LexicalIndex([]).match(["a"])] == [[], []]
    assert [list(each) for each in LexicalIndex([[], ["a"]]).match([])] == [[0, 0], [0, 0]]
    assert [list(each) for each in LexicalIndex([[]]).match(["a"])] == [[0], [0]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How do I install it on Docker?", "en"),
        ("¿Cómo se instala la base de datos?", "es"),
        ("Comment ça marche chez vous", "fr"),
        ("et sur mobile", "es"),
        ("", "es"),
    ],
)
def test_the_language_is_told_from_four_words_on(text, expected):
    assert language.detect(text, ("fr", "en", "es"), "es") == expected
