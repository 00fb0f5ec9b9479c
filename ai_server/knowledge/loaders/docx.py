"""DOCX: paragraphs, lists and tables in their order, headers and footers once; comments stay private."""

from __future__ import annotations

import io
import zipfile
from typing import TYPE_CHECKING, Any, Final

from ai_server.knowledge.loaders.encoding import clean
from ai_server.knowledge.loaders.model import Block, BlockKind, Loaded, Rejected
from ai_server.knowledge.loaders.outline import Outline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from docx.document import Document
    from docx.table import Table
    from docx.text.paragraph import Paragraph

ENTRIES_LIMIT: Final = 5_000
UNPACKED_LIMIT: Final = 100 * 1024 * 1024
_RATIO_LIMIT: Final = 200
_RATIO_FROM: Final = 1024 * 1024


def load(data: bytes) -> Loaded:
    """Read a DOCX document.

    Raises:
        Rejected: not a DOCX, encrypted, or unpacking to more than is allowed.
    """
    _check_archive(data)
    import docx
    from docx.opc.exceptions import OpcError
    from lxml.etree import LxmlError

    try:
        return _read(docx.Document(io.BytesIO(data)))
    except (OpcError, LxmlError, KeyError, ValueError, AttributeError, RecursionError, zipfile.BadZipFile) as exc:
        raise Rejected(f"it cannot be read as DOCX: {type(exc).__name__}: {str(exc)[:200]}") from exc


def _check_archive(data: bytes) -> None:
    """Refuse from the directory, before anything is unpacked."""
    if data.startswith(b"\xd0\xcf\x11\xe0"):
        raise Rejected("it is an old or a password-protected Word file: save it as DOCX without a password")
    try:
        entries = zipfile.ZipFile(io.BytesIO(data)).infolist()
    except (zipfile.BadZipFile, ValueError, OverflowError, NotImplementedError) as exc:
        raise Rejected("it is not a DOCX file") from exc
    if len(entries) > ENTRIES_LIMIT:
        raise Rejected(f"it unpacks to {len(entries):,} files; the limit is {ENTRIES_LIMIT:,}")
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > UNPACKED_LIMIT:
        raise Rejected(f"it unpacks to more than {UNPACKED_LIMIT // 1024 // 1024} MiB")
    for entry in entries:
        if entry.file_size > _RATIO_FROM and entry.file_size > _RATIO_LIMIT * max(entry.compress_size, 1):
            raise Rejected(f"`{entry.filename[:80]}` in it is packed more than {_RATIO_LIMIT} to 1")
        if entry.flag_bits & 1:
            raise Rejected("it needs a password: save it without one")


def _read(document: Document) -> Loaded:
    outline = Outline()
    title = clean(document.core_properties.title or "").strip()
    for item in document.iter_inner_content():
        if hasattr(item, "rows"):
            outline.add(BlockKind.TABLE, _table(item))  # pyright: ignore[reportArgumentType]
            continue
        text = clean(item.text).strip()  # pyright: ignore[reportAttributeAccessIssue]
        level = _heading_level(item)  # pyright: ignore[reportArgumentType]
        if not text:
            continue
        if level is None:
            outline.add(BlockKind.PROSE, _bullet(item) + text)
        else:
            outline.heading(level, text)
            title = title or text
    blocks = (*outline.end(), *_margins(document))
    return Loaded(title, {}, blocks, len(document.inline_shapes), 0, "docx")


def _heading_level(paragraph: Paragraph) -> int | None:
    """Give 0 for the title, 1 to 9 for headings, None for text; styles are named in English inside the file."""
    name = (paragraph.style.name if paragraph.style is not None else "") or ""
    if name == "Title":
        return 0
    number = name.removeprefix("Heading ")
    return int(number) if name != number and number.isdigit() else None


def _bullet(paragraph: Any) -> str:
    properties = paragraph._p.pPr  # noqa: SLF001 - python-docx shows list membership nowhere else
    return "- " if properties is not None and properties.numPr is not None else ""


def _table(table: Table) -> str:
    lines = [" | ".join(_cells(row)) for row in table.rows]
    return "\n".join(line for line in lines if line.strip(" |"))


def _cells(row: Any) -> Iterator[str]:
    """Give a row's cells, a merged one once; a table inside a cell is read along."""
    seen: list[Any] = []
    for cell in row.cells:
        if cell._tc in seen:  # noqa: SLF001 - merged cells share one element
            continue
        seen.append(cell._tc)  # noqa: SLF001
        yield " ".join(_inner(cell.iter_inner_content()))


def _inner(items: Iterable[Any]) -> Iterator[str]:
    for item in items:
        if hasattr(item, "rows"):
            yield from (" ".join(_cells(row)) for row in item.rows)
        elif item.text.strip():
            yield " ".join(clean(item.text).split())


def _margins(document: Document) -> list[Block]:
    """Give headers and footers, each text once."""
    texts: dict[str, None] = {}
    for section in document.sections:
        for part in (section.header, section.footer):
            if not part.is_linked_to_previous:
                texts.update(dict.fromkeys(_inner(part.iter_inner_content())))
    return [Block((), BlockKind.PROSE, text) for text in texts]
