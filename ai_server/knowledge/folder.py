"""What lies in a declared folder: documents, files that give metadata, and what is skipped, each with its reason."""

from __future__ import annotations

import os
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from ai_server.knowledge.loaders import encoding, front_matter
from ai_server.knowledge.loaders.model import FILE_LIMIT, Rejected
from ai_server.knowledge.metadata import FOLDER_FILES
from shared.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

BESIDE = ".passeur"
"""The hidden folder of a managed source, where the metadata of its documents lies; passed over in silence."""
_METADATA_LIMIT = 64 * 1024


@dataclass(slots=True)
class Scan:
    """A folder at one instant; keys are paths relative to the root, with `/`, in NFC."""

    documents: dict[str, Path] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)
    rejected: dict[str, str] = field(default_factory=dict)
    folders: dict[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)

    def only(self, paths: Collection[str]) -> Scan:
        """Keep some paths, with all that their folders give them."""
        return Scan(
            {path: file for path, file in self.documents.items() if path in paths},
            {path: reason for path, reason in self.skipped.items() if path in paths},
            {path: reason for path, reason in self.rejected.items() if path in paths},
            self.folders,
        )

    def inherited(self, path: str) -> list[Mapping[str, tuple[str, ...]]]:
        """Give the metadata of the folders above a document, outermost first."""
        above = [str(parent) for parent in reversed(PurePosixPath(path).parents)]
        return [self.folders[folder] for folder in above if folder in self.folders]


def scan(root: Path, suffixes: Collection[str]) -> Scan:
    """Look through a folder without leaving it through links.

    Raises:
        InvalidRequest: it is missing, unreadable or not a folder.
    """
    if not root.is_dir():
        raise InvalidRequest.of("root", f"`{root}` is missing or not a folder: check the path")
    found = Scan()
    top = root.resolve()
    try:
        with os.scandir(top) as entries:
            next(entries, None)
    except OSError as exc:
        raise InvalidRequest.of("root", f"`{root}` cannot be read: {exc.strerror}") from exc
    for folder, subfolders, names in os.walk(top, followlinks=False):
        here = Path(folder)
        _keep_real(here, top, subfolders, found)
        for name in sorted(names):
            _look(here / name, top, suffixes, found)
    return found


def read(path: Path) -> bytes:
    """Read a document whole.

    Raises:
        Rejected: gone, unreadable or too large, and which.
    """
    try:
        with path.open("rb") as file:
            data = file.read(FILE_LIMIT + 1)
    except FileNotFoundError as exc:
        raise Rejected("it vanished while the folder was read") from exc
    except OSError as exc:
        raise Rejected(f"it cannot be read: {exc.strerror}") from exc
    if len(data) > FILE_LIMIT:
        raise Rejected(f"it is larger than {FILE_LIMIT // 1024 // 1024} MiB: split it")
    return data


def _keep_real(here: Path, top: Path, subfolders: list[str], found: Scan) -> None:
    """Leave out hidden and linked folders, in place, as `os.walk` wants it."""
    for name in sorted(subfolders):
        path = here / name
        if name == BESIDE and here == top:
            subfolders.remove(name)  # Ours: what managed documents came with.
        elif name.startswith("."):
            found.skipped[_relative(path, top) + "/"] = "a hidden folder"
            subfolders.remove(name)
        elif path.is_symlink():
            found.skipped[_relative(path, top) + "/"] = "a link to a folder: declare that folder as a source"
            subfolders.remove(name)
    subfolders.sort()


def _look(path: Path, top: Path, suffixes: Collection[str], found: Scan) -> None:
    relative = _relative(path, top)
    if path.name in FOLDER_FILES:
        try:
            found.folders[str(PurePosixPath(relative).parent)] = _folder_metadata(path)
            found.skipped[relative] = "metadata for its folder"
        except Rejected as exc:
            # Without it the documents below might be given rights that nobody meant.
            raise InvalidRequest.of(relative, f"{exc}: mend it, nothing was changed") from exc
    elif path.name.startswith("."):
        found.skipped[relative] = "a hidden file"
    elif path.suffix.lower() not in suffixes:
        found.skipped[relative] = f"`{path.suffix or path.name}` is not a type of document that is read here"
    elif not path.resolve().is_relative_to(top):
        found.skipped[relative] = "a link that leaves the folder"
    elif relative in found.documents:
        found.rejected[relative + " (2)"] = f"another file has the same path `{relative}` once accents are normalised"
    elif not path.is_file():
        found.rejected[relative] = "it is not a regular file, or its link leads nowhere"
    else:
        found.documents[relative] = path


def _folder_metadata(path: Path) -> Mapping[str, tuple[str, ...]]:
    data = read(path)
    if len(data) > _METADATA_LIMIT:
        raise Rejected(f"longer than {_METADATA_LIMIT:,} bytes")
    text, _ = encoding.decode(data)
    return front_matter.parse_toml(text) if path.suffix == ".toml" else front_matter.parse_yaml(text)


def _relative(path: Path, top: Path) -> str:
    text = path.relative_to(top).as_posix()
    # A name that is no text (bytes of another encoding) is shown with its bytes, so that it still gets its line.
    return unicodedata.normalize("NFC", text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"))
