"""The passage behind a citation, with the reader's rights checked again. What a live service found is in no index: it
opens as it was told in the answer, to whom the answer was given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gateway.assistant.contract import Passage
from gateway.web.answers import answer
from gateway.web.caller import visitor_of
from gateway.web.conversations import owned
from gateway.web.services import SERVICES
from gateway.web.views import sources, web_address
from shared.errors import NotFound
from shared.ids import is_id

if TYPE_CHECKING:
    from aiohttp import web

    from gateway.conversation.model import CitedPassage
    from gateway.web.caller import Caller
    from gateway.web.services import Services

NUMBER_DIGITS: Final = 4


async def show(request: web.Request) -> web.Response:
    """Read the passage, if the visitor may read it now."""
    services, caller = request.app[SERVICES], await visitor_of(request)
    cited = await _cited(services, caller, request)
    passage = await _passage(services, caller, cited)
    return answer(
        {
            "id": request.match_info["citation_id"],
            "title": passage.title,
            "url": web_address(passage.url),
            "heading": passage.heading,
            "text": passage.text,
            "language": passage.language,
            "quote": cited.quote,
            "service": cited.service,
        }
    )


async def _passage(services: Services, caller: Caller, cited: CitedPassage) -> Passage:
    if cited.service:
        return Passage(cited.chunk_id, cited.title, cited.url, "", cited.text, "")
    contexts = caller.project.contexts_of(caller.visitor)
    passage = await services.assistant.passage(caller.project.id, cited.chunk_id, contexts)
    if passage is None:
        raise NotFound("There is no such citation.")
    return passage


async def _cited(services: Services, caller: Caller, request: web.Request) -> CitedPassage:
    message_id, _, number = request.match_info["citation_id"].partition(".")
    async with services.store.transaction() as tx:
        conversation = await owned(tx, caller, request)
        message = await tx.messages.get(message_id) if is_id(message_id) else None
    if message is not None and message.conversation_id == conversation.id and len(number) <= NUMBER_DIGITS:
        for place, each in enumerate(sources(message), start=1):
            if str(place) == number:
                return each
    raise NotFound("There is no such citation.")
