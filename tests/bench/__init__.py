"""Benches: one module for each, named by its slug with underscores (`ledger.py`, `fan_out.py`), found by the runner.

    python -m tests.bench B=ledger

Each module offers `WHAT` (one sentence) and `async def run() -> list[Measure]`, with `Measure` from
tests/bench/measure.py: name, value, unit, and where it is a ratio what it is a ratio to and the goal. The runner prints
one line a figure (`name: value unit (ratio to X: r, goal g)`), writes `results/bench-<slug>.json` (ignored by git) with
versions and workers, and never fails on a figure: a bench reports. Side-by-side rounds, medians and quartiles are in
tests/bench/measure.py (`interleaved`).
"""
