"""The parsing child takes the blow of a file that is too much, and the next file is read."""

from __future__ import annotations

import os
import signal

import pytest

from ai_server.knowledge.loaders.model import Rejected
from ai_server.knowledge.parsing import ChildParser, Limits
from tests.fakes.hostile_files import SELFISH

MIB = 1024 * 1024
SLOW = b"a\n\n" * 100_000
"""Takes the Markdown reader over ten seconds."""
GROWING = b"a\n\n" * 600_000
"""Under two megabytes that become 600,000 blocks."""


@pytest.mark.parametrize(
    ("limits", "name", "data", "reason"),
    [
        (Limits(processor_s=0.5), "slow.md", SLOW, r"more than 0\.5 s of processor time"),
        (Limits(memory=24 * MIB), "grows.txt", GROWING, r"more than 24 MiB of memory"),
        (Limits(characters=1_000), "long.txt", SLOW, r"more than 1,000 characters: split it"),
    ],
    ids=["time", "memory", "output"],
)
async def test_a_file_past_a_limit_is_rejected_with_its_reason_and_the_next_is_read(limits, name, data, reason):
    parser = ChildParser(limits)
    try:
        with pytest.raises(Rejected, match=reason):
            await parser.load(name, data)
        loaded = await parser.load("next.txt", b"It is read.\n")
        assert [block.text for block in loaded.blocks] == ["It is read."]
    finally:
        await parser.close()


async def test_what_a_reader_warns_of_does_not_fill_the_servers_log(capfd):
    """One PDF of dictionaries without end made pypdf warn thousands of times."""
    parser = ChildParser()
    try:
        with pytest.raises(Rejected):
            await parser.load("selfish.pdf", SELFISH)
    finally:
        await parser.close()
    assert capfd.readouterr().err == ""


async def test_a_child_that_answers_nothing_is_killed_at_the_wall_and_the_next_file_is_read():
    """Not even its timer can interrupt a child that is stopped; the clock on the wall does."""
    parser = ChildParser(Limits(wall_s=4.0))
    try:
        await parser.load("first.txt", b"It starts the child.\n")
        before = parser.pid
        assert before is not None
        os.kill(before, signal.SIGSTOP)
        with pytest.raises(Rejected, match="took longer than 4 s"):
            await parser.load("stuck.txt", b"Nobody reads it.\n")
        loaded = await parser.load("next.txt", b"It is read.\n")
        assert [block.text for block in loaded.blocks] == ["It is read."]
        assert parser.pid != before
    finally:
        await parser.close()
