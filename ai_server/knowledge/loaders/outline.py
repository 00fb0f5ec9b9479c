"""Gathers the blocks of a document under their headings; a heading under which nothing stands is text of its own."""

from __future__ import annotations

from ai_server.knowledge.loaders.model import Block, BlockKind


class Outline:
    """`blocks` in the order of the document, once `end` was called."""

    def __init__(self) -> None:
        """Begin above all headings."""
        self.blocks: list[Block] = []
        self._open: list[tuple[int, str]] = []
        self._bare = False

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings above here, outermost first."""
        return tuple(name for _, name in self._open)

    def add(self, kind: BlockKind, text: str) -> None:
        """Add a block under the headings that are open; one of nothing but space is left out."""
        if text.strip():
            self.blocks.append(Block(self.headings, kind, text))
            self._bare = False

    def heading(self, level: int, text: str) -> None:
        """Open a heading, and close those of its level and below; an empty one only closes."""
        if self._bare and self._open[-1][0] >= level:
            self._keep()
        self._open = [each for each in self._open if each[0] < level]
        if text:
            self._open.append((level, text))
        self._bare = bool(text)

    def end(self) -> tuple[Block, ...]:
        """Give all blocks, the last heading included if nothing stands under it."""
        if self._bare:
            self._keep()
        return tuple(self.blocks)

    def _keep(self) -> None:
        """Make a block of the last heading, under those above it."""
        self.blocks.append(Block(self.headings[:-1], BlockKind.PROSE, self._open[-1][1]))
        self._bare = False
