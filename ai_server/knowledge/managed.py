"""The folder of a managed source: documents that came over gRPC, each with the metadata it came with.

A document is written so that a death at any point leaves the old version whole or the new one whole, never the text of
one with the rights of the other: its metadata lies beside it under the digest of the content it belongs to. The new
entry is written first, then the content, and only then the old entry goes; whichever content is found decides.
"""

from __future__ import annotations

import hashlib
import json
import os
import unicodedata
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from ai_server.knowledge import documents
from ai_server.knowledge.folder import BESIDE
from ai_server.knowledge.loaders.model import Rejected
from shared.errors import InvalidRequest, NotReady, Violation
from shared.text import text_violation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

DOCUMENTS_LIMIT: Final = 100
"""Most documents of one call, inclusive."""
PATH_LIMIT: Final = 1_024
"""Most bytes of a document's path in UTF-8."""
NAME_LIMIT: Final = 200
"""Most bytes of one name in a path: file systems take 255, and the metadata beside it needs some."""
KEYS_LIMIT: Final = 50
VALUES_LIMIT: Final = 100
VALUE_LIMIT: Final = 1_000
"""Most characters of a metadata key or value."""


@dataclass(frozen=True, slots=True)
class ManagedDocument:
    """A document as it was sent. `path` is relative, with `/`; `metadata` counts before what the document says."""

    path: str
    content: bytes
    metadata: Mapping[str, tuple[str, ...]]


def check_paths(paths: Sequence[str], field: str) -> None:
    """Refuse paths that a managed source cannot have, all at once.

    Raises:
        InvalidRequest: none, more than `DOCUMENTS_LIMIT`, one twice, or every one that is wrong.
    """
    if not 1 <= len(paths) <= DOCUMENTS_LIMIT:
        raise InvalidRequest.of(field, f"must be 1 to {DOCUMENTS_LIMIT}, not {len(paths)}")
    faults = [Violation(f"{field}[{n}].path", problem) for n, path in enumerate(paths) if (problem := _problem(path))]
    if not faults and len(set(paths)) < len(paths):
        twice = sorted({path for path in paths if paths.count(path) > 1})
        faults = [Violation(field, f"`{path}` stands there twice: send it once") for path in twice]
    if faults:
        raise InvalidRequest(faults)


def check_metadata(number: int, metadata: Mapping[str, Sequence[str]]) -> list[Violation]:
    """Say what is wrong with the metadata of the document at a place, before anything is written."""
    field = f"documents[{number}].metadata"
    if len(metadata) > KEYS_LIMIT or any(len(values) > VALUES_LIMIT for values in metadata.values()):
        return [Violation(field, f"has more than {KEYS_LIMIT} keys, or a key of more than {VALUES_LIMIT} values")]
    texts = [text for key, values in metadata.items() for text in (key, *values)]
    faults = [fault for text in texts if (fault := text_violation(field, text, limit=VALUE_LIMIT)) is not None]
    faults += [
        Violation(field, f"`{key}` has no value: leave it out") for key, values in metadata.items() if not values
    ]
    return faults


def _problem(path: str) -> str:
    """Say why a path cannot be taken, or nothing."""
    fault = text_violation("path", path, limit=PATH_LIMIT)
    if fault is not None:
        return fault.problem
    if len(path.encode()) > PATH_LIMIT:
        return f"is longer than {PATH_LIMIT:,} bytes: shorten it"
    if unicodedata.normalize("NFC", path) != path:
        return "is not in Unicode's NFC form: normalise it"
    if any(unicodedata.category(character) == "Cc" for character in path):
        return "holds a control character: remove it"
    names = path.split("/")
    if "\\" in path or any(not name or name.startswith(".") or name != name.strip() for name in names):
        return "must be relative, with `/`, without empty, hidden or `..` parts: `faq/price.md`"
    if any(len(name.encode()) > NAME_LIMIT for name in names):
        return f"has a part longer than {NAME_LIMIT} bytes: shorten it"
    if PurePosixPath(path).suffix.lower() not in documents.SUFFIXES:
        return f"must end in a type that is read here: {', '.join(sorted(documents.SUFFIXES))}"
    return ""


