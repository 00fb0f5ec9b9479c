"""A turn that searches a service: from intent to passages that can be cited, or to what may be tried instead."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

from ai_server.answering.citations import SERVICE_SOURCE
from ai_server.answering.contract import FailedSearch, IntentKind
from ai_server.answering.intent import choosable, plain_intent, visible
from ai_server.answering.intent_terms import suggestions, widening_steps
from ai_server.answering.markers import inert, written
from ai_server.knowledge.contract import Chunk, Hit, SentenceHit
from shared.errors import NotFound
from shared.text import fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ai_server.answering.citations import Source
    from ai_server.answering.contract import AnswerInput, Assistant, Intent, Project
    from ai_server.connectors.contract import ConnectorSpec, Item, SearchRequest
    from ai_server.connectors.service import Found

SHOWN_SNIPPET: Final = 160
FOUND: Final = {
    "fr": "Résultats sur {service} pour « {terms} » :",
    "en": "Results on {service} for “{terms}”:",
    "es": "Resultados en {service} para «{terms}»:",
}

_MARKDOWN: Final = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_[]<>#|"})


class Searcher(Protocol):
    """Searches live systems; `ai_server.connectors.service.Connectors` is the one that ships."""

    async def search(self, project_id: str, key: str, steps: Sequence[SearchRequest]) -> Found:
        """Ask an instance step by step until one finds something.

        Raises:
            NotFound, ProviderOverloaded, ProviderRefused: it cannot be asked.
        """
        ...

    async def close(self) -> None:
        """Release all connections."""
        ...


def service_of(project: Project, asked: AnswerInput, intent: Intent) -> ConnectorSpec:
    """Find the service of an intent among those that the person may search, also when the caller chose it.

    Raises:
        NotFound: not there, or not for them.
    """
    for spec in visible(project, asked.contexts):
        if spec.connector == intent.connector and intent.instance in {"", spec.instance}:
            return spec
    raise NotFound("There is no such service.")


async def find(searcher: Searcher, project: Project, spec: ConnectorSpec, intent: Intent, language: str) -> Found:
    """Search as the intent says, wider and wider."""
    endpoint = spec.endpoint(intent.endpoint)
    name = endpoint.name if endpoint else spec.endpoints[0].name
    steps = widening_steps(intent.search_terms, name, intent.query_parameters, language)
    return await searcher.search(project.project_id, spec.key, steps)


def failed_search(
    project: Project,
    assistant: Assistant,
    asked: AnswerInput,
    spec: ConnectorSpec,
    intent: Intent,
    found: Found,
    language: str,
) -> FailedSearch:
    """Say what was tried in vain, and what may be tried instead: single words, other services."""
    others = [
        replace(
            intent,
            connector=each.connector,
            instance=each.instance,
            endpoint="",
            query_parameters={},
            score=0.0,
            label=each.label(),
        )
        for each in visible(project, asked.contexts)
        if each.key != spec.key
    ]
    plain = plain_intent(assistant)
    if plain.kind is IntentKind.DOCUMENTS:
        others.append(replace(choosable(plain), search_terms=intent.search_terms))
    return FailedSearch(
        intent=replace(intent, instance=spec.instance, label=spec.label()),
        search_terms=intent.search_terms,
        tried_terms=found.tried,
        suggestions=suggestions(intent.search_terms, found.tried, language),
        other_services=tuple(others),
    )


def hits(project: Project, spec: ConnectorSpec, items: Sequence[Item], language: str) -> tuple[Hit, ...]:
    """Make passages of what was found. Each is as far as any other: a service gives no distances, only an order."""
    return tuple(_hit(project, spec, each, language, rank) for rank, each in enumerate(items))


def listing(spec: ConnectorSpec, intent: Intent, sources: Sequence[Source], language: str) -> str:
    """Write what was found as a list with a marker behind each item, for a turn that no model words.

    Everything that came from the service is text: no Markdown of its own, no marker.
    """
    terms = _plain(" ".join(intent.search_terms))
    head = FOUND.get(language, FOUND["en"]).format(service=_plain(spec.name), terms=terms)
    return "\n".join([head, "", *(_line(each) for each in sources)])


def _line(source: Source) -> str:
    title, _, rest = source.chunk.text.partition("\n")
    about = " – ".join(" ".join(line.split()) for line in rest.splitlines() if line.strip())
    about = about if len(about) <= SHOWN_SNIPPET else about[: SHOWN_SNIPPET - 1].rstrip() + "…"
    shown = f"**{_plain(title)}**" + (f" – {_plain(about)}" if about else "")
    return f"- {shown} {written(source.marker_id)}"


def _plain(text: str) -> str:
    return inert(text).translate(_MARKDOWN)


def _hit(project: Project, spec: ConnectorSpec, item: Item, language: str, rank: int) -> Hit:
    lines = [item.title, item.date[:10], item.snippet]
    text = "\n".join(line for line in lines if line)
    identity = "\0".join([project.project_id, spec.key, item.url or "", text])
    chunk = Chunk(
        chunk_id=hashlib.sha256(identity.encode()).hexdigest(),
        source_id=f"{SERVICE_SOURCE}{spec.key}",
        path=item.url or fold(item.title),
        title=item.title,
        url=item.url,
        heading=spec.name,
        text=text,
        language=language,
        metadata=spec.rights,
        quotable=True,
    )
    return Hit(chunk, distance=1.0, score=-float(rank), kept=True, sentences=(SentenceHit(item.title, 1.0),))
