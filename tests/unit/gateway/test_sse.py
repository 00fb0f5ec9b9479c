"""The event-stream writer against the strict parser; CASES.md F4, PROMISES.md P16."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.events import sse
from tests.sse_parser import Event, SseParser, parse

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]))
HOSTILE = [
    "\r" + "event: done",
    "\n\ndata: forged",
    "a\r\n\r\nid: 7\n\n",
    "\u2028\u2029\x85\x0b\x0c",
    "\ufeff at the start",
    " leading space",
    "\x00",
    ": not a comment",
    "",
    "\n",
    "\r",
    "\r\n",
    "é 你 👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿",
]


def joined_by_newlines(text: str) -> str:
    """What a reader gets: line breaks of any kind are LF afterwards."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_one_event_with_all_of_its_text(text):
    """CASES.md F4: nothing inside data becomes a field or an event."""
    events = parse(sse.frame("message.created", text, "abc.1"))
    assert events == [Event("message.created", joined_by_newlines(text), "abc.1")]


@given(texts=st.lists(ANY_TEXT, max_size=5), cuts=st.lists(st.integers(0, 400), max_size=6))
@settings(max_examples=200, deadline=None)
def test_any_text_arrives_identical_however_its_bytes_are_cut(texts, cuts):
    """PROMISES.md P16."""
    stream = b"".join(sse.frame("message.delta", text) for text in texts)
    parser, events, at = SseParser(), [], 0
    for cut in [*sorted(cuts), len(stream)]:
        events += parser.feed(stream[at:cut])
        at = max(at, cut)
    assert [event.data for event in events] == [joined_by_newlines(text) for text in texts]


@pytest.mark.parametrize("bad", ["a\nb", "a\rb", "a\x00b", "", "a" * 65, "a b", "é"])
def test_an_id_that_could_break_the_stream_is_refused(bad):
    with pytest.raises(ValueError, match="not an event id"):
        sse.frame("read", "{}", bad)


@pytest.mark.parametrize("bad", ["a\nb", "", "Message", "a b", "a:b"])
def test_a_type_that_could_break_the_stream_is_refused(bad):
    with pytest.raises(ValueError, match="not an event type"):
        sse.frame(bad, "{}")


def test_half_a_surrogate_pair_is_refused():
    with pytest.raises(UnicodeEncodeError):
        sse.frame("read", "\ud800")


def test_the_opening_sets_the_cursor_without_an_event():
    parser = SseParser()
    assert parser.feed(sse.opening(2000, "abc.7")) == []
    assert (parser.last_event_id, parser.retry_ms) == ("abc.7", 2000)


def test_a_comment_cannot_end_its_own_line():
    parser = SseParser()
    assert parser.feed(sse.comment("ping\ndata: forged\r")) == []
    assert parser.comments == 1
