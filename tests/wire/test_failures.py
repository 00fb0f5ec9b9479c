"""Every fault, for every provider: typed, with a remedy, told whether work began, and sent exactly once."""

from __future__ import annotations

import pytest

from ai_server.providers.contract import TextDelta
from shared.errors import ProviderCut, ProviderError, ProviderOverloaded, ProviderRefused
from tests.simulator.script import Script
from tests.simulator.server import Simulator
from tests.wire.conftest import Bundles
from tests.wire.subjects import ALL, CLAUDE, EACH_WIRE, GEMINI, KEY, MISTRAL, OPENAI, Subject, request_for, told_by

pytestmark = pytest.mark.asyncio(loop_scope="module")
every = pytest.mark.parametrize("subject", ALL, ids=lambda each: each.name)
each_wire = pytest.mark.parametrize("subject", EACH_WIRE, ids=lambda each: each.name)

STATUSES = [
    (400, ProviderRefused, "bad-request", False),
    (401, ProviderRefused, "credentials", False),
    (402, ProviderOverloaded, "quota", False),
    (403, ProviderRefused, "forbidden", False),
    (404, ProviderRefused, "unknown-model", False),
    (408, ProviderOverloaded, "timeout", False),
    (413, ProviderRefused, "too-large", False),
    (422, ProviderRefused, "bad-request", False),
    (429, ProviderOverloaded, "rate", False),
    (500, ProviderOverloaded, "server", True),
    (502, ProviderOverloaded, "server", True),
    (503, ProviderOverloaded, "overloaded", False),
    (504, ProviderOverloaded, "server", True),
    (529, ProviderOverloaded, "overloaded", False),
]


async def failure_of(subject: Subject, shared: Bundles, script: Script, simulator: Simulator, **changes: object):
    """Run one failing round; give the error and the text that came before it."""
    simulator.script(script)
    seen: list[str] = []
    with pytest.raises(ProviderError) as raised:
        await told_by(
            await shared(subject),
            request_for(subject, **changes),
            lambda event: seen.append(event.text) if isinstance(event, TextDelta) else None,
        )
    assert raised.value.provider == subject.provider
    assert raised.value.message.startswith(f"{subject.provider}: ")
    return raised.value, "".join(seen)


@every
@pytest.mark.parametrize(
    ("status", "kind", "error_class", "started"), STATUSES, ids=[str(each[0]) for each in STATUSES]
)
async def test_a_status_is_classified_and_the_call_is_not_sent_again(
    subject: Subject, status, kind, error_class, started, shared: Bundles, simulator: Simulator
) -> None:
    """P11: no retry of any status hides in an SDK."""
    error, _ = await failure_of(subject, shared, Script(status=status), simulator)
    assert type(error) is kind
    assert (error.error_class, error.started) == (error_class, started)
    assert len(simulator.received) == 1


@every
async def test_a_lost_answer_is_not_sent_again_and_counts_as_begun(
    subject: Subject, shared: Bundles, simulator: Simulator
) -> None:
    """CASES A10, https://github.com/Comfy-Org/ComfyUI/pull/16204: four submissions, four bills, no result."""
    for stream in (True, False):
        simulator.reset()
        error, _ = await failure_of(subject, shared, Script(drop=True), simulator, stream=stream)
        assert isinstance(error, ProviderCut)
        assert error.started is True
        assert len(simulator.received) == 1
        assert len(simulator.lines) == 1


@every
async def test_a_connection_that_closes_after_an_answer_costs_no_question(
    subject: Subject, shared: Bundles, simulator: Simulator
) -> None:
    """llama.cpp's server closes after a stream although it promised to keep the connection."""
    for rounds in range(1, 6):
        simulator.script(Script(hang_up=True))
        await told_by(await shared(subject), request_for(subject))
        told = await told_by(await shared(subject), request_for(subject, stream=False))
        assert told.text
        assert len(simulator.received) == len(simulator.lines) == 2 * rounds


@every
async def test_an_error_inside_a_stream_keeps_what_came_and_counts_as_begun(
    subject: Subject, shared: Bundles, simulator: Simulator
) -> None:
    """CASES B8, https://github.com/anthropics/anthropic-sdk-python/issues/1918."""
    error, seen = await failure_of(subject, shared, Script(chunks=("a", "b", "c", "d"), error_after=3), simulator)
    assert isinstance(error, ProviderOverloaded)
    assert (seen, error.started) == ("abc", True)


