"""From one file's bytes to passages ready for the index, or the reason why not."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from ai_server.knowledge import chunking, code_marks, language, metadata
from ai_server.knowledge.contract import Chunk
from ai_server.knowledge.loaders.model import INSTALL, TEXT_LIMIT, Loaded, Rejected

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_server.knowledge.contract import ProjectKnowledge, SourceSpec

_LOADERS: Final = {
    ".md": ("markdown", "load_markdown"),
    ".markdown": ("markdown", "load_markdown"),
    ".mdx": ("markdown", "load_mdx"),
    ".txt": ("plain", "load_text"),
    ".csv": ("plain", "load_csv"),
    ".pdf": ("pdf", "load"),
    ".docx": ("docx", "load"),
    ".html": ("html", "load"),
    ".htm": ("html", "load"),
}
SUFFIXES: Final = frozenset(_LOADERS)
"""Endings of files that are read as documents."""
_BY_TYPE: Final = {
    "application/pdf": (".pdf",),
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": (".docx",),
    "text/csv": (".csv",),
    "text/html": (".html", ".htm"),
    "text/markdown": (".md", ".markdown", ".mdx"),
    "text/plain": (".txt", ".md", ".markdown", ".mdx", ".csv"),
}
"""Endings that a media type may go with, the usual one first."""
LOADERS_VERSION: Final = "4"
"""Changes when a loader would read the same file otherwise."""
_PACKAGES: Final = ("pypdf", "cryptography", "docx", "bs4", "lxml", "charset_normalizer", "PIL")
"""Packages whose presence decides what a file is read as."""
_TRUE: Final = frozenset({"true", "yes", "on", "1"})
_TITLE_LIMIT: Final = 300
_FAULT_LIMIT: Final = 200
"""Most characters that are told of what a reader stumbled over."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document that was taken: its passages and, in the same order, the texts that stand for them."""

    path: str
    title: str
    language: str
    values: Mapping[str, tuple[str, ...]]
    undeclared_keys: tuple[str, ...]
    chunks: tuple[Chunk, ...]
    embedded_texts: tuple[str, ...]


def load(name: str, data: bytes) -> Loaded:
    """Read a file by the ending of its name.

    Raises:
        Rejected: its loader says why, or the packages that it needs are not installed.
    """
    module, function = _LOADERS[PurePosixPath(name).suffix.lower()]
    try:
        # Imported when one comes: the packages behind PDF, DOCX and HTML are an extra.
        return getattr(import_module(f"ai_server.knowledge.loaders.{module}"), function)(data)
    except ModuleNotFoundError as exc:
        raise Rejected(f"`{exc.name}` is needed to read it: {INSTALL}, then sync again") from exc
    except (Rejected, MemoryError):
        raise
    except Exception as exc:  # The boundary to readers of files that anybody wrote: one of them must not end a sync.
        raise Rejected(f"it cannot be read: {type(exc).__name__}: {str(exc)[:_FAULT_LIMIT]}") from exc


def name_for(name: str, mime_type: str) -> str:
    """Give an uploaded file a name that its type is read by: people send PDFs named `scan` or `report.final`."""
    endings = _BY_TYPE.get(mime_type.partition(";")[0].strip().lower())
    if endings is None or PurePosixPath(name).suffix.lower() in endings:
        return name
    return f"{name or 'file'}{endings[0]}"


def prepare(
    path: str,
    loaded: Loaded,
    inherited: Sequence[Mapping[str, tuple[str, ...]]],
    source: SourceSpec,
    project: ProjectKnowledge,
    *,
    own: Mapping[str, tuple[str, ...]] | None = None,
) -> Prepared:
    """Describe, validate and cut a loaded document. `own` came with it, and counts before what it says of itself.

    Raises:
        Rejected: its metadata is not what the project declares, or it holds no text, or too much.
    """
    size = sum(len(block.text) for block in loaded.blocks)
    if not size:
        if loaded.skipped_image_count:
            raise Rejected(
                f"it holds {loaded.skipped_image_count} images and no text: write down what they say, or run OCR"
            )
        raise Rejected("it holds no text: write some, or take it out of the folder")
    if size > TEXT_LIMIT:
        raise Rejected(f"it holds more than {TEXT_LIMIT:,} characters: split it")
    values = metadata.merge([source.defaults, *inherited, loaded.metadata, own or {}], source.key_map)
    title = _first(values, "title") or loaded.title or PurePosixPath(path).stem
    if metadata.LANGUAGE not in values and project.languages:
        sample = "\n".join([title, *(code_marks.plain(block.text) for block in loaded.blocks[:50])])
        values[metadata.LANGUAGE] = (language.detect(sample, project.languages, project.languages[0]),)
    described = metadata.validate(values, project.keys)
    pieces = chunking.cut(loaded.blocks)
    chunks = _chunks(source.source_id, path, title[:_TITLE_LIMIT], described.values, pieces)
    return Prepared(
        path=path,
        title=title[:_TITLE_LIMIT],
        language=_first(described.values, metadata.LANGUAGE),
        values=described.values,
        undeclared_keys=described.undeclared_keys,
        chunks=chunks,
        embedded_texts=tuple(chunking.embedded_text(title[:_TITLE_LIMIT], piece) for piece in pieces),
    )


def settings_digest(
    source: SourceSpec,
    project: ProjectKnowledge,
    inherited: Sequence[Mapping[str, tuple[str, ...]]],
    own: Mapping[str, tuple[str, ...]],
) -> bytes:
    """Sum up everything but the file itself that decides what the index holds of it, whatever embeds it."""
    keys = [[key.name, key.required, sorted(key.values), key.rights] for key in project.keys]
    decided = [
        {name: list(values) for name, values in source.defaults.items()},
        dict(source.key_map),
        [{name: list(values) for name, values in layer.items()} for layer in (*inherited, own)],
        keys,
        list(project.languages),
        [chunking.VERSION, LOADERS_VERSION, *installed()],
    ]
    return hashlib.sha256(json.dumps(decided, sort_keys=True).encode()).digest()


@cache
def installed() -> tuple[str, ...]:
    """Name the reading packages that are there: with another one a file that was rejected may be read."""
    return tuple(name for name in _PACKAGES if find_spec(name) is not None)


def _chunks(
    source_id: str,
    path: str,
    title: str,
    values: Mapping[str, tuple[str, ...]],
    pieces: Sequence[chunking.Piece],
) -> tuple[Chunk, ...]:
    return tuple(
        Chunk(
            chunk_id=chunk_id,
            source_id=source_id,
            path=path,
            title=title,
            url=_url(values),
            heading=piece.heading,
            text=piece.text,
            language=_first(values, metadata.LANGUAGE),
            metadata=values,
            quotable=_first(values, metadata.CHATBOT_ONLY).lower() not in _TRUE,
        )
        for chunk_id, piece in zip(chunking.chunk_ids(source_id, path, pieces), pieces, strict=True)
    )


def _first(values: Mapping[str, tuple[str, ...]], key: str) -> str:
    return values.get(key, ("",))[0]


def _url(values: Mapping[str, tuple[str, ...]]) -> str | None:
    """Links come from metadata only, and only web addresses: `javascript:` and the like are none."""
    url = _first(values, "url")
    return url if url.startswith(("https://", "http://")) else None