class ManagedFolder:
    """One source's folder. Calls for one source come one after the other; each is durable when it returns."""

    def __init__(self, root: Path) -> None:
        """Use `root`, which is made with the first document."""
        self._root = root
        self._beside = root / BESIDE

    def put(self, document: ManagedDocument) -> None:
        """Write a document; the same again touches nothing.

        Raises:
            InvalidRequest: a folder and a document would have one name, or the way leads through a link.
            NotReady: the disk is full or does not take it.
        """
        fresh = hashlib.sha256(document.content).hexdigest()
        metadata = {key: list(values) for key, values in sorted(document.metadata.items())}
        try:
            file = self._place(document.path)
            found = _digest(file)
            known = self._known_or_none(document.path)
            if found == fresh and known == {fresh: metadata}:
                return
            both = {found: known[found]} if found in known and found is not None else {}
            self._write(self._note(document.path), _dump({**both, fresh: metadata}))
            if found != fresh:
                self._write(file, document.content)
                self._write(self._note(document.path), _dump({fresh: metadata}))
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as exc:
            raise _in_the_way(document.path) from exc
        except OSError as exc:
            raise NotReady(f"The managed documents cannot be written: {exc.strerror}: free some space.") from exc

    def remove(self, path: str) -> bool:
        """Remove a document; tells whether there was one."""
        try:
            file = self._place(path)
            file.unlink(missing_ok=False)
            _sync_folder(file.parent)
            self._note(path).unlink(missing_ok=True)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as exc:
            raise NotReady(f"The managed documents cannot be changed: {exc.strerror}.") from exc
        for folder in (file.parent, self._note(path).parent):
            self._sweep(folder)
        return True

    def metadata(self, path: str, content: bytes) -> Mapping[str, tuple[str, ...]]:
        """Give the metadata that a document came with; `content` is its SHA-256.

        Raises:
            Rejected: the file was changed by something else than us, so that its rights are not known.
        """
        try:
            known = self._known(path)
        except (OSError, ValueError) as exc:
            raise Rejected(f"its metadata cannot be read ({type(exc).__name__}): upsert it again") from exc
        if content.hex() not in known:
            raise Rejected("it was not written by Upsert as it stands there, so its metadata is unknown: upsert it")
        return {key: tuple(values) for key, values in known[content.hex()].items()}

    def _known(self, path: str) -> dict[str, dict[str, list[str]]]:
        """Read a document's note: metadata by SHA-256 of the content that it goes with."""
        try:
            return json.loads(self._note(path).read_text("utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            return {}

    def _known_or_none(self, path: str) -> dict[str, dict[str, list[str]]]:
        """Do the same where a damaged note is about to be written anew."""
        try:
            return self._known(path)
        except ValueError:
            return {}

    def _place(self, path: str) -> Path:
        """Give a document's file, once nothing on the way to it is a link."""
        file = self._root.joinpath(*path.split("/"))
        for each in (file, *file.parents):
            if each == self._root:
                break
            if each.is_symlink():
                raise InvalidRequest.of("path", f"`{path}` leads through a link: remove the link")
        if file.is_dir():
            raise _in_the_way(path)
        return file

    def _note(self, path: str) -> Path:
        return self._beside / f"{path}.json"

    def _write(self, file: Path, data: bytes) -> None:
        """Put a file in its place whole or not at all; synced, its folder too."""
        _make_folders(file.parent)
        _make_folders(self._beside)
        fresh = self._beside / "fresh"
        with fresh.open("wb") as opened:
            opened.write(data)
            opened.flush()
            os.fsync(opened.fileno())
        fresh.replace(file)
        _sync_folder(file.parent)

    def _sweep(self, folder: Path) -> None:
        """Take empty folders away, so that their names are free again."""
        with suppress(OSError):
            while folder not in {self._root, self._beside}:
                folder.rmdir()
                folder = folder.parent


def _in_the_way(path: str) -> InvalidRequest:
    return InvalidRequest.of("path", f"`{path}` is a folder, or a part of it is a document: choose another name")


def _dump(versions: Mapping[str, object]) -> bytes:
    return json.dumps(versions, ensure_ascii=False, indent=1).encode()


def _digest(file: Path) -> str | None:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None


def _make_folders(folder: Path) -> None:
    """Make a folder and those above it; each new one is synced into the one that holds it."""
    missing = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    for each in reversed(missing):
        _sync_folder(each.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def violations(documents_sent: Iterable[ManagedDocument]) -> list[Violation]:
    """Say what is wrong with the metadata of documents."""
    return [fault for number, each in enumerate(documents_sent) for fault in check_metadata(number, each.metadata)]