@every
@pytest.mark.parametrize("after", [0, 1, 3])
async def test_a_cut_stream_is_a_cut(subject: Subject, after, shared: Bundles, simulator: Simulator) -> None:
    error, seen = await failure_of(subject, shared, Script(chunks=("a", "b", "c", "d"), cut_after=after), simulator)
    assert isinstance(error, ProviderCut)
    assert (seen, error.started) == ("abcd"[:after], True)


@each_wire
@pytest.mark.parametrize("byte", [1, 40, 150, 151, 152, 153, 600])
async def test_a_stream_cut_at_any_byte_is_a_cut(subject: Subject, byte, shared: Bundles, simulator: Simulator) -> None:
    script = Script(chunks=("é你👩‍👩‍👧",) * 20, cut_at_byte=byte)
    error, _ = await failure_of(subject, shared, script, simulator)
    assert isinstance(error, ProviderCut)
    assert error.started is True


@each_wire
async def test_a_stall_inside_an_answer_is_bounded(subject: Subject, simulator: Simulator) -> None:
    bundle = subject.bundle(simulator, stall_s="0.3")
    assert bundle.generation is not None
    await told_by(bundle, request_for(subject))

    async def stalling(_: Subject):
        return bundle

    error, seen = await failure_of(subject, stalling, Script(chunks=("a", "b", "c"), stall_after=2), simulator)
    assert isinstance(error, ProviderCut)
    assert (seen, error.error_class, error.started) == ("ab", "stalled", True)
    await bundle.generation.close()


@each_wire
async def test_silence_before_an_answer_ends_with_the_deadline(
    subject: Subject, shared: Bundles, simulator: Simulator
) -> None:
    for stream in (True, False):
        error, _ = await failure_of(subject, shared, Script(latency_s=3.0), simulator, deadline_s=0.4, stream=stream)
        assert isinstance(error, ProviderOverloaded)
        assert (error.error_class, error.started) == ("timeout", True)


@every
async def test_an_unreachable_host_did_not_begin(subject: Subject, simulator: Simulator) -> None:
    bundle = subject.bundle(simulator, base_url="http://127.0.0.1:9" + subject.path)
    assert bundle.generation is not None
    with pytest.raises(ProviderOverloaded) as raised:
        await told_by(bundle, request_for(subject))
    assert (raised.value.error_class, raised.value.started) == ("unreachable", False)
    await bundle.generation.close()


@each_wire
async def test_an_error_body_with_status_200_is_a_failure(
    subject: Subject, shared: Bundles, simulator: Simulator
) -> None:
    """An error body in place of an answer gives `choices=None` (OpenRouter, several proxies)."""
    error, seen = await failure_of(subject, shared, Script(error_in_200=True), simulator, stream=False)
    assert isinstance(error, (ProviderOverloaded, ProviderCut))
    assert (seen, error.started) == ("", True)


async def test_a_used_up_quota_is_told_apart_from_a_rate(shared: Bundles, simulator: Simulator) -> None:
    script = Script(status=429, error_text="You exceeded your current quota: insufficient_quota")
    error, _ = await failure_of(OPENAI, shared, script, simulator)
    assert error.error_class == "quota"
    assert "credit" in error.message


async def test_a_redirect_is_not_followed_with_the_key(shared: Bundles, simulator: Simulator) -> None:
    """P23: a credential never leaves for another address."""
    for subject in (OPENAI, CLAUDE, MISTRAL, GEMINI):
        simulator.reset()
        error, _ = await failure_of(subject, shared, Script(status=307), simulator)
        assert isinstance(error, (ProviderRefused, ProviderCut, ProviderOverloaded))
        assert len(simulator.received) == 1


@every
async def test_a_refusal_says_why_in_the_provider_s_words_without_the_key(
    subject: Subject, shared: Bundles, simulator: Simulator
) -> None:
    script = Script(status=400, error_text="the parameter `top_k` is wrong for key {key}")
    error, _ = await failure_of(subject, shared, script, simulator)
    assert "`top_k` is wrong" in error.message
    assert KEY not in error.message
    assert KEY[:8] not in error.message


@every
async def test_nothing_foreign_hangs_on_to_our_errors(subject: Subject, shared: Bundles, simulator: Simulator) -> None:
    """A foreign exception carries requests and headers; ours must not lead to it."""
    for script in (Script(status=401), Script(drop=True), Script(cut_after=1), Script(error_after=1)):
        error, _ = await failure_of(subject, shared, script, simulator)
        link: BaseException | None = error
        while link is not None:
            assert type(link).__module__.partition(".")[0] in {"shared", "ai_server"}, type(link)
            link = link.__cause__ or link.__context__
