"""P34 and CASES J5: canary keys in every slot, every error path, and nothing of them anywhere.

https://github.com/BerriAI/litellm/issues/15799 and https://github.com/BerriAI/litellm/issues/8075.
"""

from __future__ import annotations

import io
import logging
import traceback
import warnings

import pytest

from shared import logs
from shared.errors import PasseurError
from tests.canary import forms_of, told
from tests.simulator.script import Script
from tests.simulator.server import Simulator
from tests.wire.subjects import ALL, EMBEDDERS, KEY, Subject, permit_for, request_for, told_by

pytestmark = pytest.mark.asyncio(loop_scope="module")

PATHS = (
    Script(),
    Script(status=401, error_text="Incorrect API key provided: {key}"),
    Script(status=403, error_text="{key} may not"),
    Script(status=400, error_text="bad request with {key} inside"),
    Script(status=404, error_text="no model for {key}"),
    Script(status=429, error_text="quota of {key}"),
    Script(status=500, error_text="crash: {key}"),
    Script(status=503, error_text="{key} is overloaded"),
    Script(drop=True),
    Script(cut_after=1),
    Script(cut_at_byte=30),
    Script(error_after=1),
    Script(usage="missing"),
    Script(error_in_200=True),
)


@pytest.fixture
def sink() -> io.StringIO:
    """Everything that any library logs, at the lowest level."""
    stream = io.StringIO()
    root = logging.getLogger()
    kept, level = list(root.handlers), root.level
    logs.configure("test", "DEBUG", stream)
    names = [name for name in logging.root.manager.loggerDict if name.partition(".")[0] in NOISY]
    for name in names:
        logging.getLogger(name).setLevel(logging.DEBUG)
    yield stream
    root.handlers[:] = kept
    root.setLevel(level)
    for name in names:
        logging.getLogger(name).setLevel(logging.NOTSET)


NOISY = {
    "openai",
    "anthropic",
    "google_genai",
    "google",
    "mistralai",
    "httpx",
    "httpx2",
    "httpcore",
    "httpcore2",
    "aiohttp",
}


@pytest.mark.parametrize("subject", ALL, ids=lambda each: each.name)
async def test_no_key_comes_out_of_any_path(subject: Subject, simulator: Simulator, sink: io.StringIO) -> None:
    said: list[str] = []
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        bundle = subject.bundle(simulator)
        assert bundle.generation is not None
        for script in PATHS:
            for stream in (True, False):
                simulator.script(script)
                try:
                    events = await told_by(bundle, request_for(subject, stream=stream))
                    said.append(repr(events))
                except PasseurError as error:
                    logging.getLogger("test").exception("it failed")
                    said += [str(error), repr(error), repr(error.details()), "".join(traceback.format_exception(error))]
                    said.append(
                        "".join(traceback.TracebackException.from_exception(error, capture_locals=False).format())
                    )
        simulator.counting = Script(status=401, error_text="{key}")
        said.append(repr(await bundle.tokenizer.count(request_for(subject))))
        said += [repr(bundle), repr(bundle.generation), repr(vars(bundle.generation).get("_connection"))]
        await bundle.generation.close()
    seen = {KEY in each.headers.get(name, "") for each in simulator.received for name in each.headers}
    assert seen == {True, False}, "the canary was in use"
    everything = "\n".join([*said, sink.getvalue(), *(str(each.message) for each in warned)])
    assert len(sink.getvalue()) > 1_000, "the sink was open"
    assert told(forms_of(KEY), everything) == []


@pytest.mark.parametrize("subject", EMBEDDERS, ids=lambda each: each.name)
async def test_no_key_comes_out_of_an_embedding(subject: Subject, simulator: Simulator, sink: io.StringIO) -> None:
    bundle = subject.bundle(simulator, "embedding")
    assert bundle.embedding is not None
    said: list[str] = []
    for script in PATHS[1:9]:
        simulator.reset()
        simulator.script(script)
        with pytest.raises(PasseurError) as raised:
            await bundle.embedding.embed(["x"], "query", permit_for(bundle))
        logging.getLogger("test").error("it failed", exc_info=raised.value)
        said.append("".join(traceback.format_exception(raised.value)))
    await bundle.embedding.close()
    everything = "\n".join([*said, sink.getvalue()])
    assert told(forms_of(KEY), everything) == []


@pytest.mark.parametrize("subject", ALL, ids=lambda each: each.name)
async def test_no_key_is_in_an_address(subject: Subject, simulator: Simulator) -> None:
    bundle = subject.bundle(simulator)
    assert bundle.generation is not None
    await told_by(bundle, request_for(subject))
    await bundle.generation.close()
    assert all(KEY not in received.path for received in simulator.received)


async def test_no_prompt_is_logged_at_info(simulator: Simulator) -> None:
    stream = io.StringIO()
    root = logging.getLogger()
    kept, level = list(root.handlers), root.level
    logs.configure("test", "INFO", stream)
    try:
        for subject in ALL:
            bundle = subject.bundle(simulator)
            assert bundle.generation is not None
            await told_by(bundle, request_for(subject, instructions="ZEBRA-4711 instructions"))
            await bundle.generation.close()
    finally:
        root.handlers[:] = kept
        root.setLevel(level)
    assert "ZEBRA-4711" not in stream.getvalue()
