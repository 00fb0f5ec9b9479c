"""An exact, immutable picture of one project's index, in this process, laid out so that rights cost nothing.

Rows with the same rights values lie together. What a person may read is then a few slices, and a search touches
only those: a passage that may not be read is never scored, so it can neither be returned nor be guessed from scores.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import lru_cache
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from ai_server.knowledge import rights, sentences
from ai_server.knowledge.columns import Entry, Piece, columns_of, joined
from ai_server.knowledge.lexical import LexicalIndex, numbered, terms_of
from ai_server.knowledge.vectors import dots, similarities

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from ai_server.knowledge.contract import Chunk, KeySpec, RetrievalContext
    from ai_server.knowledge.vectors import PassageVectors

Rights: TypeAlias = tuple[tuple[str, ...], ...]
"""The values that a passage has for each rights key, keys and values sorted."""

_ALLOWED_KEPT: Final = 256
"""Most sets of contexts whose rows are remembered."""


def entry(chunk: Chunk, vectors: PassageVectors) -> Entry:
    """Make an entry: title and headings are words of a passage too."""
    found = terms_of([f"{chunk.title}\n{chunk.heading}", *sentences.spoken(chunk.text)], chunk.language)
    places = np.repeat(np.arange(len(found), dtype=np.int8), [len(each) for each in found])
    return Entry(chunk, vectors, numbered([term for each in found for term in each]), places)


class Snapshot:
    """Passages in the order of their rights, with matrices beside them."""

    def __init__(
        self,
        entries: Iterable[Entry],
        keys: Sequence[KeySpec],
        dimension: int,
        generation: int,
        *,
        after: Snapshot | None = None,
        gone: Collection[str] = (),
    ) -> None:
        """Lay out the entries, and what `after` held but for the passages that are `gone`; none is fine.

        What is taken over is moved in blocks: one changed passage among a hundred thousand costs a copy of the
        arrays, and no look at each passage but for the words.
        """
        self.keys = tuple(keys)
        self.needed = rights.rights_keys(keys)
        self.generation = generation
        self.dimension = dimension
        fresh = columns_of(sorted(entries, key=lambda each: self._rights_of(each.chunk)), dimension)
        grouped = {} if after is None else after.left_without(gone)
        stop = 0
        for values, chunks in groupby(fresh.chunks, self._rights_of):
            start, stop = stop, stop + len(list(chunks))
            grouped.setdefault(values, []).append(Piece(fresh, start, stop))
        ordered = {values: grouped[values] for values in sorted(grouped) if grouped[values]}
        self._held = joined([piece for pieces in ordered.values() for piece in pieces], dimension)
        self._partitions = self._cut(ordered)
        self.chunks = self._held.chunks
        self.vectors = self._held.vectors
        self.rows = {chunk.chunk_id: row for row, chunk in enumerate(self.chunks)}
        self.lexical = LexicalIndex(self._held.words, np.diff(self._held.word_starts))
        self.allowed = lru_cache(maxsize=_ALLOWED_KEPT)(self._allowed)

    def __len__(self) -> int:
        """Count passages."""
        return len(self.chunks)

    def chunk(self, chunk_id: str) -> Chunk | None:
        """Find a passage, without asking who wants it."""
        row = self.rows.get(chunk_id)
        return None if row is None else self.chunks[row]

    def left_without(self, gone: Collection[str]) -> dict[Rights, list[Piece]]:
        """Give the rows that stay when some passages go, in blocks that lie together, by their rights values."""
        rows = sorted(self.rows[chunk_id] for chunk_id in gone if chunk_id in self.rows)
        found: dict[Rights, list[Piece]] = {}
        for values, (start, stop) in self._partitions.items():
            edges = [start - 1, *rows[bisect_left(rows, start) : bisect_left(rows, stop)], stop]
            found[values] = [Piece(self._held, a + 1, b) for a, b in pairwise(edges) if b > a + 1]
        return found

    def readable(self, contexts: Iterable[RetrievalContext]) -> NDArray[np.int64]:
        """Give the rows that at least one context may read, ascending; cached for the contexts asked last."""
        usable = rights.usable(contexts, self.keys)
        return self.allowed(frozenset(frozenset(context.items()) for context in usable))

    def in_language(self, rows: NDArray[np.int64], language: str) -> NDArray[np.int64]:
        """Keep the rows in one language."""
        return rows[self._held.languages[rows] == language]

    def foreign(self, rows: NDArray[np.int64], language: str) -> NDArray[np.bool_]:
        """Tell which rows are in another language; where one of the two is not known, none is."""
        written = self._held.languages[rows]
        return np.asarray((written != language) & (written != "") & (language != ""), dtype=np.bool_)

    def similarities(self, rows: NDArray[np.int64], query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cosines of rows (ascending) with a unit query, in their order."""
        if len(rows) == len(self.chunks):
            return dots(self.vectors, query)
        # Slices of whole partitions are views: nothing is copied but what two slices need.
        parts = [dots(self.vectors[start:stop], query) for start, stop in _runs(rows)]
        return np.concatenate(parts) if parts else np.zeros(0, np.float32)

    def best_sentences(self, rows: NDArray[np.int64], query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Give, for each row, the cosine of its best sentence; the passage's own where it has none."""
        best = dots(self.vectors[rows], query)
        counts = self._held.starts[rows + 1] - self._held.starts[rows]
        some = np.flatnonzero(counts)
        if not len(some):
            return best
        begins = np.cumsum(counts) - counts
        places = _inside(self._held.starts, rows)
        found = similarities(self._held.sentences[places], self._held.scales[places], query)
        best[some] = np.maximum.reduceat(found, begins[some])
        return best

    def best_covers(self, rows: NDArray[np.int64], question: Sequence[str]) -> NDArray[np.float32]:
        """Give, for each row, the most of a question's rarity that title, heading and one sentence cover together."""
        numbers, shares = self.lexical.weights(question)
        held = np.zeros((len(rows), 1 + sentences.MOST, len(numbers)), dtype=np.bool_)
        inside = _inside(self._held.word_starts, rows)
        counts = self._held.word_starts[rows + 1] - self._held.word_starts[rows]
        words = self._held.words[inside]
        known = np.flatnonzero(np.isin(words, numbers))
        owners = np.repeat(np.arange(len(rows)), counts)[known]
        held[owners, self._held.places[inside[known]], np.searchsorted(numbers, words[known])] = True
        return ((held | held[:, :1]) @ shares).max(axis=1)

    def sentence_similarities(self, row: int, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cosines of a row's sentences, in the order of the text."""
        own = slice(self._held.starts[row], self._held.starts[row + 1])
        return similarities(self._held.sentences[own], self._held.scales[own], query)

    def _rights_of(self, chunk: Chunk) -> Rights:
        return tuple(tuple(sorted(chunk.metadata.get(key, ()))) for key in self.needed)

    @staticmethod
    def _cut(ordered: Mapping[Rights, Sequence[Piece]]) -> dict[Rights, tuple[int, int]]:
        """Say where the rows of each rights values lie."""
        found: dict[Rights, tuple[int, int]] = {}
        start = 0
        for values, pieces in ordered.items():
            stop = start + sum(map(len, pieces))
            found[values] = (start, stop)
            start = stop
        return found

    def _allowed(self, wanted: frozenset[frozenset[tuple[str, frozenset[str]]]]) -> NDArray[np.int64]:
        contexts = [dict(context) for context in wanted]
        parts = [
            rows for start, stop in self._partitions.values() if len(rows := self._allowed_in(start, stop, contexts))
        ]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    def _allowed_in(self, start: int, stop: int, contexts: Sequence[RetrievalContext]) -> NDArray[np.int64]:
        values = self.chunks[start].metadata
        open_to: list[Mapping[str, frozenset[str]]] = []
        for context in contexts:
            own = {key: allowed for key, allowed in context.items() if key in self.needed}
            if rights.may_read(values, [own], self.needed) or (not self.needed and context):
                if len(own) == len(context):
                    return np.arange(start, stop, dtype=np.int64)
                open_to.append(context)
        # A context may also narrow by a declared key that is no rights key; those differ from row to row.
        rows = [
            row
            for row in range(start, stop)
            if open_to and rights.may_read(self.chunks[row].metadata, open_to, self.needed)
        ]
        return np.array(rows, dtype=np.int64)


def _inside(starts: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give the places of all that belongs to rows, row by row."""
    counts = starts[rows + 1] - starts[rows]
    begins = np.cumsum(counts) - counts
    return np.repeat(starts[rows] - begins, counts) + np.arange(counts.sum())


def _runs(rows: NDArray[np.int64]) -> list[tuple[int, int]]:
    if not len(rows):
        return []
    breaks = np.flatnonzero(np.diff(rows) != 1) + 1
    starts = [int(rows[0]), *(int(rows[i]) for i in breaks)]
    stops = [*(int(rows[i - 1]) + 1 for i in breaks), int(rows[-1]) + 1]
    return list(zip(starts, stops, strict=True))
