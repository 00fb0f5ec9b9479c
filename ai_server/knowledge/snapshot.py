"""An exact, immutable picture of one project's index, in this process, laid out so that rights cost nothing.

Rows with the same rights values lie together. What a person may read is then a few slices, and a search touches
only those: a passage that may not be read is never scored, so it can neither be returned nor be guessed from scores.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from ai_server.knowledge import code_marks, rights
from ai_server.knowledge.lexical import LexicalIndex, numbered, terms
from ai_server.knowledge.vectors import PassageVectors, similarities

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from ai_server.knowledge.contract import Chunk, KeySpec, RetrievalContext

_ALLOWED_KEPT: Final = 256
"""Most sets of contexts whose rows are remembered."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A passage with its vectors and the terms it is found by, `numbered`."""

    chunk: Chunk
    vectors: PassageVectors
    words: NDArray[np.int32]


def entry(chunk: Chunk, vectors: PassageVectors) -> Entry:
    """Make an entry: title and headings are words of a passage too."""
    found = terms(f"{chunk.title}\n{chunk.heading}\n{code_marks.plain(chunk.text)}", chunk.language)
    return Entry(chunk, vectors, numbered(found))


class Snapshot:
    """Entries in the order of their rights, with matrices beside them."""

    def __init__(self, entries: Iterable[Entry], keys: Sequence[KeySpec], dimension: int, generation: int) -> None:
        """Lay out the entries; none is fine."""
        self.keys = tuple(keys)
        self.needed = rights.rights_keys(keys)
        self.generation = generation
        self.entries = sorted(entries, key=self._rights_of)
        self.rows = {each.chunk.chunk_id: row for row, each in enumerate(self.entries)}
        self._lay_out(dimension)
        self.lexical = LexicalIndex([each.words for each in self.entries])
        self._languages = np.array([each.chunk.language for each in self.entries], dtype=object)
        self._partitions = self._cut()
        self.allowed = lru_cache(maxsize=_ALLOWED_KEPT)(self._allowed)

    def __len__(self) -> int:
        """Count passages."""
        return len(self.entries)

    def chunk(self, chunk_id: str) -> Chunk | None:
        """Find a passage, without asking who wants it."""
        row = self.rows.get(chunk_id)
        return None if row is None else self.entries[row].chunk

    def readable(self, contexts: Iterable[RetrievalContext]) -> NDArray[np.int64]:
        """Give the rows that at least one context may read, ascending; cached for the contexts asked last."""
        usable = rights.usable(contexts, self.keys)
        return self.allowed(frozenset(frozenset(context.items()) for context in usable))

    def in_language(self, rows: NDArray[np.int64], language: str) -> NDArray[np.int64]:
        """Keep the rows in one language."""
        return rows[self._languages[rows] == language]

    def foreign(self, rows: NDArray[np.int64], language: str) -> NDArray[np.bool_]:
        """Tell which rows are in another language; where one of the two is not known, none is."""
        written = self._languages[rows]
        return np.asarray((written != language) & (written != "") & (language != ""), dtype=np.bool_)

    def similarities(self, rows: NDArray[np.int64], query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cosines of rows (ascending) with a unit query, in their order."""
        if len(rows) == len(self.entries):
            return self.vectors @ query
        # Slices of whole partitions are views: nothing is copied but what two slices need.
        parts = [self.vectors[start:stop] @ query for start, stop in _runs(rows)]
        return np.concatenate(parts) if parts else np.zeros(0, np.float32)

    def best_sentences(self, rows: NDArray[np.int64], query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Give, for each row, the cosine of its best sentence; the passage's own where it has none."""
        best = self.vectors[rows] @ query
        counts = self._starts[rows + 1] - self._starts[rows]
        some = np.flatnonzero(counts)
        if not len(some):
            return best
        begins = np.cumsum(counts) - counts
        places = np.repeat(self._starts[rows] - begins, counts) + np.arange(counts.sum())
        found = similarities(self._sentences[places], self._scales[places], query)
        best[some] = np.maximum.reduceat(found, begins[some])
        return best

    def sentence_similarities(self, row: int, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Cosines of a row's sentences, in the order of the text."""
        vectors = self.entries[row].vectors
        return similarities(vectors.sentences, vectors.scales, query)

    def _lay_out(self, dimension: int) -> None:
        """Put all vectors into two matrices, and let entries look into them: each is in memory once."""
        held = [each.vectors for each in self.entries]
        self.vectors = np.stack([each.whole for each in held]) if held else np.zeros((0, dimension), np.float32)
        counts = np.array([0, *(len(each.scales) for each in held)], dtype=np.int64)
        self._starts = np.cumsum(counts)
        self._sentences = (
            np.concatenate([each.sentences for each in held]) if held else np.zeros((0, dimension), np.int8)
        )
        self._scales = np.concatenate([each.scales for each in held]) if held else np.zeros(0, np.float32)
        for row, each in enumerate(self.entries):
            own = slice(self._starts[row], self._starts[row + 1])
            vectors = PassageVectors(self.vectors[row], self._sentences[own], self._scales[own])
            self.entries[row] = Entry(each.chunk, vectors, each.words)

    def _rights_of(self, each: Entry) -> tuple[tuple[str, ...], ...]:
        return tuple(tuple(sorted(each.chunk.metadata.get(key, ()))) for key in self.needed)

    def _cut(self) -> list[tuple[int, int]]:
        edges = [
            row
            for row, each in enumerate(self.entries)
            if row == 0 or self._rights_of(each) != self._rights_of(self.entries[row - 1])
        ]
        return list(pairwise([*edges, len(self.entries)]))

    def _allowed(self, wanted: frozenset[frozenset[tuple[str, frozenset[str]]]]) -> NDArray[np.int64]:
        contexts = [dict(context) for context in wanted]
        parts = [rows for start, stop in self._partitions if len(rows := self._allowed_in(start, stop, contexts))]
        return np.concatenate(parts) if parts else np.zeros(0, np.int64)

    def _allowed_in(self, start: int, stop: int, contexts: Sequence[RetrievalContext]) -> NDArray[np.int64]:
        values = self.entries[start].chunk.metadata
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
            if open_to and rights.may_read(self.entries[row].chunk.metadata, open_to, self.needed)
        ]
        return np.array(rows, dtype=np.int64)


def _runs(rows: NDArray[np.int64]) -> list[tuple[int, int]]:
    if not len(rows):
        return []
    breaks = np.flatnonzero(np.diff(rows) != 1) + 1
    starts = [int(rows[0]), *(int(rows[i]) for i in breaks)]
    stops = [*(int(rows[i - 1]) + 1 for i in breaks), int(rows[-1]) + 1]
    return list(zip(starts, stops, strict=True))
