"""What lies in a folder: everything gets a line, and nothing is read through a link that leaves."""

from __future__ import annotations

import os

import pytest

from ai_server.knowledge import folder
from ai_server.knowledge.documents import SUFFIXES
from ai_server.knowledge.loaders.model import FILE_LIMIT, Rejected
from shared.errors import InvalidRequest


def test_every_file_is_a_document_or_has_a_reason(tmp_path):
    (tmp_path / "a.md").write_text("x")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "B.MDX").write_text("x")
    (tmp_path / "logo.png").write_bytes(b"x")
    (tmp_path / ".hidden.md").write_text("x")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config.md").write_text("x")
    (tmp_path / "sub" / "_metadata.yaml").write_text("audience: staff\n")
    found = folder.scan(tmp_path, SUFFIXES)
    assert sorted(found.documents) == ["a.md", "sub/B.MDX"]
    assert found.skipped == {
        ".git/": "a hidden folder",
        ".hidden.md": "a hidden file",
        "logo.png": "`.png` is not a type of document that is read here",
        "sub/_metadata.yaml": "metadata for its folder",
    }
    assert found.inherited("sub/B.MDX") == [{"audience": ("staff",)}]
    assert found.inherited("a.md") == []


def test_links_never_lead_out(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("x")
    root = tmp_path / "root"
    root.mkdir()
    (root / "real.md").write_text("x")
    (root / "inside.md").symlink_to(root / "real.md")
    (root / "leak.md").symlink_to(outside / "secret.md")
    (root / "all").symlink_to(outside)
    (root / "broken.md").symlink_to(root / "nowhere.md")
    found = folder.scan(root, SUFFIXES)
    assert sorted(found.documents) == ["inside.md", "real.md"]
    assert found.skipped["leak.md"] == "a link that leaves the folder"
    assert "link to a folder" in found.skipped["all/"]
    assert "leads nowhere" in found.rejected["broken.md"]


def test_two_spellings_of_one_path_are_told_apart(tmp_path):
    """Two files claiming one path: the second is rejected, not silently laid over the first."""
    (tmp_path / "é.md").write_text("composed")
    (tmp_path / "e\u0301.md").write_text("decomposed")
    found = folder.scan(tmp_path, SUFFIXES)
    assert list(found.documents) == ["é.md"]
    assert list(found.rejected) == ["é.md (2)"]


def test_a_name_that_is_no_text_still_gets_its_line(tmp_path):
    os.close(os.open(os.fsencode(str(tmp_path)) + b"/caf\xe9.md", os.O_CREAT | os.O_WRONLY))
    assert list(folder.scan(tmp_path, SUFFIXES).documents) == ["caf\\xe9.md"]


@pytest.mark.parametrize("name", ["missing", "file.md"])
def test_a_root_that_is_no_folder_is_an_error_naming_it(tmp_path, name):
    (tmp_path / "file.md").write_text("x")
    with pytest.raises(InvalidRequest, match="missing or not a folder"):
        folder.scan(tmp_path / name, SUFFIXES)


def test_broken_folder_metadata_stops_before_anything_changes(tmp_path):
    (tmp_path / "_metadata.yaml").write_text("audience: [staff\n")
    with pytest.raises(InvalidRequest, match=r"_metadata\.yaml"):
        folder.scan(tmp_path, SUFFIXES)


def test_a_file_over_the_limit_is_rejected_without_being_kept(tmp_path):
    big = tmp_path / "big.md"
    with big.open("wb") as file:
        file.truncate(FILE_LIMIT + 1)
    with pytest.raises(Rejected, match="larger than 20 MiB"):
        folder.read(big)
    with pytest.raises(Rejected, match="vanished"):
        folder.read(tmp_path / "gone.md")
