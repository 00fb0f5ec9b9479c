"""Sources that were not declared in settings but given with a sync: remembered, so that a rebuild finds them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ai_server.knowledge.contract import SourceSpec

if TYPE_CHECKING:
    from collections.abc import Sequence


class SourceBook:
    """One small JSON file, replaced whole; the newest root of a source wins."""

    def __init__(self, path: Path) -> None:
        """`path` need not exist yet."""
        self._path = path

    def of(self, project_id: str) -> Sequence[SourceSpec]:
        """Give the sources remembered for a project; a damaged file remembers none."""
        return [
            SourceSpec(
                source_id=source_id,
                root=Path(entry["root"]),
                defaults={key: tuple(values) for key, values in entry["defaults"].items()},
                key_map=dict(entry["key_map"]),
                managed=bool(entry["managed"]),
            )
            for source_id, entry in self._read().get(project_id, {}).items()
        ]

    def remember(self, project_id: str, source: SourceSpec) -> None:
        """Write a source down, durably."""
        book = self._read()
        book.setdefault(project_id, {})[source.source_id] = {
            "root": str(source.root.resolve()),
            "defaults": {key: list(values) for key, values in source.defaults.items()},
            "key_map": dict(source.key_map),
            "managed": source.managed,
        }
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_suffix(".new")
        with fresh.open("w", encoding="utf-8") as file:
            json.dump(book, file, ensure_ascii=False, indent=1)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._path)

    def _read(self) -> dict[str, dict[str, dict[str, Any]]]:
        try:
            return json.loads(self._path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
