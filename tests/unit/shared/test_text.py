import unicodedata

import pytest

from shared.text import fold, key_violation, text_violation


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("", "empty or blank"),
        (" \n\u3000", "empty or blank"),
        ("a" * 100_000, "the limit is 20,000"),
        ("half \ud83d pair", "surrogate"),
        ("nul \x00 here", "NUL"),
    ],
)
def test_text_that_cannot_be_taken_says_why_and_where(value, said):
    violation = text_violation("question", value, limit=20_000)
    assert violation is not None
    assert violation.field == "question"
    assert said in violation.problem


def test_text_of_exactly_the_limit_is_taken():
    assert text_violation("question", "é" * 20_000, limit=20_000) is None


@pytest.mark.parametrize("key", ["", "x" * 129, "clé", "a\nb"])
def test_keys_are_1_to_128_printable_ascii_characters(key):
    assert key_violation("idempotency_key", key) is not None
    assert key_violation("idempotency_key", "turn-1") is None


def test_folding_makes_case_and_accents_alike():
    assert fold("Où est l'Élève ?") == "ou est l'eleve ?"


def test_folding_drops_the_combining_marks_of_every_script_and_nothing_else():
    """The definition, over all of Unicode: case folded, decomposed, without what combines."""
    for plane in range(0x11):
        text = "".join(map(chr, range(plane * 0x10000, (plane + 1) * 0x10000)))
        decomposed = unicodedata.normalize("NFKD", text.casefold())
        assert fold(text) == "".join(sign for sign in decomposed if not unicodedata.combining(sign))
