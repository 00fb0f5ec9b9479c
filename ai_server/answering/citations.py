"""From marks in the answer to citations: title and link from the document's own metadata, words from its text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ai_server.answering.contract import Citation
from ai_server.answering.markers import holds_marker, inert, new_marker, written
from ai_server.knowledge.lexical import terms
from ai_server.providers.contract import Passage, ScoredSentence
from shared.text import fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ai_server.answering.markers import Mark
    from ai_server.knowledge.contract import Chunk, Hit

LONGEST_QUOTE: Final = 400
SERVICE_SOURCE: Final = "connector:"
"""Begins the source id of what a live service found; no declared source can have it, for the colon."""
CONTEXT: Final = 400
"""Characters of answer before a mark that its quote is chosen by where none of its sentences stands there as it is."""

_WORD: Final = re.compile(r"\w+")
_SENTENCE_END: Final = re.compile(r"(?<=[.!?…])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Source:
    """A kept chunk under the marker that this turn gave it."""

    marker_id: str
    hit: Hit

    @property
    def chunk(self) -> Chunk:
        """The chunk."""
        return self.hit.chunk

    def passage(self) -> Passage:
        """The chunk as generators see it: nothing in its text can pass for a marker."""
        chunk = self.chunk
        return Passage(
            marker=written(self.marker_id),
            title=inert(chunk.title),
            heading=inert(chunk.heading),
            text=inert(chunk.text),
            language=chunk.language,
            sentences=tuple(ScoredSentence(inert(each.text), each.similarity) for each in self.hit.sentences),
            quotable=chunk.quotable,
        )


def sources(hits: Iterable[Hit]) -> tuple[Source, ...]:
    """Give each kept hit its marker."""
    taken: set[str] = set()
    return tuple(Source(new_marker(taken), each) for each in hits if each.kept)


def citations(
    text: str, marks: Sequence[Mark], found: Sequence[Source], turn_id: str, question: str
) -> tuple[Citation, ...]:
    """Resolve the marks in order. A passage that may not be quoted gives none. `question` is what was searched for."""
    by_id = {each.marker_id: each for each in found}
    made: list[Citation] = []
    begin = 0
    for mark in marks:
        source = by_id[mark.marker_id]
        if source.chunk.quotable:
            said = text[begin : mark.position]
            service, service_text = _told(source.chunk)
            made.append(
                Citation(
                    citation_id=f"{turn_id}.{len(made) + 1}",
                    chunk_id=source.chunk.chunk_id,
                    title=source.chunk.title,
                    url=source.chunk.url,
                    quote=quote(source.hit, said, question),
                    position=mark.position,
                    service=service,
                    text=service_text,
                )
            )
        begin = max(begin, mark.position)
    return tuple(made)


def _told(chunk: Chunk) -> tuple[str, str]:
    """Name the live service that a chunk comes from and what it said below the title; empty for a document's chunk."""
    if not chunk.source_id.startswith(SERVICE_SOURCE):
        return "", ""
    return chunk.heading, chunk.text.partition("\n")[2]


def quote(hit: Hit, said: str, question: str = "") -> str:
    """Choose the chunk's sentence that `said` leans on most: verbatim, without anything that looks like a marker.

    Of several that were said word for word, it is the one that answers the question.
    """
    offered = [each for each in _sentences(hit) if not holds_marker(each)]
    if not offered:
        return ""
    closeness = {each.text: each.similarity for each in hit.sentences}
    whole = _words(said)
    quoted = [each for each in offered if f" {_words(each)} " in f" {whole} "]
    asked = set(terms(question, hit.chunk.language))
    latest = set(_words(said[-CONTEXT:]).split())

    def answers(sentence: str) -> float:
        shared = len(asked.intersection(terms(sentence, hit.chunk.language))) / max(1, len(asked))
        return closeness.get(sentence, 0.0) + shared

    def support(sentence: str) -> tuple[float, float]:
        own = set(_words(sentence).split())
        return len(own & latest) / (4 + len(own)), closeness.get(sentence, 0.0)

    best = max(quoted, key=answers) if quoted else max(offered, key=support)
    return best[:LONGEST_QUOTE].rstrip()


def _words(text: str) -> str:
    return " ".join(_WORD.findall(fold(text)))


def _sentences(hit: Hit) -> list[str]:
    own = [each.text for each in hit.sentences if each.text in hit.chunk.text]
    return own or [part for each in _SENTENCE_END.split(hit.chunk.text) if (part := each.strip())]
