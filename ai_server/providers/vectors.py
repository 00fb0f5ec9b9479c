"""Checks what an embedding call gave, and makes it what the index expects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from ai_server.providers.failures import Failures


def unit_vectors(
    rows: Sequence[Sequence[float]], count: int, dimension: int, failures: Failures
) -> NDArray[np.float32]:
    """Give `(count, dimension) float32` of unit length.

    Raises:
        ProviderCut: another number of vectors, another length, or one that has no direction: it was billed, and
            cannot be used.
    """
    if len(rows) != count or any(len(row) != dimension for row in rows):
        raise failures.malformed()
    matrix = np.asarray(rows, dtype=np.float32).reshape(count, dimension)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not np.all(np.isfinite(lengths)) or bool(np.any(lengths == 0)):
        raise failures.malformed()
    return matrix / lengths
