"""Reads the reply to a question that the conversation waits on, and says nothing else. Pure.

A reply is a choice only when every word of it belongs to a closed grammar: a number in any usual form, or a service's
name, after a short lead and before a short politeness. Anything more is a new message, so "3 idiots" never selects
the third option and "pas jellyfin" never selects Jellyfin.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gateway.conversation import clarification_tokens as grammar
from gateway.conversation import clarification_words as words
from shared.text import fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

REPLY_LIMIT: Final = 200
"""Longer replies are new messages without being looked at; chips and typed choices are far shorter."""
TERM_SHORTEST: Final = 2
TERM_LONGEST: Final = 100

_LABEL_CUT: Final = re.compile(r"\s+[–—-]\s+|\s*[:(]\s*")
_QUOTES: Final = "\"'“”«»‘’` \u00a0\u202f"
_TERM_EDGE: Final = _QUOTES + ".,;:!"


@dataclass(frozen=True, slots=True)
class Selected:
    """An option was chosen, counted from 0."""

    index: int


@dataclass(frozen=True, slots=True)
class NewTerm:
    """Search for this instead, at the same service. 2 to 100 characters."""

    term: str


@dataclass(frozen=True, slots=True)
class OtherService:
    """Search the same somewhere else: `index` (from 0) among the other services, `None` when the person must choose."""

    index: int | None = None


@dataclass(frozen=True, slots=True)
class AskAgain:
    """Nothing but a number that is no option, or several options: ask once more, deadline unchanged."""


@dataclass(frozen=True, slots=True)
class NewMessage:
    """Not an answer to the question."""


Reading = Selected | NewTerm | OtherService | AskAgain | NewMessage


@dataclass(frozen=True, slots=True)
class Option:
    """One numbered option. `names` are what a person may call it: its label, its name, its type, its instance."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, label: Mapping[str, str], connector: str = "", instance: str = "") -> Option:
        """Gather the names of a candidate from its labels by language, connector type and instance."""
        shown = [name for text in label.values() for name in (text, _LABEL_CUT.split(text, maxsplit=1)[0])]
        typed = [connector, instance, f"{connector} {instance}" if connector and instance else ""]
        return cls(tuple(dict.fromkeys(name for name in (*shown, *typed) if name.strip())))


def read_service_reply(reply: str, options: Sequence[Option], *, asked_again: bool = False) -> Reading:
    """Read a reply to «where to search?». `asked_again`: it was asked once more already, and is not a third time."""
    if len(reply) > REPLY_LIMIT:
        return NewMessage()
    parts = grammar.tokens(reply)
    found = grammar.find(parts, _named(options), len(options))
    if found is None:
        found_several = " ".join(grammar.plain(parts)) in words.SEVERAL
        return _once(asked_again) if found_several else NewMessage()
    return _choice(found, asked_again=asked_again)


def read_search_reply(
    reply: str,
    suggestions: Sequence[str],
    other_services: Sequence[Option],
    *,
    asked_again: bool = False,
) -> Reading:
    """Read a reply to «nothing found»: a suggested word, another service, or a new term.

    `Selected.index` counts the suggestions only; the number after them means another service, if there is any. A term
    that looks like a request to the whole system is for the caller to check with intent detection.
    """
    if len(reply) > REPLY_LIMIT:
        return NewMessage()
    parts = grammar.tokens(reply)
    if other_services:
        elsewhere = _elsewhere(parts, other_services)
        if elsewhere is not None:
            return elsewhere
    spoken = {grammar.plain(grammar.tokens(word)): frozenset({at}) for at, word in enumerate(suggestions)}
    count = len(suggestions)
    if other_services:
        spoken |= {tuple(phrase.split()): frozenset({count}) for phrase in words.OTHER_SERVICE}
        count += 1
    found = grammar.find(parts, spoken, count, words_lead=True)
    if found is not None and not _may_be_a_title(found, parts, asked_again=asked_again):
        reading = _choice(found, asked_again=asked_again)
        is_other = isinstance(reading, Selected) and reading.index == len(suggestions)
        return OtherService() if is_other else reading
    if found is None and " ".join(grammar.plain(parts)) in words.SEVERAL:
        return _once(asked_again)
    term = _term(reply, parts)
    return NewTerm(term) if term else NewMessage()


