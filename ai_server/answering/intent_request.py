"""Takes a message apart: what it leads with, which services it names, what is left to search for. Pure rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ai_server.answering import intent_words as words
from ai_server.answering.intent_phrases import Phrases
from ai_server.answering.intent_terms import folded

if TYPE_CHECKING:
    from ai_server.answering.intent_services import Services
    from ai_server.answering.intent_terms import Word
    from ai_server.connectors.contract import ConnectorSpec

HOW_WITHIN: Final = 2
"""Words after a verb of searching within which "how" makes a question: "find out how to cancel"."""

_QUESTIONS: Final = Phrases([*((word,) for word in words.HOW_INSIDE), *words.QUESTION_LEADS])
_DETERMINERS: Final = frozenset({"le", "la", "the", "el", "l", "mon", "my", "mi", "notre", "our"})


@dataclass(frozen=True, slots=True)
class Request:
    """A message taken apart: what it leads with, what is left, which services it names."""

    rest: tuple[Word, ...]
    strong: bool
    weak: bool
    asks_where: bool
    asks_having: bool
    question: bool
    named: tuple[ConnectorSpec, ...]
    documents_named: bool


def read_request(said: tuple[Word, ...], services: Services) -> Request:
    """Take a message apart, polite words already gone."""
    said = _name_last(said, services)
    forms = folded(said)
    strong = words.SEARCH_LEADS.at(forms, 0)
    weak = 0 if strong else words.WEAK_LEADS.at(forms, 0)
    having = 0 if strong or weak else words.HAVING_LEADS.at(forms, 0)
    where = 0 if strong or weak or having else words.WHERE_LEADS.at(forms, 0)
    asked = words.QUESTION_LEADS.at(forms, 0)
    lead = strong or weak or having or where
    rest, forms = said[lead:], forms[lead:]
    left = _without_name(rest, forms, words.DOCUMENT_NAMES)
    documents, named = left is not None, []
    for spec in services.specs:
        without = _without_name(rest, forms, services.names[spec.key])
        if without is not None:
            named.append(spec)
            left = without
    inside = bool(strong or weak) and any(_QUESTIONS.at(forms, at) for at in range(HOW_WITHIN))
    return Request(
        rest=rest if left is None else left,
        strong=bool(strong),
        weak=bool(weak),
        asks_where=bool(where),
        asks_having=bool(having),
        question=inside or bool(asked and not having and not where),
        named=_most_exact(named, forms, services),
        documents_named=documents and not named,
    )


def _name_last(said: tuple[Word, ...], services: Services) -> tuple[Word, ...]:
    """Turn "sur Jellyfin cherche alien" into "cherche alien sur Jellyfin"."""
    forms = folded(said)
    placed = 1 if forms and forms[0] in words.PLACES else 0
    for spec in services.specs:
        size = services.names[spec.key].at(forms, placed)
        if size and words.SEARCH_LEADS.at(forms, placed + size):
            return said[placed + size :] + said[: placed + size]
    return said


def _most_exact(named: list[ConnectorSpec], forms: tuple[str, ...], services: Services) -> tuple[ConnectorSpec, ...]:
    """Keep those whose longest name is there: "nextcloud travail" does not also name "nextcloud famille"."""
    lengths = {spec.key: len(services.names[spec.key].inside(forms)[0][0]) for spec in named}
    longest = max(lengths.values(), default=0)
    return tuple(spec for spec in named if lengths[spec.key] == longest)


def _without_name(rest: tuple[Word, ...], forms: tuple[str, ...], names: Phrases) -> tuple[Word, ...] | None:
    """Cut out the first name that stands as a place: after "sur", at the beginning, or at the end; None: there is none.

    `forms` are the folded forms of `rest`.
    """
    for name, at in names.inside(forms):
        begin, end = at, at + len(name)
        while begin > 0 and forms[begin - 1] in _DETERMINERS:
            begin -= 1
        placed = begin > 0 and forms[begin - 1] in words.PLACES
        if placed or begin == 0 or end == len(rest):
            return rest[: begin - placed] + rest[end:]
    return None
