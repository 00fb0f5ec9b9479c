"""Ingestion end to end, against the embedding model alone on the same texts; and a second sync of unchanged documents.

Everything is the product's: files, parsing child, chunking, the encoder in its child behind the ledger, Chroma in its
child, the registry on a synced file. The model alone is that same encoder and child, called with the texts that the
sync embeds: once the passages only, once with their sentences, which the product embeds too. Trees take turns (sync,
model alone, model alone), so that a slow minute of the machine hits both sides of a ratio.

The children run at normal priority here: with the product's low one, whatever else the machine does would be measured,
and more of it on the side whose work is all in them.

Of each tree a part is taken, in an order that is the same everywhere, up to `INGEST_CHARACTERS` (0: whole trees).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ai_server.knowledge import documents, parsing, sentences
from ai_server.knowledge.contract import KeySpec, ProjectKnowledge, SourceSpec, Spending, SyncSummary
from ai_server.knowledge.service import KnowledgeService
from ai_server.ledger.meter import LedgerMeter
from ai_server.ledger.service import Ledger
from ai_server.providers import catalog
from ai_server.providers.embedded import embedding
from ai_server.providers.embedded.embedding import MODEL
from ai_server.providers.embedded.factory import build
from ai_server.providers.metered_embedding import MeteredEmbedder
from ai_server.providers.registry import ProviderOptions
from ai_server.storage.sqlite import SqliteStateStore
from shared.clock import SystemClock
from tests.bench.measure import Measure

WHAT = (
    "chunks/s from files to durable index, embedded encoder in its child, ledger and registry on synced files; against "
    "the same encoder alone, tree by tree; then each tree again, unchanged"
)
TREES = {"bookstack_en": "en", "chatwoot_en": "en", "djangogirls_es": "es", "guides_etalab_fr": "fr"}
TREES |= {"service_public_fr": "fr"}
CHARACTERS = int(os.environ.get("INGEST_CHARACTERS", "24000"))
"""Most characters of files taken of each tree; the whole is 2.8 million."""
LAST_START_S = 300.0
"""No tree is begun after this long; what was left out is said."""
GOAL, AGAIN_GOAL = 0.6, 0.02
KEYS = (KeySpec("audience", required=True, values=frozenset({"public"}), rights=True),)


@dataclass(frozen=True)
class Turn:
    """What one tree took, in seconds."""

    chunks: int
    texts: int
    first: float
    again: float
    passages_alone: float
    all_alone: float


class Bench:
    """The product's parts on a folder of their own."""

    def __init__(self, folder: Path) -> None:
        clock = SystemClock()
        self._store = SqliteStateStore(folder / "state.sqlite", clock)
        self._meter = LedgerMeter(Ledger(self._store, clock), clock)
        self._project = ProjectKnowledge("bench", (), KEYS, ("fr", "en", "es"))
        bundle = build(ProviderOptions("embedded", MODEL, "embedding", clock), catalog.load())
        self._embedder = MeteredEmbedder(bundle, meter=self._meter, clock=clock, observe=lambda _: None)
        self._service = KnowledgeService(
            [self._project], {"bench": self._embedder}, self._store.index, folder / "ai", clock
        )

    async def open(self, warm: Path) -> None:
        """Start everything, children included, with a document that is not counted."""
        await self._store.open()
        await self._service.start()
        await self._sync(SourceSpec("warm-up", warm, {"audience": ("public",)}, {}))

    async def close(self) -> None:
        await self._service.close()
        await self._embedder.provider.close()
        await self._store.close()

    async def turn(self, source: SourceSpec) -> Turn:
        """Sync a tree twice, and embed its texts without the product around them."""
        first, summary = await self._sync(source)
        again, nothing = await self._sync(source)
        assert nothing.chunks_embedded == 0, "a second sync embeds nothing"
        passages, split = self._texts(source)
        assert summary.chunks_embedded <= len(passages)
        return Turn(
            len(passages),
            len(passages) + len(split),
            first,
            again,
            await self._alone(f"{source.source_id}/passages", passages),
            await self._alone(f"{source.source_id}/all", passages + split),
        )

    async def _sync(self, source: SourceSpec) -> tuple[float, SyncSummary]:
        started = time.perf_counter()
        events = [event async for event in self._service.sync("bench", source)]
        taken = time.perf_counter() - started
        assert isinstance(events[-1], SyncSummary)
        return taken, events[-1]

    def _texts(self, source: SourceSpec) -> tuple[list[str], list[str]]:
        """Give the texts that a sync of this tree embeds: passages, and their sentences; each text once."""
        found: dict[str, str] = {}
        for path in sorted(path for path in source.root.rglob("*") if path.is_file()):
            relative = path.relative_to(source.root).as_posix()
            taken = documents.prepare(relative, documents.load(relative, path.read_bytes()), [], source, self._project)
            found |= dict(zip(taken.embedded_texts, (chunk.text for chunk in taken.chunks), strict=True))
        return list(found), [sentence for text in found.values() for sentence in sentences.spoken(text)]

    async def _alone(self, name: str, texts: list[str]) -> float:
        started = time.perf_counter()
        await self._embedder.embed_documents(texts, Spending("bench", "", "", f"alone/{name}"))
        return time.perf_counter() - started


