"""Takes a message apart: what it leads with, which services it names, what is left to search for. Pure rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ai_server.answering import intent_words as words
from ai_server.answering.intent_phrases import Phrases
from ai_server.answering.intent_terms import folded
from ai_server.knowledge.stop_words import STOP_WORDS

if TYPE_CHECKING:
    from ai_server.answering.intent_services import Services
    from ai_server.answering.intent_terms import Word
    from ai_server.connectors.contract import ConnectorSpec

HOW_WITHIN: Final = 2
"""Words after a verb of searching within which "how" makes a question: "find out how to cancel"."""

TERM_WORDS: Final = 5
"""Most words of what is searched for without a verb of searching."""

_QUESTIONS: Final = Phrases([*((word,) for word in words.HOW_INSIDE), *words.QUESTION_LEADS])
_SENTENCE: Final = frozenset().union(*STOP_WORDS.values()) - words.ARTICLES - words.LINKS
"""What makes a sentence of words: pronouns, verbs, negations."""
_DETERMINERS: Final = frozenset({"le", "la", "the", "el", "l", "mon", "my", "mi", "notre", "our"})


@dataclass(frozen=True, slots=True)
class Request:
    """A message taken apart: what it leads with, what is left, which services it names."""

    rest: tuple[Word, ...]
    whole: tuple[Word, ...]
    """What is left with the names still in it."""
    strong: bool
    weak: bool
    asks_where: bool
    asks_having: bool
    question: bool
    named: tuple[ConnectorSpec, ...]
    documents_named: bool
    addressed: bool
    """Whether the name says where to search what is left, without a verb: "Stock : Gitane", "Gitane au stock"."""


def read_request(said: tuple[Word, ...], services: Services, head: tuple[Word, ...] = ()) -> Request:
    """Take a message apart, polite words already gone. `head` is what stands before its colon, if it has one."""
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
    documents, named, placed = left is not None, [], False
    for spec in services.specs:
        without = _without_name(rest, forms, services.names[spec.key])
        if without is not None:
            named.append(spec)
            left = without
            placed = placed or _placed(forms, services.names[spec.key])
    headed = any(_undetermined(folded(head)) in services.names[spec.key] for spec in named)
    inside = bool(strong or weak) and any(_QUESTIONS.at(forms, at) for at in range(HOW_WITHIN))
    return Request(
        rest=rest if left is None else left,
        whole=rest,
        strong=bool(strong),
        weak=bool(weak),
        asks_where=bool(where),
        asks_having=bool(having),
        question=inside or bool(asked and not having and not where),
        named=_most_exact(named, forms, services),
        documents_named=documents and not named,
        addressed=(placed or headed) and left is not None and is_term(left),
    )


def is_term(said: tuple[Word, ...]) -> bool:
    """Tell whether words are what one searches for: few, no sentence, no trouble with the service itself."""
    return 0 < len(said) <= TERM_WORDS and not any(form in _SENTENCE or form in words.TROUBLE for form in folded(said))


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
        begin, end = _begin(forms, at), at + len(name)
        placed = begin > 0 and forms[begin - 1] in words.PLACES
        if placed or begin == 0 or end == len(rest):
            return rest[: begin - placed] + rest[end:]
    return None


def _begin(forms: tuple[str, ...], at: int) -> int:
    """Take the determiners before a name with it."""
    while at > 0 and forms[at - 1] in _DETERMINERS:
        at -= 1
    return at


def _placed(forms: tuple[str, ...], names: Phrases) -> bool:
    """Tell whether one of the names ends or begins the message behind a word that says where."""
    for name, at in names.inside(forms):
        begin = _begin(forms, at)
        if begin > 0 and forms[begin - 1] in words.SURE_PLACES and (begin == 1 or at + len(name) == len(forms)):
            return True
    return False


def _undetermined(forms: tuple[str, ...]) -> tuple[str, ...]:
    return forms[next((at for at, form in enumerate(forms) if form not in _DETERMINERS), 0) :]
