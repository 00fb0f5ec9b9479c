"""Words the questions that the AI server leaves open: which service, or what to try instead. Pure.

A question is a server text with options; each option carries its words by language, so every reader gets the same
numbers in their own language, and a page can offer the options as buttons that send the number.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from gateway.conversation.clarification import Option
from gateway.conversation.model import ServerText

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LANGUAGES: Final = ("fr", "en", "es")
FALLBACK: Final = "en"
SHOWN_TERMS: Final = 100

_ALONE: Final = {"fr": "Chercher « {word} » seul", "en": "Search “{word}” alone", "es": "Buscar «{word}» solo"}
_ELSEWHERE: Final = {
    "fr": "Chercher sur un autre service",
    "en": "Search another service",
    "es": "Buscar en otro servicio",
}
_INSTEAD: Final = {
    "fr": "Chercher plutôt ici : {other}",
    "en": "Search here instead: {other}",
    "es": "Buscar aquí en su lugar: {other}",
}
"""Where only the documents are left, which are no service: they are named, and chosen at once."""
_SIGNS: Final = re.compile(r"([\\`*_\[\]<>#|~!])")


def ask_service(candidates: Sequence[Mapping[str, Any]], *, key: str = "support_clarify_connector") -> ServerText:
    """Ask where to search, with what each service holds."""
    return ServerText(key, {"count": str(len(candidates))}, options=tuple(label(each) for each in candidates))


def ask_search(
    terms: Sequence[str],
    service: Mapping[str, Any],
    suggestions: Sequence[str],
    others: Sequence[Mapping[str, Any]],
) -> ServerText:
    """Say that nothing was found, and offer each word alone, another service, or a new term."""
    options = [{language: said.format(word=word) for language, said in _ALONE.items()} for word in suggestions]
    if len(others) == 1 and not others[0].get("connector"):
        named = label(others[0])
        options.append(
            {language: said.format(other=option_label(named, language)) for language, said in _INSTEAD.items()}
        )
    elif others:
        options.append(dict(_ELSEWHERE))
    key = "support_clarify_search" if options else "support_clarify_search_term"
    shown = plain(" ".join(terms)[:SHOWN_TERMS])
    return ServerText(key, {"terms": shown, "service": plain(name_of(service))}, options=tuple(options))


def again(text: ServerText, key: str) -> ServerText:
    """Ask the same once more under another introduction."""
    return ServerText(key, {"count": str(len(text.options))}, options=text.options)


def label(candidate: Mapping[str, Any]) -> Mapping[str, str]:
    """Read what a candidate is called, by language; its type and instance when it has no label."""
    given = {str(language): str(text) for language, text in dict(candidate.get("label") or {}).items()}
    return given or {FALLBACK: name_of(candidate)}


def name_of(candidate: Mapping[str, Any]) -> str:
    """Name a service shortly: its label up to the dash."""
    labels = dict(candidate.get("label") or {})
    text = str(labels.get(FALLBACK) or next(iter(labels.values()), "") or candidate.get("connector") or "?")
    return re.split(r"\s+[–—-]\s+", text, maxsplit=1)[0]


def option_of(candidate: Mapping[str, Any]) -> Option:
    """Gather what a person may call a candidate."""
    labels = {str(language): str(text) for language, text in dict(candidate.get("label") or {}).items()}
    return Option.of(labels, str(candidate.get("connector") or ""), str(candidate.get("instance") or ""))


def option_label(option: Mapping[str, str], language: str) -> str:
    """Say an option in a language, in English or in any it has."""
    return option.get(language) or option.get(FALLBACK) or next(iter(option.values()), "")


def numbered(options: Sequence[Mapping[str, str]], language: str) -> str:
    """List the options as Markdown, numbered from 1."""
    return "\n".join(f"{number}. {plain(option_label(each, language))}" for number, each in enumerate(options, start=1))


def plain(text: str) -> str:
    """Make text from a visitor or a service inert in Markdown, on one line."""
    return _SIGNS.sub(r"\\\1", " ".join(text.split()))
