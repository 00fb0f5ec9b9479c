"""Rights by construction: random people over random documents, against an oracle written apart."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ai_server.knowledge import rights
from ai_server.knowledge.contract import Chunk, KeySpec
from ai_server.knowledge.snapshot import Snapshot, entry
from ai_server.knowledge.vectors import without_sentences
from tests.fakes.embedder import word_vector

KEYS = (
    KeySpec("scope", required=True, values=frozenset(), rights=True),
    KeySpec("audience", required=False, values=frozenset(), rights=True),
    KeySpec("theme", required=False, values=frozenset(), rights=False),
)
VALUES = {"scope": ("docs", "hr", "law"), "audience": ("public", "members", "staff"), "theme": ("a", "b")}


def passage(number: int, values: dict[str, tuple[str, ...]]) -> Chunk:
    return Chunk(f"c{number}", "s", "p", "t", None, "", f"text {number}", "en", values, quotable=True)


def snapshot_of(chunks, keys=KEYS) -> Snapshot:
    entries = [entry(chunk, without_sentences(word_vector(chunk.text))) for chunk in chunks]
    return Snapshot(entries, keys, 64, 1)


def oracle(values, contexts) -> bool:
    for context in contexts:
        if not context or not {"scope", "audience"} <= set(context) or not set(context) <= set(VALUES):
            continue
        if all(set(allowed) & set(values.get(key, ())) for key, allowed in context.items()):
            return True
    return False


def random_values(dice: random.Random) -> dict[str, tuple[str, ...]]:
    return {
        key: tuple(dice.sample(options, dice.randint(1, 2))) for key, options in VALUES.items() if dice.random() < 0.8
    }


def random_contexts(dice: random.Random) -> list[dict[str, frozenset[str]]]:
    return [
        {
            key: frozenset(dice.sample(options, dice.randint(0, len(options))))
            for key, options in {**VALUES, "undeclared": ("x",)}.items()
            if dice.random() < (0.2 if key == "undeclared" else 0.4 if key == "theme" else 0.9)
        }
        for _ in range(dice.randint(0, 3))
    ]


@pytest.mark.parametrize("seed", range(5))
def test_what_is_readable_is_what_the_oracle_says(seed):
    """P-rights: exact by construction; 300 people over 200 passages a seed."""
    dice = random.Random(seed)
    chunks = [passage(number, random_values(dice)) for number in range(200)]
    snapshot = snapshot_of(chunks)
    for _ in range(300):
        contexts = random_contexts(dice)
        rows = snapshot.readable(contexts)
        found = {snapshot.chunks[row].chunk_id for row in rows}
        assert found == {chunk.chunk_id for chunk in chunks if oracle(chunk.metadata, contexts)}
        assert list(rows) == sorted(rows)
        query = word_vector("text 7")
        expected = np.array([snapshot.vectors[row] @ query for row in rows], np.float32)
        assert np.allclose(snapshot.similarities(rows, query), expected, atol=1e-6)


@pytest.mark.parametrize(
    "contexts",
    [
        [],
        [{}],
        [{"scope": frozenset(), "audience": frozenset({"public"})}],
        [{"scope": frozenset({"docs"})}],
        [{"scope": frozenset({"docs"}), "audience": frozenset({"public"}), "undeclared": frozenset({"x"})}],
    ],
    ids=["none", "an empty one", "an empty set", "a missing key", "an undeclared key"],
)
def test_rights_that_say_nothing_give_nothing(contexts):
    """CASES C4: an empty right must never mean no filter."""
    values = {"scope": ("docs",), "audience": ("public",), "undeclared": ("x",)}
    assert len(snapshot_of([passage(1, values)]).readable(contexts)) == 0
    assert not rights.may_read(values, rights.usable(contexts, KEYS), rights.rights_keys(KEYS))


def test_a_project_without_rights_keys_still_needs_a_context_that_says_something():
    keys = (KeySpec("theme", required=False, values=frozenset(), rights=False),)
    snapshot = snapshot_of([passage(1, {"theme": ("a",)}), passage(2, {"theme": ("b",)}), passage(3, {})], keys)
    assert len(snapshot.readable([{}])) == 0
    assert [snapshot.chunks[row].chunk_id for row in snapshot.readable([{"theme": frozenset({"a"})}])] == ["c1"]
