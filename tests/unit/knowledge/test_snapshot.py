"""A snapshot that follows another, against one that is made from nothing."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ai_server.knowledge import sentences, snapshot
from ai_server.knowledge.contract import Chunk
from ai_server.knowledge.lexical import terms
from ai_server.knowledge.snapshot import Snapshot
from ai_server.knowledge.vectors import PassageVectors, quantise
from tests.fakes.embedder import DIMENSION, word_vector
from tests.fakes.library import KEYS, context

AUDIENCES = ("public", "members", "staff")
WORDS = ("desk", "refund", "loan", "garden", "hours", "letter")


def passage(number: int, dice: random.Random) -> snapshot.Entry:
    values = {"scope": ("docs",), "audience": tuple(sorted(dice.sample(AUDIENCES, dice.randint(0, 2))))}
    text = " ".join(f"The {' '.join(dice.choices(WORDS, k=4))} number {number}." for _ in range(dice.randint(0, 3)))
    chunk = Chunk(f"c{number}", "s", "p", "", None, "", text, dice.choice(["en", "fr", ""]), values, quotable=True)
    said = [word_vector(each) for each in sentences.spoken(text)]
    parts = quantise(np.stack(said) if said else np.zeros((0, DIMENSION), np.float32))
    return snapshot.entry(chunk, PassageVectors(word_vector(text), *parts))


def seen(held: Snapshot, contexts: list, question: str) -> dict[str, tuple]:
    """What a search can find out about each readable passage, by id."""
    rows, query = held.readable(contexts), word_vector(question)
    shares, coverage = held.lexical.match(terms(question, "en"))
    columns = [held.similarities(rows, query), held.best_sentences(rows, query), shares[rows], coverage[rows]]
    foreign = held.foreign(rows, "fr")
    return {
        held.chunks[row].chunk_id: (
            held.chunks[row],
            held.rows[held.chunks[row].chunk_id] == row,
            bool(foreign[place]),
            held.sentence_similarities(row, query).round(5).tolist(),
            *(round(float(column[place]), 5) for column in columns),
        )
        for place, row in enumerate(rows)
    }


@pytest.mark.parametrize("seed", range(4))
def test_a_snapshot_that_follows_another_equals_one_made_from_nothing(seed):
    """Ours: passages come, change, change their rights and go; also all at once, and ones that were never there."""
    dice = random.Random(seed)
    live: dict[str, snapshot.Entry] = {}
    followed = Snapshot([], KEYS, DIMENSION, 0)
    for generation in range(12):
        gone = {f"c{dice.randrange(60)}" for _ in range(dice.choice([0, 1, 5, 60]))} | {"never there"}
        made = [passage(number, dice) for number in dice.sample(range(60), dice.choice([0, 1, 20]))]
        fresh = {each.chunk.chunk_id: each for each in made}
        live = {name: each for name, each in live.items() if name not in gone} | fresh
        followed = Snapshot(fresh.values(), KEYS, DIMENSION, generation, after=followed, gone=gone | fresh.keys())
        whole = Snapshot(live.values(), KEYS, DIMENSION, generation)
        assert len(followed) == len(live)
        assert set(followed.rows) == set(live)
        for audience in AUDIENCES:
            contexts, question = [context(audience)], " ".join(dice.sample(WORDS, 3))
            assert seen(followed, contexts, question) == seen(whole, contexts, question)
