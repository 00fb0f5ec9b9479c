"""The harness itself: it must find what it is made to find."""

from __future__ import annotations

from tests.torture import p2, power
from tests.torture.figure import Figure
from tests.torture.shim import Call


async def test_a_store_that_does_not_sync_is_found_to_lose_what_it_acknowledged():
    figure = await p2.run(1, 1, synchronous="OFF")
    if not figure.skipped:
        assert any("lost" in each for each in figure.failures)


def test_an_unsynced_write_may_be_lost_in_part_and_a_synced_one_never():
    import random

    disk = power.Disk()
    for call in (
        Call("C", "f", 0, b""),
        Call("S", ".", 0, b""),
        Call("W", "f", 0, b"a" * 1024),
        Call("S", "f", 0, b""),
    ):
        disk.take(call)
    disk.take(Call("W", "f", 0, b"b" * 1024))
    found = {disk.after_loss(random.Random(seed))["f"] for seed in range(200)}
    halves = {b"a" * 1024, b"b" * 1024, b"a" * 512 + b"b" * 512, b"b" * 512 + b"a" * 512}
    assert found == halves


def test_a_figure_states_its_bound_only_when_nothing_failed():
    assert Figure(10_000, "1–10000").line("P1") == "P1: 0 / 10000 (95 % ≤ 0.03 %) seeds 1–10000"
    assert Figure(10, "1", ["seed 1: lost"]).line("P1") == "P1: 1 / 10 seeds 1"
    assert Figure(0, "", skipped="no compiler").line("P1") == "P1: skipped (no compiler)"
