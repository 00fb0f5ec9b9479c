"""The handed documentation trees: every file accounted for, no word lost, and nothing to do the second time."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from ai_server.knowledge import chunking, documents
from ai_server.knowledge.contract import FileStatus, SourceSpec
from tests.fakes.library import DEFAULTS, Desk

DOCS = Path(os.environ.get("PASSEUR_EVAL_DATA", "")) / "docs"
TREES = {"bookstack_en": 40, "chatwoot_en": 90, "djangogirls_es": 34, "guides_etalab_fr": 54, "service_public_fr": 106}
WITHOUT_TEXT = {"bookstack_en": {"admin/_index.md", "user/_index.md"}, "guides_etalab_fr": {"index.md"}}
"""Front matter alone."""


@pytest.mark.service("data")
@pytest.mark.parametrize("tree", TREES)
async def test_a_tree_is_accounted_for_file_by_file_and_a_second_sync_embeds_nothing(tmp_path, tree):
    """Issue 2, «Shown by»; P28: 0 silent empties."""
    desk = Desk(tmp_path)
    await desk.service.start()
    source = SourceSpec(tree, DOCS / tree, DEFAULTS, {"lang": "language"})
    lines, summary = await desk.sync(source)
    assert len(lines) == sum(summary.files.values()) == TREES[tree]
    refused = {path for path, line in lines.items() if line.status is not FileStatus.INDEXED}
    assert refused == WITHOUT_TEXT.get(tree, set())
    assert all(lines[path].reason.startswith("it holds no text") for path in refused)
    assert all(line.chunk_count > 0 for path, line in lines.items() if path not in refused)
    embedded = len(desk.embedder.texts)
    again, summary = await desk.sync(source)
    assert {line.status for path, line in again.items() if path not in refused} == {FileStatus.UNCHANGED}
    assert (len(desk.embedder.texts), summary.chunks_embedded) == (embedded, 0)
    await desk.service.close()


@pytest.mark.service("data")
@pytest.mark.parametrize("tree", TREES)
def test_no_word_of_a_tree_is_lost_between_its_blocks_and_its_passages(tree):
    """P28: words in, against words that can be found."""
    for path in sorted(each for each in (DOCS / tree).rglob("*") if each.suffix in documents.SUFFIXES):
        loaded = documents.load(path.name, path.read_bytes())
        pieces = chunking.cut(loaded.blocks)
        wanted = {word for block in loaded.blocks for word in re.findall(r"\w+", block.text)}
        assert wanted <= {word for piece in pieces for word in re.findall(r"\w+", piece.text)}, path.name
