"""Words: folding, stems, shares."""

from __future__ import annotations

import random

import bm25s
import numpy as np
import pytest

from ai_server.knowledge import language
from ai_server.knowledge.lexical import NEAR_SHARE, NEAR_TERMS, LexicalIndex, numbered, terms


def index_of(*documents: list[str]) -> LexicalIndex:
    words = [numbered(document) for document in documents]
    return LexicalIndex(
        np.concatenate([*words, np.zeros(0, np.int32)]), np.array([len(each) for each in words], np.int64)
    )


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
    index = index_of(["common", "rare"], ["common"], ["common", "other"])
    shares, covered = index.match(["common", "rare"])
    assert np.all((shares >= 0) & (shares <= 1))
    assert covered[0] == pytest.approx(1.0)
    assert covered[1] == covered[2] < 0.2
    assert shares[0] > shares[1]


def test_scores_are_those_of_a_library_that_only_scores():
    """bm25s is the oracle: the same corpus, the same parameters, every term of the corpus asked."""
    dice = random.Random(7)
    words = [f"w{number}" for number in range(60)]
    documents = [dice.choices(words, k=dice.randrange(0, 40)) for _ in range(80)]
    vocabulary = {word: number for number, word in enumerate(words)}
    oracle = bm25s.BM25(k1=0.9, b=0.4, method="lucene")
    oracle.index(([[vocabulary[w] for w in each] for each in documents], vocabulary), show_progress=False)
    index = index_of(*documents)
    for _ in range(30):
        asked = dice.sample(words, 5)
        shares, _covered = index.match(asked)
        total = sum(index.rarity(word) for word in asked)
        expected = oracle.get_scores_from_ids([vocabulary[word] for word in asked])
        assert np.allclose(shares * total, expected, atol=1e-4)


def test_a_word_that_no_passage_holds_weighs_as_the_rarest():
    index = index_of(["a"], ["b"])
    _, covered = index.match(["a", "unheard"])
    assert covered[0] < 0.5


@pytest.mark.parametrize("slip", ["remboursment", "rembourssement", "rembousrement", "rembourzement", "remboursemen"])
def test_a_word_with_a_slip_stands_for_the_one_that_was_meant_and_counts_less(slip):
    index = index_of(["remboursement", "delai"], ["delai"], ["guichet"])
    meant, covered = index.match(["remboursement", "guichet"])
    shares, less_covered = index.match([slip, "guichet"])
    assert shares == pytest.approx(meant * [NEAR_SHARE, 1, 1])
    assert less_covered == pytest.approx(covered * [NEAR_SHARE, 1, 1])
    assert index.weights([slip])[0].tolist() == index.weights(["remboursement"])[0].tolist()


@pytest.mark.parametrize(
    ("asked", "held", "why"),
    [
        ("2026", "2025", "another number is another"),
        ("rfc9457", "rfc9458", "so is one in a name"),
        ("cour", "court", "short words have too many neighbours"),
        ("facture", "lecture", "two letters differ"),
        ("facture", "racture", "nobody mistakes the first letter"),
        ("index1", "index", "a number was added"),
    ],
)
def test_what_is_probably_another_word_stands_for_nothing(asked, held, why):
    shares, covered = index_of([held], ["other"]).match([asked])
    assert (shares.tolist(), covered.tolist()) == ([0, 0], [0, 0]), why


def test_a_word_that_is_held_is_taken_as_it_is_and_else_the_commonest_near_one():
    index = index_of(["invoice"], ["invoices"], ["invoicez"], ["invoicez"])
    assert np.flatnonzero(index.match(["invoice"])[0]).tolist() == [0]
    assert np.flatnonzero(index.match(["invoicee"])[0]).tolist() == [2, 3]


def test_words_of_another_index_in_the_same_process_are_not_near():
    index_of(["harbour"])
    assert not index_of(["garden"]).match(["harbuor"])[0].any()


def test_of_a_question_of_nothing_but_slips_only_the_first_are_looked_up():
    words = [f"number{letter}{letter}{letter}" for letter in "abcdefghijkl"]
    index = index_of(*([word] for word in words))
    _, covered = index.match([word[:-1] for word in words])
    assert np.count_nonzero(covered) == NEAR_TERMS < len(words)


def test_nothing_indexed_or_nothing_asked_scores_nothing():
    assert [list(each) for each in index_of().match(["a"])] == [[], []]
    assert [list(each) for each in index_of([], ["a"]).match([])] == [[0, 0], [0, 0]]
    assert [list(each) for each in index_of([]).match(["a"])] == [[0], [0]]


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
