"""The page's own event-stream parser against the WHATWG text, every byte split (CASES F4, F12; P16 in the browser)."""

import base64

import pytest

from tests.e2e.conftest import Stage

pytestmark = [pytest.mark.service("chromium"), pytest.mark.asyncio(loop_scope="session")]

RUN = """async (stream) => {
    const { EventParser } = await import("/static/wire/sse.js");
    const bytes = Uint8Array.from(atob(stream), (letter) => letter.charCodeAt(0));
    const run = (pieces) => {
        const events = [];
        const parser = new EventParser((event) => events.push([event.type, event.data, event.id]));
        for (const piece of pieces) parser.push(piece);
        return JSON.stringify([events, parser.lastId, parser.retry]);
    };
    const whole = run([bytes]);
    const singles = run(Array.from(bytes, (_, at) => bytes.slice(at, at + 1)));
    const halves = Array.from(bytes, (_, at) => run([bytes.slice(0, at), bytes.slice(at)]));
    return [JSON.parse(whole), [singles, ...halves].every((each) => each === whole)];
}"""

STREAMS = {
    "the three line ends": (b"data: a\rdata: b\ndata: c\r\n\r\n", [["message", "a\nb\nc", ""]]),
    "a carriage return alone ends an event": (b"data: a\r\rdata: b\r\r", [["message", "a", ""], ["message", "b", ""]]),
    "one space is dropped, no more": (b"data:  a\n\n", [["message", " a", ""]]),
    "a line without a colon": (b"data\n\n", [["message", "", ""]]),
    "no data, no event": (b"event: x\nid: 7\n\ndata: a\n\n", [["message", "a", "7"]]),
    "an id with NUL is ignored": (
        b"id: 1\ndata: a\n\nid: 2\x003\ndata: b\n\n",
        [["message", "a", "1"], ["message", "b", "1"]],
    ),
    "an empty id forgets": (b"id: 1\ndata: a\n\nid\ndata: b\n\n", [["message", "a", "1"], ["message", "b", ""]]),
    "comments are nothing": (b": ping\n\n:data: x\ndata: a\n\n", [["message", "a", ""]]),
    "a byte-order mark first": ("\ufeffdata: a\n\n".encode(), [["message", "a", ""]]),
    "an unfinished event is dropped": (b"data: a\n\ndata: b\n", [["message", "a", ""]]),
    "names": (b"event: turn.step\ndata: {}\n\ndata: x\n\n", [["turn.step", "{}", ""], ["message", "x", ""]]),
    "line separators are text": ("data: a\u2028b\u0085c\x0bd\n\n".encode(), [["message", "a\u2028b\u0085c\x0bd", ""]]),
    "letters of many bytes": ("data: é 你 👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿\n\n".encode(), [["message", "é 你 👩‍👩‍👧 🏴󠁧󠁢󠁥󠁮󠁧󠁿", ""]]),
    "unknown fields": (b"data: a\nfoo: b\nDATA: c\n\n", [["message", "a", ""]]),
}


async def test_events_are_read_as_the_standard_says_however_the_bytes_are_cut(stage: Stage):
    page = await (await stage.visitor(bypass_csp=True)).tab()
    for name, (stream, events) in STREAMS.items():
        (seen, _last, _retry), alike = await page.evaluate(RUN, base64.b64encode(stream).decode())
        assert seen == events, name
        assert alike, f"{name}: another cut gives other events"


async def test_the_cursor_and_the_wait_are_kept_and_a_flood_is_refused(stage: Stage):
    page = await (await stage.visitor(bypass_csp=True)).tab()
    kept = await page.evaluate(
        """async () => {
            const { EventParser, MAX_EVENT_UNITS } = await import("/static/wire/sse.js");
            const parser = new EventParser(() => {}, "e1.4");
            parser.pushText("retry: 2000\\nid: e1.5\\n\\nretry: 1x\\nid: e1.6\\n");
            let refused = false;
            const line = "data: " + "x".repeat(MAX_EVENT_UNITS / 20) + "\\n";
            try { for (let n = 0; n < 40; n += 1) parser.pushText(line); }
            catch (cause) { refused = cause instanceof RangeError; }
            return [parser.lastId, parser.retry, refused];
        }"""
    )
    assert kept == ["e1.5", 2000, True]


async def test_waits_double_are_capped_and_never_alike(stage: Stage):
    page = await (await stage.visitor(bypass_csp=True)).tab()
    waits = await page.evaluate(
        """async () => {
            const { waitFor } = await import("/static/wire/event_stream.js");
            return [0, 1, 2, 5, 99].map((failures) => [waitFor(failures, () => 0), waitFor(failures, () => 0.999)]);
        }"""
    )
    assert [low for low, _ in waits] == [250, 500, 1000, 8000, 10_000]
    assert all(low < high <= 20_000 for low, high in waits)


async def test_pieces_are_placed_by_code_points(stage: Stage):
    page = await (await stage.visitor(bypass_csp=True)).tab()
    placed = await page.evaluate(
        """async () => {
            const { replaceFrom } = await import("/static/wire/delta.js");
            const cases = [["🛶🛶é", 1, "x"], ["🛶", 1, "!"], ["ab", 3, "c"], ["ab", 0, ""]];
            return cases.map((each) => replaceFrom(...each));
        }"""
    )
    assert placed == ["🛶x", "🛶!", None, ""]
