"""Deep search widens in steps before it gives up; each instance works or fails alone (issue 8)."""

from __future__ import annotations

import asyncio

import pytest

from ai_server.connectors import service
from ai_server.connectors.contract import Item, SearchRequest
from ai_server.connectors.service import Connectors
from shared.errors import NotFound, ProviderOverloaded
from tests.unit.connectors.conftest import spec_for

FOUND = Item("Alien", None, "1979", "")
STEPS = [SearchRequest("items", terms) for terms in ("Xénomorph", "xenomorph", "xeno", "x", "never asked")]


class Scripted:
    """A connector that answers from a list: items, an error, or a wait for ever."""

    def __init__(self, spec, answers):
        self.spec = spec
        self.answers = list(answers)
        self.asked = []
        self.closed = 0

    async def search(self, request):
        self.asked.append(request.terms)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if answer == "hang":
            await asyncio.Event().wait()
        return answer

    async def close(self):
        self.closed += 1


def down():
    return ProviderOverloaded("jellyfin/home", "down", started=False, error_class="unreachable")


def connectors(*answers):
    made = []

    def make(spec):
        made.append(Scripted(spec, answers))
        return made[-1]

    return Connectors({"demo": [spec_for("jellyfin", "https://x.example")]}, make), made[0]


async def test_the_first_step_that_finds_something_ends_the_search():
    several, connector = connectors((), (FOUND,))
    found = await several.search("demo", "jellyfin/home", STEPS)
    assert (found.items, found.tried, connector.asked) == ((FOUND,), ("xenomorph",), ["Xénomorph", "xenomorph"])


async def test_nothing_found_tells_all_that_was_tried_within_the_bound():
    several, connector = connectors((), (), (), ())
    found = await several.search("demo", "jellyfin/home", STEPS)
    assert (found.items, found.tried) == ((), ("xenomorph", "xeno", "x"))
    assert len(connector.asked) == service.STEPS_LIMIT


async def test_a_service_that_is_down_is_an_error_and_not_an_empty_answer():
    several, _ = connectors(down())
    with pytest.raises(ProviderOverloaded):
        await several.search("demo", "jellyfin/home", STEPS)


async def test_a_later_step_that_fails_keeps_what_is_known():
    several, _ = connectors((), down())
    assert (await several.search("demo", "jellyfin/home", STEPS)).tried == ("xenomorph",)


async def test_all_steps_together_have_a_deadline(monkeypatch):
    monkeypatch.setattr(service, "SEARCH_DEADLINE_S", 0.05)
    several, _ = connectors((), "hang")
    assert (await several.search("demo", "jellyfin/home", STEPS)).items == ()
    several, _ = connectors("hang")
    with pytest.raises(ProviderOverloaded):
        await several.search("demo", "jellyfin/home", STEPS)


async def test_another_project_does_not_have_the_instance():
    several, connector = connectors()
    with pytest.raises(NotFound):
        await several.search("other", "jellyfin/home", STEPS)
    await several.close()
    assert connector.closed == 1