def _named(options: Iterable[Option]) -> dict[tuple[str, ...], frozenset[int]]:
    """Map every name to the options it may mean; a name that two share selects neither."""
    named: dict[tuple[str, ...], frozenset[int]] = {}
    for index, option in enumerate(options):
        for name in option.names:
            key = grammar.plain(grammar.tokens(name))
            named[key] = named.get(key, frozenset()) | {index}
    return named


def _once(asked_again: bool) -> Reading:  # noqa: FBT001  a pure rule of one fact
    return NewMessage() if asked_again else AskAgain()


def _choice(found: grammar.Found, *, asked_again: bool) -> Reading:
    """Turn what the grammar found into a reading: one option, or ask again."""
    (index, *more) = found.indexes
    if found.several or more or index < 0 or found.questioned:
        return _once(asked_again)
    return Selected(index)


def _elsewhere(parts: tuple[str, ...], others: Sequence[Option]) -> Reading | None:
    """Find another service asked for, by the words for it or by its name."""
    spoken = grammar.plain(parts)
    if " ".join(spoken) in words.OTHER_SERVICE:
        return OtherService()
    counting = words.CARDINALS.keys() | words.ORDINALS.keys() | words.LAST
    if any(part in counting or part.isdigit() for part in spoken):
        return None  # numbers count the suggestions here
    found = grammar.find(parts, _named(others), len(others))
    if found is None or found.questioned:
        return None
    (index, *more) = found.indexes
    return OtherService() if found.several or more or index < 0 else OtherService(index)


def _may_be_a_title(found: grammar.Found, parts: tuple[str, ...], *, asked_again: bool) -> bool:
    """Tell numbers that are likelier a title than a slip: "300", "1984", "007"; and any, when asked again already."""
    if found.indexes != {-1}:
        return False
    digits = [part for part in parts if part.isdigit()]
    return any(len(part) > grammar.NUMBER_DIGITS for part in digits) or asked_again


def _term(reply: str, parts: tuple[str, ...]) -> str:
    """Cut a new search term out of a reply, verbatim; empty when the reply is a message."""
    spoken = grammar.plain(parts)
    if not spoken or "?" in parts or len(spoken) > words.MORE_THAN_A_TERM or _is_message(spoken):
        return ""
    pieces = reply.split()
    for lead in words.TERM_LEADS:
        if len(spoken) > len(lead) and _same(pieces[: len(lead)], lead):
            pieces = pieces[len(lead) :]
            break
    for tail in words.TERM_TAILS:
        kept = _without_tail(pieces, tail)
        if kept:
            pieces = kept
            break
    term = " ".join(pieces).strip(_TERM_EDGE)
    left = grammar.plain(grammar.tokens(term))
    if not left or _is_message(left) or not TERM_SHORTEST <= len(term) <= TERM_LONGEST:
        return ""
    return term


def _same(pieces: Sequence[str], lead: Sequence[str]) -> bool:
    return tuple(fold(piece).strip(_TERM_EDGE) for piece in pieces) == tuple(lead)


def _without_tail(pieces: list[str], tail: tuple[str, ...]) -> list[str]:
    """Drop a politeness from the end if it is there and something is left; `s'il` is one written word."""
    for size in range(min(len(tail), len(pieces) - 1), 0, -1):
        if grammar.plain(grammar.tokens(" ".join(pieces[-size:]))) == tail:
            return pieces[:-size]
    return []


def _is_message(spoken: tuple[str, ...]) -> bool:
    """Tell greetings, cancels, refusals, questions and requests from terms."""
    if " ".join(spoken) in words.NOT_A_TERM:
        return True
    if spoken[0] in words.NEGATION_STARTS and len(spoken) <= words.NEGATION_START_WORDS:
        return True
    if spoken[0] in words.GREETING_STARTS and len(spoken) > 1 and spoken[1] not in words.TITLE_AFTER_GREETING:
        return True
    return any(grammar.begins(spoken, start) for start in (*words.QUESTION_STARTS, *words.SENTENCE_STARTS))
