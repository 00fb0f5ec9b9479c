"""Passwords of staff."""

from __future__ import annotations

import pytest

from gateway.identity import passwords
from gateway.identity.passwords import generate_password, hash_password, verify_password, weakness


def test_a_hash_fits_its_password_alone_and_never_repeats(monkeypatch):
    monkeypatch.setattr(passwords, "COST", 2**6)
    kept = hash_password("correct horse")
    assert verify_password("correct horse", kept)
    assert not verify_password("correct horsf", kept)
    assert hash_password("correct horse") != kept


def test_a_hash_carries_its_cost_so_that_raising_it_locks_nobody_out(monkeypatch):
    monkeypatch.setattr(passwords, "COST", 2**6)
    kept = hash_password("correct horse")
    monkeypatch.setattr(passwords, "COST", 2**7)
    assert verify_password("correct horse", kept)


def test_what_is_used_is_what_owasp_calls_enough():
    """OWASP Password Storage Cheat Sheet, November 2026: N = 2^15, r = 8, p = 3 is one of its equals."""
    assert hash_password("correct horse").split("$")[:4] == ["scrypt", "32768", "8", "3"]


@pytest.mark.parametrize("kept", ["", "scrypt", "bcrypt$1$2$3$AA==$AA==", "scrypt$x$8$1$AA==$AA==", "scrypt$3$8$1$!$!"])
def test_a_hash_that_cannot_be_read_fits_nothing(kept):
    assert not verify_password("anything", kept)


def test_short_and_endless_passwords_are_refused_and_generated_ones_are_not():
    assert weakness("x" * 9) == weakness("x" * 201) == "must have 10 to 200 characters"
    assert weakness("x" * 10) is None
    assert weakness(generate_password()) is None
