"""The durable index in dictionaries; `lost` makes every call fail as a dead child does."""

from __future__ import annotations

import numpy as np

from ai_server.knowledge.durable import IndexLost, Records


class MemoryDurableIndex:
    """Implements `DurableIndex`; survives a restart when the same object is handed on."""

    def __init__(self) -> None:
        self.collections: dict[str, dict[str, tuple[np.ndarray, str, dict]]] = {}
        self.cache: dict[tuple[str, str], object] = {}
        self.lost = False

    owned = True

    async def probe(self):
        self._check()

    def _check(self) -> None:
        if self.lost:
            raise IndexLost("The index of documents is not available: it was told to be lost.")

    async def prepare(self, collection):
        self._check()
        return len(self.collections.setdefault(collection, {}))

    async def put(self, collection, records):
        self._check()
        rows = self.collections.setdefault(collection, {})
        for each, vector, text, body in zip(records.ids, records.vectors, records.texts, records.bodies, strict=True):
            rows[each] = (np.array(vector), text, dict(body))

    async def remove(self, collection, ids):
        self._check()
        for each in ids:
            self.collections.get(collection, {}).pop(each, None)

    async def rows(self, collection):
        self._check()
        rows = self.collections.get(collection, {})
        if rows:
            yield Records(
                list(rows),
                np.stack([vector for vector, _, _ in rows.values()]),
                [text for _, text, _ in rows.values()],
                [body for _, _, body in rows.values()],
            )

    async def fetch(self, collection, ids):
        self._check()
        rows = self.collections.get(collection, {})
        held = [each for each in ids if each in rows]
        return Records(
            held,
            np.stack([rows[each][0] for each in held]) if held else np.zeros((0, 0), np.float32),
            [rows[each][1] for each in held],
            [rows[each][2] for each in held],
        )

    async def names(self):
        self._check()
        return list(self.collections)

    async def nearest(self, collection, vectors, count):
        self._check()
        rows = self.collections.get(collection, {})
        names = list(rows)
        if not names:
            return [[] for _ in vectors]
        held = np.stack([vector / np.linalg.norm(vector) for vector, _, _ in rows.values()])
        return [[names[i] for i in np.argsort(-(held @ each), kind="stable")[:count]] for each in vectors]

    async def drop(self, collection):
        self._check()
        self.collections.pop(collection, None)

    async def recall(self, fingerprint, hashes):
        self._check()
        return {each: self.cache[fingerprint, each] for each in hashes if (fingerprint, each) in self.cache}

    async def remember(self, fingerprint, vectors):
        self._check()
        self.cache |= {(fingerprint, name): each for name, each in vectors.items()}

    async def quarantine(self):
        self.collections.clear()
        self.lost = False

    async def close(self):
        pass
