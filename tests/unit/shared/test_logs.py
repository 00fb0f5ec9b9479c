import io
import json
import logging

import pytest
import structlog
from pydantic import SecretStr

from shared import logs


@pytest.fixture
def lines():
    """Log to a buffer, and leave the process's logging as it was found."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    logs.configure("test", stream=stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.handlers[:] = handlers
    root.setLevel(level)
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


def test_every_line_is_json_with_service_level_and_utc_time(lines):
    logs.logger("a").info("started", port=1)
    (line,) = lines()
    assert line["service"] == "test"
    assert (line["event"], line["level"], line["port"]) == ("started", "info", 1)
    assert line["timestamp"].endswith("Z")


def test_secrets_are_masked_by_type_wherever_they_stand(lines):
    secret = SecretStr("canary-key")
    logs.logger("a").warning("settings", key=secret, nested={"deep": [secret]})
    assert "canary-key" not in json.dumps(lines())
    assert lines()[0]["nested"] == {"deep": [logs.MASK]}


def test_lines_of_foreign_libraries_are_json_too(lines):
    logging.getLogger("foreign").error("said %s", "something")
    assert lines()[0]["event"] == "said something"


def test_a_line_that_cannot_be_written_stops_no_work(capsys):
    """A full disk refuses log lines as well, and the settlement that logs one must go on."""

    class Full(io.StringIO):
        def write(self, _):
            raise OSError(28, "No space left on device")

    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    logs.configure("test", stream=Full())
    try:
        logs.logger("a").warning("settlement waits for the store")
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        structlog.reset_defaults()
        structlog.contextvars.clear_contextvars()
    assert "No space left" in capsys.readouterr().err
