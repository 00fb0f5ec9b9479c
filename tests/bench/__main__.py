"""`python -m tests.bench B=ledger`; several with commas, all without B."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import pkgutil
import platform
import sqlite3
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from tests import bench

RESULTS = Path("results")
NOT_BENCHES = {"measure"}
PACKAGES = ("grpcio", "aiohttp", "chromadb", "asyncpg")


def slugs() -> list[str]:
    """List the benches that have a module."""
    found = (each.name for each in pkgutil.iter_modules(bench.__path__))
    return sorted(
        name.replace("_", "-") for name in found if name not in NOT_BENCHES and name[0] != "_" and "test" not in name
    )


def surroundings() -> dict[str, object]:
    """State versions and the machine."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "absent"
    return {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "kernel": platform.release(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "packages": versions,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def run(slug: str) -> None:
    """Run one bench, print its lines, write its JSON."""
    module = importlib.import_module(f"tests.bench.{slug.replace('-', '_')}")
    print(f"{slug}: {module.WHAT}", flush=True)
    started = time.monotonic()
    measures = asyncio.run(module.run())
    for each in measures:
        print(f"  {each.line()}", flush=True)
    record = {
        "bench": slug,
        "what": module.WHAT,
        "seconds": round(time.monotonic() - started, 1),
        "surroundings": surroundings(),
        "measures": [asdict(each) for each in measures],
    }
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(record, ensure_ascii=False, indent=1)
    (RESULTS / f"bench-{slug}.json").write_text(text + "\n", encoding="utf-8")


def main(words: list[str]) -> int:
    """Run what is asked."""
    asked = dict(word.partition("=")[::2] for word in words)
    chosen = asked["B"].split(",") if asked.get("B") else slugs()
    unknown = [name for name in chosen if name not in slugs()]
    if unknown:
        print(f"no such bench: {', '.join(unknown)}; there are {', '.join(slugs())}", file=sys.stderr)
        return 2
    for slug in chosen:
        run(slug)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
