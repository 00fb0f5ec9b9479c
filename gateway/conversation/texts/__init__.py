"""What the server itself says, in every language it speaks. Stored as key and parameters, rendered for each reader.

A new text is a key in each of `fr`, `en` and `es`; a test fails when one language lacks it or names other parameters.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from gateway.conversation.clarification_text import numbered
from gateway.conversation.texts import en, es, fr

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gateway.conversation.model import ServerText

CATALOGUES: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType({"fr": fr.TEXTS, "en": en.TEXTS, "es": es.TEXTS})
FALLBACK: Final = "en"
FOR_STAFF: Final = "_for_staff"
"""Ends the key of a text's other wording: what tells a visitor "your conversation" tells the staff who did what."""


def render(text: ServerText, language: str, *, for_staff: bool = False) -> str:
    """Say a server text in `language` (in English when we do not speak it). Markdown, like every message.

    Options stand where the text has `{options}`, else below it.
    """
    spoken = primary(language) if primary(language) in CATALOGUES else FALLBACK
    key = text.key + FOR_STAFF if for_staff and knows(text.key + FOR_STAFF) else text.key
    template = CATALOGUES[spoken][key]
    options = numbered(text.options, spoken)
    said = template.format_map({**text.parameters, "options": options})
    return f"{said}\n\n{options}" if options and "{options}" not in template else said


def knows(key: str) -> bool:
    """Tell whether there is such a text."""
    return key in CATALOGUES[FALLBACK]


def primary(language: str) -> str:
    """Reduce a BCP 47 tag to its first part: `fr-CA` is `fr`."""
    return language.partition("-")[0].lower()


def preferred(accepted: str, languages: Sequence[str], default: str) -> str:
    """Choose among `languages` by an Accept-Language header (RFC 9110 §12.5.4); `default` when none fits."""
    choices: list[tuple[float, int, str]] = []
    for place, part in enumerate(accepted.split(",")[:ACCEPTED_LIMIT]):
        tag, _, parameter = part.partition(";")
        weight = _weight(parameter)
        if weight > 0 and primary(tag.strip()) in languages:
            choices.append((-weight, place, primary(tag.strip())))
    return min(choices)[2] if choices else default


ACCEPTED_LIMIT: Final = 20


def _weight(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0
