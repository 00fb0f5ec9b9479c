"""Names of files in lines that a command prints."""

from __future__ import annotations

from ai_server.cli.words import shown


def test_a_name_cannot_write_a_line_of_its_own():
    assert shown("été\nindexed   all.md") == "été\\nindexed   all.md"
    assert shown("a\x1b[2Jb\u2028c") == "a\\x1b[2Jb\\u2028c"
    assert shown('l\'été "q" 日本.md') == 'l\'été "q" 日本.md'
