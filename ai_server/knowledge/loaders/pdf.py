"""PDF: the text layer, page by page. A scan without one is rejected with the remedy, never taken as empty."""

from __future__ import annotations

import io
import re
import unicodedata
from typing import TYPE_CHECKING, Final

from ai_server.knowledge.loaders.encoding import clean
from ai_server.knowledge.loaders.model import INSTALL, TEXT_LIMIT, Block, BlockKind, Loaded, Rejected

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

PAGES_LIMIT: Final = 2_000
_DAMAGED_SHARE: Final = 0.001
"""Share of NUL and private-use characters from which a text layer counts as damaged (pypdf issues 1351, 3975)."""
_HYPHEN: Final = re.compile(r"(\w)[-\u00ad\u2010]\n(?=[a-zà-ÿ])")
_WRAPPED: Final = re.compile(r"(?<=[^\s.:;!?…])[ \t]*\n(?=[ \t]*[^\s•·▪\-–*\d])")


def load(data: bytes) -> Loaded:
    """Read a PDF; one that only restricts its readers (an owner password) is opened.

    Raises:
        Rejected: a password is needed, no text layer, broken, or too many pages.
    """
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    try:
        reader = PdfReader(io.BytesIO(data), strict=False)
        _open(reader)
        return _read(reader)
    except (PyPdfError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as exc:
        # pypdf raises what its parsing stumbles over; all of it means that the file is not as PDF should be.
        raise Rejected(f"it cannot be read as PDF: {type(exc).__name__}: {str(exc)[:200]}") from exc


def _open(reader: PdfReader) -> None:
    from pypdf.errors import DependencyError

    if not reader.is_encrypted:
        return
    try:
        opened = reader.decrypt("")
    except DependencyError as exc:
        raise Rejected(f"it is encrypted; install what opens it: {INSTALL}, then sync again") from exc
    if not opened:
        raise Rejected("it needs a password: save it without one")


def _read(reader: PdfReader) -> Loaded:
    count = len(reader.pages)
    if count > PAGES_LIMIT:
        raise Rejected(f"it has {count:,} pages; the limit is {PAGES_LIMIT:,}: split it")
    blocks: list[Block] = []
    size = damaged = images = 0
    for number, page in enumerate(reader.pages, 1):
        raw = page.extract_text()
        damaged += sum(character == "\x00" or unicodedata.category(character) == "Co" for character in raw)
        text = _unwrapped(raw)
        images += _image_count(page)
        size += len(text)
        if size > TEXT_LIMIT:
            raise Rejected(f"it holds more than {TEXT_LIMIT:,} characters: split it")
        if text:
            blocks.append(Block((f"p. {number}",) if count > 1 else (), BlockKind.PROSE, text))
    blocks += _fields(reader)
    if not blocks:
        found = f"{count} pages and {images} images" if images else f"{count} pages"
        raise Rejected(f"it has no text layer ({found}): run text recognition (OCR) on it first")
    warnings = ("its text layer is damaged: some characters are missing",) if damaged > size * _DAMAGED_SHARE else ()
    title = str((reader.metadata.title if reader.metadata else "") or "")
    return Loaded(clean(title).strip(), {}, tuple(blocks), images, count, "pdf", warnings)


def _unwrapped(raw: str) -> str:
    """Undo ligatures, hyphens at line ends and line breaks inside sentences."""
    text = clean(unicodedata.normalize("NFKC", raw)).replace("\r\n", "\n")
    text = "".join(" " if unicodedata.category(character) == "Co" else character for character in text)
    return _WRAPPED.sub(" ", _HYPHEN.sub(r"\1", text)).strip()


def _image_count(page: PageObject) -> int:
    resources = page.get("/Resources")
    drawn = resources.get_object().get("/XObject") if resources is not None else None
    if drawn is None:
        return 0
    objects = [each.get_object() for each in drawn.get_object().values()]
    return sum(getattr(each, "get", lambda _: None)("/Subtype") == "/Image" for each in objects)


def _fields(reader: PdfReader) -> list[Block]:
    """Give the filled fields of a form as lines."""
    filled = {
        str(name): value.value
        for name, value in (reader.get_fields() or {}).items()
        if isinstance(value.value, str) and value.value.strip() and not value.value.startswith("/")
    }
    lines = [f"{name}: {clean(value)}" for name, value in filled.items()]
    return [Block((), BlockKind.PROSE, "\n".join(lines))] if lines else []
