"""The services that somebody may search, prepared once for all their messages: names, words that point, examples."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ai_server.answering import intent_words as words
from ai_server.answering.intent_model import BACKGROUND, ExampleModel
from ai_server.answering.intent_phrases import Phrases
from ai_server.answering.intent_terms import folded, read_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_server.answering.intent_model import SentenceEncoder
    from ai_server.answering.intent_terms import Word
    from ai_server.connectors.contract import ConnectorSpec


class Services:
    """A set of declared services with what is looked up in every message."""

    def __init__(self, specs: tuple[ConnectorSpec, ...], encoder: SentenceEncoder | None = None) -> None:
        """Take at least one service, and the encoder of its example model."""
        self.specs = specs
        self.names: Mapping[str, Phrases] = {spec.key: Phrases(_names(spec, specs)) for spec in specs}
        self._hints = frozenset().union(*(endpoint.hints for spec in specs for endpoint in spec.endpoints))
        self._kinds: Mapping[str, Phrases] = {spec.key: Phrases(_kinds(spec)) for spec in specs}
        self._encoder = encoder

    def holding(self, said: tuple[Word, ...]) -> tuple[tuple[ConnectorSpec, ...], tuple[Word, ...]]:
        """Find who holds a kind of thing called by several words ("vélos en stock") that a request begins or ends with,
        and what else it says: the words themselves where that is nothing.
        """
        begin = next((at for at, form in enumerate(folded(said)) if form not in words.ARTICLES), 0)
        forms = folded(said[begin:])
        for spec in self.specs:
            kinds = self._kinds[spec.key]
            first, last = kinds.at(forms, 0), kinds.at_end(forms)
            if first or last:
                kind = forms[:first] if first else forms[-last:]
                left = said[begin + first :] if first else said[begin : len(said) - last]
                holders = tuple(each for each in self.specs if kind in self._kinds[each.key])
                return holders, left or said[begin:]
        return (), said

    def hinted(self, forms: Sequence[str]) -> dict[str, int]:
        """Count for each service the folded words that point at it; the first word of the request counts twice."""
        pointing = [form for form in dict.fromkeys(forms) if form in self._hints]
        if not pointing:
            return {}
        first = next((form for form in forms if form not in words.ARTICLES), "")
        counts = {
            spec.key: max(_pointed(endpoint.hints, pointing, first) for endpoint in spec.endpoints)
            for spec in self.specs
        }
        return {key: count for key, count in counts.items() if count}

    @cached_property
    def model(self) -> ExampleModel:
        """Tells requests apart by examples; each service and endpoint is a label `type/instance endpoint`."""
        return ExampleModel(self._encoder)

    @cached_property
    def examples(self) -> list[tuple[str, str]]:
        """What the model learns from."""
        made = [(BACKGROUND, text) for text in words.DOCUMENT_EXAMPLES]
        for spec in self.specs:
            for endpoint in spec.endpoints:
                label = f"{spec.key} {endpoint.name}"
                made += [(label, text) for text in endpoint.examples]
                # An endpoint without examples is known by its name and its hints alone.
                made.append((label, " ".join([spec.name, *list(endpoint.hints)[:10]])))
        return made


def _names(spec: ConnectorSpec, specs: Sequence[ConnectorSpec]) -> list[tuple[str, ...]]:
    """List what an instance may be called."""
    texts = [f"{spec.name} {spec.instance}", f"{spec.connector} {spec.instance}", spec.name]
    if spec.connector != "openapi":
        texts.append(spec.connector)
    elif [each.instance for each in specs].count(spec.instance) == 1:
        texts.append(spec.instance)
    return [name for text in texts if (name := folded(read_words(text)))]


def _kinds(spec: ConnectorSpec) -> list[tuple[str, ...]]:
    """List the kinds of things that an instance holds, and the hints at it, that have several words."""
    held = [part for each in spec.endpoints for text in each.holds.values() for part in text.split(",")]
    hints = [hint for each in spec.endpoints for hint in each.hints]
    return [kind for text in [*held, *hints] if len(kind := folded(read_words(text))) > 1]


def _pointed(hints: Mapping[str, Mapping[str, str]], forms: Sequence[str], first: str) -> int:
    return sum(1 + (form == first) for form in forms if form in hints)