def part_of(tree: Path, into: Path) -> None:
    """Copy files that hold text, ordered by the hash of their path, up to `CHARACTERS`."""
    paths = (path for path in tree.rglob("*") if path.suffix in documents.SUFFIXES)
    left = CHARACTERS or 2**60
    for path in sorted(paths, key=lambda path: hashlib.sha256(path.relative_to(tree).as_posix().encode()).digest()):
        data = path.read_bytes()
        if len(data) > left or not documents.load(path.name, data).blocks:
            continue
        left -= len(data)
        copy = into / path.relative_to(tree)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)


async def run() -> list[Measure]:
    """Measure tree by tree."""
    data = Path(os.environ.get("PASSEUR_EVAL_DATA", "")) / "docs"
    if not all((data / tree).is_dir() for tree in TREES):
        return [Measure("skipped", 0, "trees", note="set PASSEUR_EVAL_DATA to the folder of the evaluation data")]
    parsing.NICENESS = embedding.BULK_NICENESS = 0
    turns: list[Turn] = []
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as name:
        folder = Path(name)
        bench = Bench(folder)
        (folder / "warm").mkdir()
        (folder / "warm" / "page.md").write_text("# Warm\n\nA page that gets every child started.\n", encoding="utf-8")
        await bench.open(folder / "warm")
        started = time.monotonic()
        try:
            for tree, language in TREES.items():
                if time.monotonic() - started > LAST_START_S:
                    break
                part_of(data / tree, folder / tree)
                defaults = {"audience": ("public",), "language": (language,)}
                turns.append(await bench.turn(SourceSpec(tree, folder / tree, defaults, {"lang": "language"})))
        finally:
            await bench.close()
    return figures(turns)


def figures(turns: list[Turn]) -> list[Measure]:
    """Sum up: rates over all trees, ratios over all with the spread between trees."""
    chunks, first = sum(turn.chunks for turn in turns), sum(turn.first for turn in turns)
    texts = sum(turn.texts for turn in turns)
    passages, everything = sum(turn.passages_alone for turn in turns), sum(turn.all_alone for turn in turns)
    again = sum(turn.again for turn in turns)
    taken = (
        "whole trees"
        if not CHARACTERS
        else f"{CHARACTERS:,} characters at most of each of {len(turns)} trees of {len(TREES)}"
    )
    return [
        Measure("end to end", chunks / first, "chunks/s", note=f"{taken}: {chunks} chunks, {texts} texts embedded"),
        Measure(
            "model alone, passages and their sentences",
            chunks / everything,
            "chunks/s",
            "it, end to end",
            everything / first,
            GOAL,
            _spread([turn.all_alone / turn.first for turn in turns]),
        ),
        Measure(
            "model alone, passages only",
            chunks / passages,
            "chunks/s",
            "it, end to end",
            passages / first,
            GOAL,
            _spread([turn.passages_alone / turn.first for turn in turns]),
        ),
        Measure(
            "second sync, unchanged",
            again,
            "s",
            "the first",
            again / first,
            AGAIN_GOAL,
            _spread([turn.again / turn.first for turn in turns]),
        ),
    ]


def _spread(ratios: list[float]) -> str:
    return f"trees {min(ratios):.3g} to {max(ratios):.3g}, median {statistics.median(ratios):.3g}"
