"""Does a message ask for a person? A closed grammar: what it cannot read to its end is an ordinary question.

"Can I speak to a real person please?" asks for one. "How do I contact the human resources department?" and "Can I talk
to a person on Saturdays?" ask something about people, and documents may answer them.
"""

from __future__ import annotations

import re
from typing import Final

from gateway.conversation import person_words as words
from shared.text import fold

LONGEST: Final = 400
"""Characters of a message that is looked at; a longer one tells a story, and is a question about it."""
LONGEST_MATTER: Final = 12
"""Words of what a person is wanted for, after "about"."""

_WORD: Final = re.compile(r"\w+")
_CLAUSES: Final = re.compile(r"[.!?;,\n…]+")
_QUOTED: Final = re.compile(r"[\"«»“”]|(?<!\w)['‘]")


def _request(*, outright: str, asking: str) -> re.Pattern[str]:
    """Compile a request: fillers, the request, and what may follow a person without changing that one is wanted."""
    fillers = rf"(?:(?:{words.FILLERS}) ){{0,3}}"
    tails = rf"(?: (?:{words.TAILS}|{words.FILLERS})){{0,3}}"
    matter = rf"(?: (?:{words.ABOUT})(?: \w+){{1,{LONGEST_MATTER}}})?"
    return re.compile(rf"{fillers}(?:(?:{outright}){tails}{matter}|(?:{asking}){tails})")


def _spoken(wish: str, talk: str, hand: str, have: str, person: str, team: str) -> str:
    anyone = rf"(?:{person}|{team})"
    return "|".join(
        (
            rf"(?:(?:{wish}) )?(?:{talk}) (?:{person})",
            rf"(?:{wish}) (?:{talk}) (?:{team})",
            rf"(?:(?:{wish}) )?(?:{hand}) {anyone}",
            rf"(?:{have}) (?:{person})",
        )
    )


_ENGLISH: Final = _request(
    outright=_spoken(words.EN_WISH, words.EN_TALK, words.EN_HAND, words.EN_HAVE, words.EN_PERSON, words.EN_TEAM),
    asking=rf"(?:{words.EN_HOW}) (?:{words.EN_TALK}) (?:{words.EN_PERSON})"
    rf"|(?:{words.EN_THERE}) (?:{words.EN_PERSON})(?: (?:i can (?:speak|talk) (?:to|with)|there))?",
)
_FRENCH: Final = _request(
    outright=_spoken(words.FR_WISH, words.FR_TALK, words.FR_HAND, words.FR_HAVE, words.FR_PERSON, words.FR_TEAM),
    asking=rf"(?:{words.FR_HOW}) ?(?:{words.FR_TALK}) (?:{words.FR_PERSON})"
    rf"|(?:{words.FR_THERE}) (?:{words.FR_PERSON})(?: (?:a qui parler|a qui je peux parler))?",
)
_SPANISH: Final = _request(
    outright=_spoken(words.ES_WISH, words.ES_TALK, words.ES_HAND, words.ES_HAVE, words.ES_PERSON, words.ES_TEAM),
    asking=rf"(?:{words.ES_HOW}) ?(?:{words.ES_TALK}|{words.ES_SPEAK}) (?:{words.ES_PERSON})"
    rf"|(?:{words.ES_THERE}) (?:{words.ES_PERSON})(?: (?:ahi|con quien (?:pueda )?hablar))?",
)
_ALONE: Final = re.compile(rf"(?:(?:{words.FILLERS}) ){{0,3}}(?:{words.ALONE})(?: (?:{words.FILLERS})){{0,3}}")


def asks_for_a_person(message: str) -> bool:
    """Tell whether someone wants a person rather than an answer, in French, English or Spanish.

    The first or the last clause must say so from its beginning to its end; what is quoted asks for nothing.
    """
    if len(message) > LONGEST or _QUOTED.search(message.replace("’", "'")):
        return False
    clauses = [" ".join(found) for clause in _CLAUSES.split(fold(message)) if (found := _WORD.findall(clause))]
    while len(clauses) > 1 and re.fullmatch(words.FILLERS, clauses[-1]):
        clauses.pop()
    if not clauses:
        return False
    whole = " ".join(clauses)
    return _ALONE.fullmatch(whole) is not None or any(map(_asks, dict.fromkeys((whole, clauses[0], clauses[-1]))))


def _asks(clause: str) -> bool:
    return any(language.fullmatch(clause) for language in (_ENGLISH, _FRENCH, _SPANISH))
