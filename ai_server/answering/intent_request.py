"""Takes a message apart: what it leads with, which services it names, what is left to search for. Pure rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ai_server.answering import intent_words as words
from ai_server.answering.intent_terms import folded, match_at, read_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_server.answering.intent_terms import Word
    from ai_server.connectors.contract import ConnectorSpec

HOW_WITHIN: Final = 2
"""Words after a verb of searching within which "how" makes a question: "find out how to cancel"."""

_QUESTIONS: Final = (*((word,) for word in words.HOW_INSIDE), *words.QUESTION_LEADS)
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


def read_request(said: tuple[Word, ...], services: Sequence[ConnectorSpec]) -> Request:
    """Take a message apart, polite words already gone."""
    said = _name_last(said, services)
    strong = match_at(said, 0, words.SEARCH_LEADS)
    weak = 0 if strong else match_at(said, 0, words.WEAK_LEADS)
    having = 0 if strong or weak else match_at(said, 0, words.HAVING_LEADS)
    where = 0 if strong or weak or having else match_at(said, 0, words.WHERE_LEADS)
    asked = match_at(said, 0, words.QUESTION_LEADS)
    rest = said[strong or weak or having or where :]
    documents, rest_without = _cut_names(rest, words.DOCUMENT_NAMES)
    named: list[ConnectorSpec] = []
    for spec in services:
        found, left = _cut_names(rest, _names(spec, services))
        if found:
            named.append(spec)
            rest_without = left
    inside = bool(strong or weak) and any(match_at(rest, at, _QUESTIONS) for at in range(min(HOW_WITHIN, len(rest))))
    return Request(
        rest=rest_without if named or documents else rest,
        strong=bool(strong),
        weak=bool(weak),
        asks_where=bool(where),
        asks_having=bool(having),
        question=inside or bool(asked and not having and not where),
        named=_most_exact(named, rest, services),
        documents_named=documents and not named,
    )


def _name_last(said: tuple[Word, ...], services: Sequence[ConnectorSpec]) -> tuple[Word, ...]:
    """Turn "sur Jellyfin cherche alien" into "cherche alien sur Jellyfin"."""
    placed = 1 if said and said[0].folded in words.PLACES else 0
    for spec in services:
        size = match_at(said, placed, _names(spec, services))
        if size and match_at(said, placed + size, words.SEARCH_LEADS):
            return said[placed + size :] + said[: placed + size]
    return said


def _names(spec: ConnectorSpec, services: Sequence[ConnectorSpec]) -> list[tuple[str, ...]]:
    """List what an instance may be called, longest first."""
    texts = {f"{spec.name} {spec.instance}", f"{spec.connector} {spec.instance}", spec.name}
    if spec.connector != "openapi":
        texts.add(spec.connector)
    alone = [each.instance for each in services].count(spec.instance) == 1
    names = {folded(read_words(text)) for text in texts}
    if alone and spec.connector == "openapi":
        names.add(folded(read_words(spec.instance)))
    return sorted((name for name in names if name), key=len, reverse=True)


def _most_exact(
    named: list[ConnectorSpec], rest: Sequence[Word], services: Sequence[ConnectorSpec]
) -> tuple[ConnectorSpec, ...]:
    """Keep those whose longest name is there: "nextcloud travail" does not also name "nextcloud famille"."""
    lengths = {spec.key: max(len(name) for name in _names(spec, services) if _find(rest, name) >= 0) for spec in named}
    longest = max(lengths.values(), default=0)
    return tuple(spec for spec in named if lengths[spec.key] == longest)


def _find(message: Sequence[Word], name: tuple[str, ...]) -> int:
    forms = folded(message)
    return next((at for at in range(len(forms) - len(name) + 1) if forms[at : at + len(name)] == name), -1)


def _cut_names(rest: tuple[Word, ...], names: Sequence[tuple[str, ...]]) -> tuple[bool, tuple[Word, ...]]:
    """Cut the first name that stands as a place out of a message: after "sur", at its beginning, or at its end."""
    for name in names:
        at = _find(rest, name)
        if at < 0:
            continue
        begin, end = at, at + len(name)
        while begin > 0 and rest[begin - 1].folded in _DETERMINERS:
            begin -= 1
        placed = begin > 0 and rest[begin - 1].folded in words.PLACES
        if placed or begin == 0 or end == len(rest):
            return True, rest[: begin - placed] + rest[end:]
    return False, rest


def hinted_services(services: Sequence[ConnectorSpec], rest: Sequence[Word]) -> dict[str, int]:
    """Count for each service the words that point at it; the first word of the request counts twice."""
    forms = folded(rest)
    first = next((form for form in forms if form not in words.ARTICLES), "")
    counts = {spec.key: max(_pointed(endpoint.hints, forms, first) for endpoint in spec.endpoints) for spec in services}
    return {key: count for key, count in counts.items() if count}


def _pointed(hints: Mapping[str, Mapping[str, str]], forms: Sequence[str], first: str) -> int:
    return sum(1 + (form == first) for form in dict.fromkeys(forms) if form in hints)
