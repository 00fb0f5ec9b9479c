"""Searches while documents are ingested, against searches while nothing else happens: the same questions in turn.

The product's service over the embedded encoder: queries in this process, bulk text in its child at low priority,
Chroma and parsing in theirs. Each question is new, so each is embedded.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import statistics
import tempfile
import time
from pathlib import Path

from ai_server.knowledge.contract import KeySpec, ProjectKnowledge, SourceSpec, Spending
from ai_server.knowledge.service import KnowledgeService
from ai_server.ledger.meter import LedgerMeter
from ai_server.ledger.service import Ledger
from ai_server.providers import catalog
from ai_server.providers.embedded.embedding import MODEL
from ai_server.providers.embedded.factory import build
from ai_server.providers.metered_embedding import MeteredEmbedder
from ai_server.providers.registry import ProviderOptions
from ai_server.storage.sqlite import SqliteStateStore
from shared.clock import SystemClock
from tests.bench._sentences import DATA, questions_of
from tests.bench.measure import Measure
from tests.eval.sets import HandedSets

WHAT = "search latency of the whole service while a folder is ingested ÷ while nothing else happens"
KEYS = (KeySpec("audience", required=True, values=frozenset({"public"}), rights=True),)
CONTEXTS = ({"audience": frozenset({"public"})},)
INDEXED, INGESTED = 120, 2_000
"""Passages that are there before, and files that are ingested meanwhile (as many as there is time for)."""
QUESTIONS = int(os.environ.get("INGEST_ANSWERS_QUESTIONS", "300"))
PAUSE_S = 0.05


async def run() -> list[Measure]:
    """Ask without and with an ingest."""
    data = Path(os.environ.get(DATA, ""))
    if not (data / "retrieval").is_dir():
        return [Measure("skipped", 0, "questions", note=f"set {DATA} to the folder of the evaluation data")]
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as name:
        return await _measured(Path(name), data)


async def _measured(folder: Path, data: Path) -> list[Measure]:
    passages = HandedSets(data).squad2().passages + HandedSets(data).piaf().passages
    for number, each in enumerate(passages[: INDEXED + INGESTED]):
        file = folder / ("before" if number < INDEXED else "meanwhile") / f"{number}.txt"
        file.parent.mkdir(exist_ok=True)
        file.write_text(each.text, encoding="utf-8")
    clock = SystemClock()
    store = SqliteStateStore(folder / "state.sqlite", clock)
    meter = LedgerMeter(Ledger(store, clock), clock)
    bundle = build(ProviderOptions("embedded", MODEL, "embedding", clock), catalog.load())
    embedder = MeteredEmbedder(bundle, meter=meter, clock=clock, observe=lambda _: None)
    project = ProjectKnowledge("bench", (), KEYS, ("fr", "en"))
    service = KnowledgeService([project], {"bench": embedder}, store.index, folder / "ai", clock)
    await store.open()
    try:
        await embedder.provider.initialize()
        await service.start()
        await _sync(service, folder / "before")
        asked = itertools.cycle(questions_of(data, 2 * QUESTIONS + 20))
        await _asked(service, asked, 10)
        quiet = await _asked(service, asked, QUESTIONS)
        ingest = asyncio.create_task(_sync(service, folder / "meanwhile"))
        busy = await _asked(service, asked, QUESTIONS)
        done = ingest.done()
        ingest.cancel()
        await asyncio.gather(ingest, return_exceptions=True)
    finally:
        await service.close()
        await embedder.provider.close()
        await store.close()
    note = "the ingest ended before the questions did" if done else "the ingest ran all the time"
    return [each for place in (50, 99) for each in _lines(place, quiet, busy, note)]


def _lines(place: int, quiet: list[float], busy: list[float], note: str) -> list[Measure]:
    before, during = (statistics.quantiles(times, n=100)[place - 1] * 1_000 for times in (quiet, busy))
    return [
        Measure(f"p{place} alone", before, "ms"),
        Measure(f"p{place} during ingest", during, "ms", "alone", during / before, note=note),
    ]


async def _sync(service: KnowledgeService, root: Path) -> None:
    async for _ in service.sync("bench", SourceSpec(root.name, root, {"audience": ("public",)}, {})):
        pass


async def _asked(service: KnowledgeService, asked, count: int) -> list[float]:
    times: list[float] = []
    for number, question in enumerate(itertools.islice(asked, count)):
        started = time.perf_counter()
        spending = Spending("bench", "", "", f"ask/{id(times)}/{number}")
        await service.search("bench", question.text, CONTEXTS, limit=8, language=question.language, spending=spending)
        times.append(time.perf_counter() - started)
        await asyncio.sleep(PAUSE_S)
    return times
