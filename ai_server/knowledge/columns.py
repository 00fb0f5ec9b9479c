"""Passages as a few arrays for all of them: of each passage only its `Chunk` is an object of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

_Number = TypeVar("_Number", bound=np.generic)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ai_server.knowledge.contract import Chunk
    from ai_server.knowledge.vectors import PassageVectors


@dataclass(frozen=True, slots=True)
class Entry:
    """A passage with its vectors and the terms it is found by, `numbered`.

    `places` says of each term in which sentence it stands: 1 for the first, 0 for title and heading.
    """

    chunk: Chunk
    vectors: PassageVectors
    words: NDArray[np.int32]
    places: NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Columns:
    """n passages. Row r's sentences lie at `starts[r]` to `starts[r + 1]`, its terms at `word_starts[r]` and on.

    An object with four small arrays for each passage took 1.3 KB of memory more, and made it slow to change one.
    """

    chunks: list[Chunk]
    vectors: NDArray[np.float32]
    starts: NDArray[np.int64]
    sentences: NDArray[np.int8]
    scales: NDArray[np.float32]
    word_starts: NDArray[np.int64]
    words: NDArray[np.int32]
    places: NDArray[np.int8]
    languages: NDArray[np.object_]

    def __len__(self) -> int:
        """Count passages."""
        return len(self.chunks)


@dataclass(frozen=True, slots=True)
class Piece:
    """Some rows of columns that lie together, `stop` exclusive."""

    columns: Columns
    start: int
    stop: int

    def __len__(self) -> int:
        """Count rows."""
        return self.stop - self.start


def columns_of(entries: Sequence[Entry], dimension: int) -> Columns:
    """Lay entries out in their order."""
    vectors = [each.vectors for each in entries]
    return Columns(
        chunks=[each.chunk for each in entries],
        vectors=np.stack([each.whole for each in vectors]) if vectors else np.zeros((0, dimension), np.float32),
        starts=_starts([len(each.scales) for each in vectors]),
        sentences=_end_to_end([each.sentences for each in vectors], np.zeros((0, dimension), np.int8)),
        scales=_end_to_end([each.scales for each in vectors], np.zeros(0, np.float32)),
        word_starts=_starts([len(each.words) for each in entries]),
        words=_end_to_end([each.words for each in entries], np.zeros(0, np.int32)),
        places=_end_to_end([each.places for each in entries], np.zeros(0, np.int8)),
        languages=np.array([each.chunk.language for each in entries], dtype=object),
    )


def joined(pieces: Sequence[Piece], dimension: int) -> Columns:
    """Lay pieces out one after the other; each array is copied once, and not at all where they are whole already."""
    if not pieces:
        return columns_of([], dimension)
    if _whole(pieces):
        return pieces[0].columns
    each = [(piece.columns, piece.start, piece.stop) for piece in pieces]
    said = [slice(own.starts[start], own.starts[stop]) for own, start, stop in each]
    worded = [slice(own.word_starts[start], own.word_starts[stop]) for own, start, stop in each]
    return Columns(
        chunks=[chunk for own, start, stop in each for chunk in own.chunks[start:stop]],
        vectors=np.concatenate([own.vectors[start:stop] for own, start, stop in each]),
        starts=_starts(np.concatenate([np.diff(own.starts[start : stop + 1]) for own, start, stop in each])),
        sentences=np.concatenate([own.sentences[part] for (own, _, _), part in zip(each, said, strict=True)]),
        scales=np.concatenate([own.scales[part] for (own, _, _), part in zip(each, said, strict=True)]),
        word_starts=_starts(np.concatenate([np.diff(own.word_starts[start : stop + 1]) for own, start, stop in each])),
        words=np.concatenate([own.words[part] for (own, _, _), part in zip(each, worded, strict=True)]),
        places=np.concatenate([own.places[part] for (own, _, _), part in zip(each, worded, strict=True)]),
        languages=np.concatenate([own.languages[start:stop] for own, start, stop in each]),
    )


def _whole(pieces: Sequence[Piece]) -> bool:
    """Tell whether pieces are all of one set of columns, in its order."""
    columns = pieces[0].columns
    edges = [0, *(piece.stop for piece in pieces)]
    follow = all(piece.columns is columns and piece.start == edge for piece, edge in zip(pieces, edges, strict=False))
    return follow and edges[-1] == len(columns)


def _starts(counts: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """Say where each part begins, and after the last one where it ends."""
    found = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=found[1:])
    return found


def _end_to_end(parts: Sequence[NDArray[_Number]], empty: NDArray[_Number]) -> NDArray[_Number]:
    return np.concatenate(parts) if parts else empty
