"""Where a reader goes on; PROMISES.md P13 and P15."""

import pytest

from gateway.events.cursor import Resumption, resume
from gateway.storage.contract import StreamPosition

HERE = StreamPosition("abc123", head=10, trimmed=4)


@pytest.mark.parametrize("cursor", [None, ""])
def test_without_a_cursor_a_reader_begins_now(cursor):
    assert resume(cursor, HERE) == Resumption(10)


@pytest.mark.parametrize("offset", [4, 7, 10])
def test_a_kept_cursor_resumes_exactly(offset):
    assert resume(f"abc123.{offset}", HERE) == Resumption(offset)


def test_a_cursor_before_what_is_kept_says_so():
    assert resume("abc123.3", HERE) == Resumption(10, "cursor-too-old")


@pytest.mark.parametrize(
    "cursor", ["def456.5", "abc123.11", "abc123", "abc123.", ".5", "abc123.-1", "abc123.05", "abc123.5\n", "x" * 200,
               "abc123.999999999999999999999999", "abc123.٥", "ABC123.5"]
)  # fmt: skip
def test_foreign_forged_and_malformed_cursors_are_told_alike(cursor):
    assert resume(cursor, HERE) == Resumption(10, "unknown-cursor")
