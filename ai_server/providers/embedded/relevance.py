"""How well each sentence of the passages answers the question: closeness of meaning, and rare words in common."""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ai_server.providers.embedded.blocks import Block, Kind, blocks, sentences
from shared.text import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_server.providers.contract import GenerationRequest, Passage

WORD: Final = re.compile(r"\w+")
STEM: Final = 6
"""Letters of a folded word that are compared: enough to join `install`, `installer` and `installation`."""

MEANING, WORDS, HEADING, LANGUAGE, RANK = 0.6, 0.5, 0.2, 0.1, 0.04
"""Weights of a sentence's parts; `RANK` is lost for each place further down in the retrieval."""

WEAK_MEANING: Final = 0.25
"""Without a word in common, a sentence less close than this says nothing about the question."""

ATTACHED_SHARE: Final = 0.33
"""Share of the question's rare words that a sentence of a sent file must hold: no retrieval found it, so nothing else
speaks for it.
"""

_STOP_WORDS: Final = """
    a ai ainsi alors and are as at au aux avec be but by can ce ces cette ceux comment como con cual cuando d dans de
    del des desde do does donc donde du el elle en entre es est et etre for from ha has have how i il ils in is it its
    j je l la las le les leur leurs lo los ma mais me mes mi mon my n ne no nos not notre nous o of on ont or ou
    para pas peut plus por pour pourquoi puedo puis qu quand que quel quelle quelles quels qui quien quoi s sa sans se
    ses si son sont su sur t ta te tes than that the their then there these they this to tu un una une unos vos votre
    vous was we what when where which who why will with y you your
"""
STOP_WORDS: Final = frozenset(_STOP_WORDS.split())
"""French, English and Spanish words that tell nothing, folded."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One sentence (a whole list, table or code sample counts as one) and where it stands."""

    passage: int
    block: int
    sentence: int
    text: str
    meaning: float
    words: float
    lead: float
    score: float

    @property
    def speaks(self) -> bool:
        """Whether it has anything to do with the question, by itself or by what stands above it."""
        return self.words > 0 or self.lead > 0 or self.meaning >= WEAK_MEANING


def stems(text: str) -> frozenset[str]:
    """Fold a text to the stems of its telling words."""
    return frozenset(word[:STEM] for word in WORD.findall(fold(text)) if word not in STOP_WORDS)


def candidates(request: GenerationRequest, passages: Sequence[Passage]) -> list[Candidate]:
    """Score every sentence of the passages, in reading order."""
    question = stems(request.question)
    cut = [blocks(each.text) for each in passages]
    rarity = _rarity(question, [stems(block.text) for each in cut for block in each])
    found: list[Candidate] = []
    for index, passage in enumerate(passages):
        base = LANGUAGE * (passage.language == request.language) - RANK * index
        base += HEADING * _coverage(question, rarity, stems(f"{passage.title} {passage.heading}"))
        found += _of_passage(index, passage, cut[index], base, question, rarity)
    return found


def _of_passage(
    index: int, passage: Passage, cut: Sequence[Block], base: float, question: frozenset[str], rarity: dict[str, float]
) -> list[Candidate]:
    found: list[Candidate] = []
    lead = 0.0
    is_file = not passage.marker
    for number, block in enumerate(cut):
        if block.kind in {Kind.HEADING, Kind.LABEL}:
            lead = HEADING * _coverage(question, rarity, stems(block.text))
            continue
        parts = sentences(block.text) if block.kind is Kind.PARAGRAPH else [block.text]
        for position, text in enumerate(parts):
            words = _words(block.kind, question, rarity, text)
            # Nobody measured how close a sent file's sentences are: the words in common stand for it.
            meaning = words if is_file else _meaning(passage, text)
            if is_file and words + lead / HEADING < ATTACHED_SHARE:
                continue
            score = base + lead + MEANING * meaning + WORDS * words
            if text.endswith("?"):
                lead = max(lead, score / 2)  # the document asks it too: what follows is the answer
            else:
                found.append(Candidate(index, number, position, text, meaning, words, lead, score))
    return found


def _words(kind: Kind, question: frozenset[str], rarity: dict[str, float], text: str) -> float:
    """Weigh the words in common. A table or a code sample answers by one of its lines: all of them together hold words
    of any question.
    """
    parts = text.split("\n") if kind in {Kind.TABLE, Kind.CODE} else [text]
    return max(_coverage(question, rarity, stems(part)) for part in parts)


def _meaning(passage: Passage, text: str) -> float:
    """The closeness of the best retrieved sentence that this text holds, or is part of."""
    return max((each.score for each in passage.sentences if each.text in text or text in each.text), default=0.0)


def _rarity(question: frozenset[str], texts: Sequence[frozenset[str]]) -> dict[str, float]:
    counts = Counter(word for text in texts for word in text & question)
    return {word: math.log(1 + len(texts) / (1 + counts[word])) for word in question}


def _coverage(question: frozenset[str], rarity: dict[str, float], words: frozenset[str]) -> float:
    total = sum(rarity.values())
    return sum(rarity[word] for word in question & words) / total if total else 0.0
