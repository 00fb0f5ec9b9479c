"""Torture: one module for each promise, named `p1.py`, `p2.py`, …, found by the runner.

    python -m tests.torture P=P3 N=64000 SEED=1

Each module offers:

* `PROMISE`: one sentence, printed by the runner;
* `FULL`: the n of the full count (`N` defaults to it);
* `SHORT`: the n that stays well under 10 s, used by `make test` (tests/torture/test_short_forms_of_*.py);
* `async def run(n: int, seed: int) -> Figure`: does `n` trials, every choice drawn from `random.Random(seed)` (or from
  `seed + trial`), so that a failure replays from the seed that it names. It raises nothing for a broken promise: it
  counts, and puts a sentence with the seed into `Figure.failures`. `Figure.skipped` says why it could not run.

The runner appends a JSON line to `results/torture.jsonl` (ignored by git), and prints last, for example
`P3: 0 / 64000 (95 % ≤ 0.0047 %) seeds 1–1000`; it exits 1 when something failed.
"""
