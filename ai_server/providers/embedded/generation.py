"""`extractive`: answers with the best sentences of the passages, word for word, each part with its marker.

It costs nothing, needs nothing, and invents nothing: every word between two markers stands in a passage. Passages
that may only be paraphrased never reach it.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final

from ai_server.providers.contract import (
    UNSUPPORTED_MARKER,
    Capabilities,
    Finished,
    FinishReason,
    GenerationEvent,
    GenerationRequest,
    TextDelta,
    UsageReport,
)
from ai_server.providers.embedded.accounting import LengthTokenizer, tokens_in
from ai_server.providers.embedded.quotation import opening, quotation
from ai_server.providers.embedded.relevance import Candidate, candidates, stems
from ai_server.providers.embedded.tongues import only_in
from ai_server.providers.registry import EMBEDDED
from shared.text import fold
from shared.usage import Usage

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from ai_server.ledger.contract import Permit

MOST_SENTENCES: Final = 5
MOST_PASSAGES: Final = 3
NEAR_BEST: Final = 0.72
"""Share of the best sentence's score from which another one is quoted beside it."""

SAME_LANGUAGE_SHARE: Final = 0.8
"""Once a passage in the reader's language scores this share of the best, passages in others are left out; else those
in any other language than the best one's are: what two languages say is said once."""

OF_A_FILE: Final = stems(
    "this the that document documents file files pdf text attachment attached csv docx page pages table about content "
    "contents contain contains say says said tell read look summary summarise summarize short brief please can could "
    "ce cette fichier fichiers piece jointe texte resume resumer resumez contenu contient dit dis parle lire lis lisez "
    "regarde regardez tableau bref stp peux pouvez merci "
    "este archivo archivos documento documentos adjunto resumen resumir resume resumelo contenido contiene dice trata "
    "habla leer lee mira tabla favor puedes puede gracias"
)
"""Stems of a question that asks about a file as a whole, such as "what does this document say?"."""

PIECE: Final = re.compile(r".{1,48}(?:\s+|$)|\S{1,48}", re.DOTALL)
"""What is streamed at once: some words, never half of one that fits."""


class ExtractiveGenerator:
    """The keyless generator that ships, and the last link of every chain."""

    def __init__(self) -> None:
        """Hold nothing but its own way of counting."""
        self._tokenizer = LengthTokenizer()

    @property
    def name(self) -> str:
        """The provider's name."""
        return EMBEDDED

    @property
    def capabilities(self) -> Capabilities:
        """Text only; quotes, so that nothing unquotable may reach it."""
        return Capabilities(image=False, tools=False, paraphrases=False)

    async def initialize(self) -> None:
        """Nothing to make."""

    async def close(self) -> None:
        """Nothing to release."""

    async def generate(self, request: GenerationRequest, permit: Permit) -> AsyncIterator[GenerationEvent]:  # noqa: ARG002 - the contract's names
        """Stream the quotation, or the unsupported marker alone."""
        text = await asyncio.to_thread(compose, request)  # sent files make it long work
        for piece in PIECE.findall(text):
            yield TextDelta(piece)
            await asyncio.sleep(0)
        counted = await self._tokenizer.count(request)
        yield UsageReport(Usage(input=counted.tokens, output=tokens_in(text)))
        yield Finished(FinishReason.STOP)


def compose(request: GenerationRequest) -> str:
    """Write the whole answer: quotations of the best passages, best first, each ending in its marker."""
    passages = [each for each in request.passages if each.quotable]
    if passages and not passages[0].marker and stems(request.question) <= OF_A_FILE:
        return opening(passages[0]) or UNSUPPORTED_MARKER
    chosen = choose(candidates(request, passages), [each.language for each in passages], request.language)
    by_passage: dict[int, dict[int, set[int]]] = {}
    for each in chosen:
        by_passage.setdefault(each.passage, {}).setdefault(each.block, set()).add(each.sentence)
    parts = [quotation(passages[index], by_block) for index, by_block in by_passage.items()]
    quoted = {passages[index].language for index in by_passage} - {""}
    if quoted and request.language not in quoted:
        parts.insert(0, only_in(quoted.pop(), request.language))
    return "\n\n".join(parts) or UNSUPPORTED_MARKER


def choose(found: Sequence[Candidate], languages: Sequence[str], reader: str) -> list[Candidate]:
    """Pick the sentences to quote, best first and in one language; none when nothing speaks to the question.

    `languages` are those of the passages; one without any, such as a sent file, is quoted beside every other.
    """
    ordered = sorted((each for each in found if each.speaks), key=lambda each: -each.score)
    if not ordered:
        return []
    best = ordered[0].score
    spoken = next((languages[each.passage] for each in ordered if languages[each.passage]), "")
    if any(languages[each.passage] == reader and each.score >= SAME_LANGUAGE_SHARE * best for each in ordered):
        spoken = reader
    ordered = [each for each in ordered if languages[each.passage] in {spoken, ""}]
    chosen: list[Candidate] = []
    for each in ordered:
        if each.score < NEAR_BEST * best or len(chosen) == MOST_SENTENCES:
            break
        places = {other.passage for other in chosen}
        if (each.passage in places or len(places) < MOST_PASSAGES) and not _said(each, chosen):
            chosen.append(each)
    return chosen


def _said(candidate: Candidate, chosen: Sequence[Candidate]) -> bool:
    """Whether these words are quoted already: chunks overlap, and documents repeat themselves."""
    text = " ".join(fold(candidate.text).split())
    return any(text in (other := " ".join(fold(each.text).split())) or other in text for each in chosen)
