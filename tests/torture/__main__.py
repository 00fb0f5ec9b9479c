"""`python -m tests.torture P=P3 N=64000 SEED=1`; several promises with commas, all without P.

`python -m tests.torture SUM=1` adds up what the results file holds: a full count may span several runs. Trials that
were run twice with the same seeds count once.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import pkgutil
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from tests import torture
from tests.torture.figure import MAX_TOLD, Figure

RESULTS = Path("results") / "torture.jsonl"


def names() -> list[str]:
    """List the promises that have a module, in their own order: `p3_postgres` is `P3_POSTGRES`."""
    found = [
        each.name for each in pkgutil.iter_modules(torture.__path__) if each.name[0] == "p" and each.name[1].isdigit()
    ]
    return sorted((name.upper() for name in found), key=lambda name: (int(name[1:].partition("_")[0]), name))


def module(name: str):
    """Import the module of a promise."""
    return importlib.import_module(f"tests.torture.{name.lower()}")


def run(name: str, n: int | None, seed: int) -> Figure:
    """Run one promise and write the result down."""
    promise = module(name)
    started = time.monotonic()
    figure = asyncio.run(promise.run(n or promise.FULL, seed))
    record = {
        "promise": name,
        "trials": figure.trials,
        "failures": len(figure.failures),
        "seeds": figure.seeds,
        "notes": figure.notes,
        "skipped": figure.skipped,
        "told": figure.failures[:MAX_TOLD],
        "seconds": round(time.monotonic() - started, 1),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps(record, ensure_ascii=False) + "\n")
    return figure


def totals() -> list[str]:
    """Write one line for each promise, from all runs."""
    seen: dict[tuple[str, str], dict[str, object]] = {}
    if RESULTS.exists():
        for line in RESULTS.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if not record["skipped"]:
                seen[record["promise"], record["seeds"]] = record
    lines = []
    for name in names():
        mine = [record for (promise, _), record in seen.items() if promise == name]
        if mine:
            seeds = ", ".join(str(record["seeds"]) for record in mine)
            figure = Figure(sum(int(str(record["trials"])) for record in mine), seeds)
            figure.failures = [name] * sum(int(str(record["failures"])) for record in mine)
            lines.append(figure.line(name))
    return lines


def main(words: list[str]) -> int:
    """Run what is asked and print one line for each promise, last."""
    asked = dict(word.partition("=")[::2] for word in words)
    if asked.get("SUM"):
        print("\n".join(totals()))
        return 0
    chosen = asked.get("P", "").upper().split(",") if asked.get("P") else names()
    unknown = [name for name in chosen if name not in names()]
    if unknown:
        print(f"no such promise here: {', '.join(unknown)}; there are {', '.join(names())}", file=sys.stderr)
        return 2
    count = int(asked["N"]) if asked.get("N") else None
    lines, failed = [], False
    for name in chosen:
        print(f"{name}: {module(name).PROMISE}", flush=True)
        figure = run(name, count, int(asked.get("SEED") or 1))
        for sentence in figure.failures[:MAX_TOLD]:
            print(f"  {sentence}")
        for key, value in figure.notes.items():
            print(f"  {key}: {value}")
        failed = failed or bool(figure.failures)
        lines.append(figure.line(name))
    print("\n".join(lines))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
