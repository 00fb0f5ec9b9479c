"""Numbers that providers report: absent, zero and impossible are three different things."""

from __future__ import annotations

import pytest

from ai_server.providers.counting import request_bound, text_bound
from ai_server.providers.counts import NotBelievable, embedding_usage, remainder, whole
from shared.usage import Usage


def test_an_absent_count_is_zero_or_refused_as_asked() -> None:
    assert whole(None) == 0
    with pytest.raises(NotBelievable):
        whole(None, absent=None)


@pytest.mark.parametrize("value", [-1, 1.5, True, "7", 2**40 + 1, float("nan"), [1]])
def test_what_is_no_count_is_not_believed(value: object) -> None:
    with pytest.raises(NotBelievable):
        whole(value)


def test_parts_are_at_most_the_whole() -> None:
    assert remainder(10, 3, 7) == 0
    with pytest.raises(NotBelievable):
        remainder(10, 3, 8)


@pytest.mark.parametrize(("said", "usage"), [(7, Usage(input=7)), (0, None), (None, None), (-1, None), ("7", None)])
def test_embedding_usage_of_nothing_is_unknown(said: object, usage: Usage | None) -> None:
    assert embedding_usage(said) == usage


@pytest.mark.parametrize("text", ["", "abc", "é", "你好", "👩‍👩‍👧", "\ud800", "<|endoftext|>"])
def test_the_bound_of_a_text_is_its_bytes(text: str) -> None:
    assert text_bound(text) == len(text.encode("utf-8", "surrogatepass"))


def test_a_request_is_bounded_by_all_that_it_holds() -> None:
    from tests.wire.subjects import OPENAI, request_for

    small = request_bound(request_for(OPENAI))
    assert request_bound(request_for(OPENAI, instructions="x" * 1_000)) > small + 900
