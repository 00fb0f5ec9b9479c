"""What to search for: the question, joined with what recent turns make it refer to. Local, French/English/Spanish."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from shared.text import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_server.answering.contract import HistoryMessage

LONGEST_QUERY: Final = 1_000
LOOK_BACK: Final = 6
"""Earlier messages of the person among which the subject is looked for."""

SHORT: Final = 8
"""Words up to which a pronoun makes a question lean on what came before; longer ones carry their own subject."""

_OPENS: Final = re.compile(
    r"(?:et|and|y|e|mais|but|pero|ou|or|o|alors|so|entonces|sinon|otherwise|what about|how about|que tal|idem|pareil"
    r"|aussi|also|too|tambien|meme chose|same|lo mismo|pourquoi(?=\s*$)|why(?=\s*$)|por que(?=\s*$))\b"
)
_POINTS: Final = re.compile(
    r"\b(?:ca|cela|ceci|celui|celle|ceux|celles|il|elle|ils|elles|lui|leur|y|it|its|this|that|these|those|they|them"
    r"|there|one|ones|eso|esto|esta|este|ese|esa|aquello|ello|alli|lo)\b"
)
_WORD: Final = re.compile(r"\w+")
_EMPTY: Final = frozenset(
    [
        *("a", "au", "aux", "avec", "dans", "de", "des", "du", "en", "et", "la", "le", "les", "ou", "par", "pour"),
        *("sans", "sur", "un", "une", "and", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with"),
        *("con", "del", "el", "los", "las", "para", "por", "sin", "una", "y", "d", "l", "is", "est", "es"),
    ]
)
FEW_WORDS: Final = 1


def leans(question: str) -> bool:
    """Tell whether a question needs the turn before it to be understood: `et sur mobile ?`, `how do I undo it?`."""
    text = fold(question)
    words = [found[0] for found in islice(_WORD.finditer(text), SHORT + 1)]
    folded = " ".join(words)
    if _OPENS.match(folded):
        return True
    if len(words) <= SHORT:
        return bool(_POINTS.search(folded)) or sum(word not in _EMPTY for word in words) <= FEW_WORDS
    speaking = (found for found in _WORD.finditer(text) if found[0] not in _EMPTY)
    return sum(1 for _ in islice(speaking, FEW_WORDS + 1)) <= FEW_WORDS


def search_query(question: str, history: Sequence[HistoryMessage]) -> str:
    """Join a leaning question with the latest one that stood by itself; any other is searched as it is."""
    if not leans(question):
        return question[:LONGEST_QUERY]
    asked = [each.text for each in history if each.role == "user"][-LOOK_BACK:]
    subject = next((text for text in reversed(asked) if not leans(text)), "")
    room = max(0, LONGEST_QUERY - len(question) - 1)
    return f"{subject[:room]} {question}".strip()[:LONGEST_QUERY]
