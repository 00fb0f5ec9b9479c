"""Questions that a conversation waits on: kept, read, claimed once, dead after five minutes (P36; CASES H10)."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from gateway.conversation.model import Conversation, Visitor
from gateway.conversation.texts import render
from gateway.pending.contract import AskedLocally, LookFirst, Resumed
from gateway.pending.service import Clarifications
from gateway.storage.sqlite import open_sqlite
from shared.ids import new_id
from tests.fakes.clock import ManualClock


def candidate(connector, holds, **more):
    return {
        "kind": "INTENT_KIND_CONNECTOR",
        "connector": connector.lower(),
        "instance": "home",
        "endpoint": "items",
        "search_terms": ["batman"],
        "label": {"fr": f"{connector} – {holds}", "en": f"{connector} – {holds}"},
        **more,
    }


JELLYFIN = candidate("Jellyfin", "films", query_parameters={"types": "Movie"})
NEXTCLOUD = candidate("Nextcloud", "fichiers")
GITHUB = candidate("GitHub", "code")
SERVICES = [JELLYFIN, NEXTCLOUD, GITHUB]
FAILED = {
    "intent": {**JELLYFIN, "search_terms": ["xenomorph", "awakening"]},
    "search_terms": ["xenomorph", "awakening"],
    "tried_terms": ["xenomorph awakening"],
    "suggestions": ["xenomorph", "awakening"],
    "other_services": [NEXTCLOUD, GITHUB],
}


class Nobody:
    def committed(self, events):
        pass


class Desk:
    """A store with one conversation, and the gateways that look at it."""

    def __init__(self, folder, clock):
        self.folder, self.clock, self.turns = folder, clock, 0
        self.happened = []
        self.restart()

    def restart(self):
        self.pending = Clarifications(self.clock)
        self.pending.watchers.append(lambda kind, what: self.happened.append((kind, what)))

    async def begin(self):
        self.store = await open_sqlite(self.folder, self.clock, Nobody())
        now = self.clock.now()
        visitor = Visitor(new_id(now), "demo", None, "fr", (), now)
        self.conversation = Conversation(new_id(now), "demo", visitor.id, "", "fr", now, now)
        async with self.store.transaction() as tx:
            await tx.visitors.add(visitor)
            await tx.conversations.add(self.conversation)

    async def ask_service(self, candidates=tuple(SERVICES)):
        async with self.store.transaction() as tx:
            return await self.pending.ask_service(tx, self.conversation.id, "cherche batman", candidates)

    async def ask_search(self, turn_id="turn", failed=None):
        async with self.store.transaction() as tx:
            return await self.pending.ask_search(
                tx, self.conversation.id, turn_id, "cherche xenomorph awakening", failed or FAILED
            )

    async def reply(self, text, *, turn_id=None, is_request=False):
        self.turns += 1
        turn_id = turn_id or f"turn{self.turns}"
        async with self.store.transaction() as tx:
            return await self.pending.answer(tx, self.conversation.id, turn_id, text, is_request=is_request)

    async def settle(self, turn_id, *, passing=False):
        async with self.store.transaction() as tx:
            return await self.pending.settle(tx, turn_id, passing=passing)

    async def waiting(self):
        async with self.store.transaction() as tx:
            return await tx.pending.open_in(self.conversation.id)


@pytest.fixture
async def desk(tmp_path):
    made = Desk(tmp_path, ManualClock())
    await made.begin()
    yield made
    await made.store.close()


async def test_the_question_is_numbered_in_each_readers_language(desk):
    text = await desk.ask_service()
    assert render(text, "fr") == (
        "Où faut-il chercher ?\n\n1. Jellyfin – films\n2. Nextcloud – fichiers\n3. GitHub – code\n\n"
        "Répondez avec le numéro ou le nom, de 1 à 3."
    )
    assert "1. Jellyfin" in render(text, "es")
    searched = await desk.ask_search()
    assert render(searched, "fr") == (
        "Aucun résultat pour « xenomorph awakening » sur Jellyfin. Vous pouvez :\n\n"
        "1. Chercher « xenomorph » seul\n2. Chercher « awakening » seul\n3. Chercher sur un autre service\n\n"
        "Ou écrivez directement un autre terme de recherche."
    )
    assert "3. Search another service" in render(searched, "en")


async def test_words_of_a_visitor_are_no_markdown(desk):
    failed = {**FAILED, "search_terms": ["[x](http://evil.example)", "*b*"], "suggestions": ["*b*"]}
    said = render(await desk.ask_search(failed=failed), "en")
    assert "\\[x\\](http://evil.example)" in said
    assert "“\\*b\\*”" in said


async def test_a_choice_continues_with_the_question_as_it_was_asked(desk):
    await desk.ask_service()
    assert await desk.reply("2") == Resumed("cherche batman", NEXTCLOUD)
    assert await desk.waiting() is None
    assert await desk.reply("2") is None


async def test_a_reply_that_is_no_answer_clears_the_question(desk):
    await desk.ask_service()
    assert await desk.reply("3 idiots") is None
    assert await desk.reply("1") is None
    assert desk.happened == [("clarify_connector", "asked"), ("clarify_connector", "new_message")]


async def test_an_unclear_choice_is_asked_again_once_with_the_deadline_unchanged(desk):
    await desk.ask_service()
    desk.clock.advance(200)
    again = await desk.reply("1 ou 2")
    assert isinstance(again, AskedLocally)
    assert "1. Jellyfin" in render(again.text, "fr")
    desk.clock.advance(99)
    assert isinstance(await desk.reply("1"), Resumed)
    await desk.ask_service()
    desk.clock.advance(200)
    await desk.reply("7")
    assert isinstance(await desk.reply("7"), AskedLocally), "an echo is not a second try"
    assert await desk.reply("8") is None
    await desk.ask_service()
    await desk.reply("7")
    desk.clock.advance(301)
    assert not isinstance(await desk.reply("1"), Resumed)


@pytest.mark.parametrize(("seconds", "alive"), [(0, True), (299, True), (299.9, True), (300, False), (301, False)])
async def test_a_question_dies_five_minutes_after_it_was_asked(desk, seconds, alive):
    await desk.ask_service()
    desk.clock.advance(seconds)
    assert isinstance(await desk.reply("1"), Resumed) == alive


async def test_a_clock_set_back_does_not_keep_a_question_alive(desk):
    await desk.ask_service()
    desk.clock.jump(desk.clock.now() - timedelta(minutes=10))
    desk.clock.advance(301)
    assert not isinstance(await desk.reply("1"), Resumed)


async def test_a_clock_set_back_does_not_kill_a_question_either(desk):
    await desk.ask_service()
    desk.clock.jump(desk.clock.now() - timedelta(minutes=10))
    desk.clock.advance(290)
    assert isinstance(await desk.reply("1"), Resumed)


async def test_a_machine_that_slept_finds_the_question_dead(desk):
    """Suspended, the monotonic clock stands still and the wall clock goes on."""
    await desk.ask_service()
    desk.clock.jump(desk.clock.now() + timedelta(minutes=6))
    assert not isinstance(await desk.reply("1"), Resumed)


async def test_a_restart_keeps_the_deadline(desk):
    await desk.ask_service()
    desk.clock.advance(180)
    desk.restart()
    desk.clock.advance(119)
    assert (await desk.waiting()) is not None
    assert isinstance(await desk.reply("1"), Resumed)
    await desk.ask_service()
    desk.clock.advance(180)
    desk.restart()
    desk.clock.advance(121)
    assert not isinstance(await desk.reply("1"), Resumed)


async def test_after_a_restart_a_clock_set_back_gives_at_most_one_whole_life(desk):
    await desk.ask_service()
    desk.restart()
    desk.clock.jump(desk.clock.now() - timedelta(hours=5))
    assert isinstance(await desk.reply("1 ou 2"), AskedLocally)
    desk.clock.advance(300)
    assert not isinstance(await desk.reply("1"), Resumed)


async def test_a_choice_that_comes_too_late_brings_the_question_back(desk):
    """CASES H10: a polite restart with the original question kept."""
    await desk.ask_service()
    desk.clock.advance(301)
    late = await desk.reply("1")
    assert isinstance(late, AskedLocally)
    assert "expir" in render(late.text, "fr")
    echo = await desk.reply("1")
    assert isinstance(echo, AskedLocally), "another tab, or a double click: nobody has read the question yet"
    desk.clock.advance(2)
    assert await desk.reply("1") == Resumed("cherche batman", JELLYFIN)


async def test_another_message_after_the_deadline_is_an_ordinary_one(desk):
    await desk.ask_search()
    desk.clock.advance(301)
    assert await desk.reply("alien") is None
    await desk.ask_service()
    desk.clock.advance(3_600 + 301)
    assert await desk.reply("1") is None


async def test_of_many_parallel_replies_one_is_executed(desk):
    await desk.ask_service()
    answers = await asyncio.gather(*(desk.reply("1", turn_id=f"t{number}") for number in range(20)))
    assert sum(isinstance(each, Resumed) for each in answers) == 1


async def test_only_the_newest_question_is_open(desk):
    await desk.ask_service()
    await desk.ask_service([GITHUB, NEXTCLOUD])
    assert await desk.reply("1") == Resumed("cherche batman", GITHUB)
    assert await desk.reply("1") is None


async def test_a_passing_failure_offers_the_question_anew(desk):
    await desk.ask_service()
    await desk.reply("1", turn_id="t1")
    desk.clock.advance(290)
    offered = await desk.settle("t1", passing=True)
    assert "1. Jellyfin" in render(offered, "fr")
    desk.clock.advance(290)
    assert await desk.reply("1", turn_id="t2") == Resumed("cherche batman", JELLYFIN)
    assert await desk.settle("t2") is None
    assert await desk.waiting() is None
    assert await desk.settle("t2", passing=True) is None


async def test_a_person_who_takes_over_cancels_the_question(desk):
    await desk.ask_service()
    async with desk.store.transaction() as tx:
        await desk.pending.cancel_all(tx, desk.conversation.id)
    assert await desk.reply("1") is None


async def test_a_suggested_word_and_a_new_term_keep_the_service(desk):
    await desk.ask_search()
    assert await desk.reply("2") == Resumed("awakening", {**FAILED["intent"], "search_terms": ["awakening"]})
    await desk.ask_search()
    again = await desk.reply("the thing")
    assert again == Resumed("the thing", {**FAILED["intent"], "search_terms": ["the", "thing"]})
    assert again.resolved_intent["query_parameters"] == {"types": "Movie"}


async def test_a_reply_that_is_a_request_is_no_term(desk):
    await desk.ask_search()
    with pytest.raises(LookFirst):
        await desk.reply("cherche le film dune", is_request=None)
    assert await desk.waiting() is not None
    assert await desk.reply("cherche le film dune", is_request=True) is None
    assert await desk.waiting() is None


async def test_what_is_plainly_no_term_needs_no_look(desk):
    await desk.ask_search()
    assert isinstance(await desk.reply("1", is_request=None), Resumed)
    await desk.ask_search()
    assert await desk.reply("", is_request=None) is None


async def test_another_service_opens_the_choice_and_it_is_searched_for_the_same(desk):
    await desk.ask_search()
    opened = await desk.reply("3")
    assert isinstance(opened, AskedLocally)
    assert (opened.kind, len(opened.text.options)) == ("clarify_connector", 2)
    assert await desk.reply("1") == Resumed("cherche xenomorph awakening", NEXTCLOUD)
    await desk.ask_search()
    assert await desk.reply("sur github") == Resumed("cherche xenomorph awakening", GITHUB)
    await desk.ask_search(failed={**FAILED, "other_services": [GITHUB]})
    assert await desk.reply("un autre service") == Resumed("cherche xenomorph awakening", GITHUB)


async def test_where_only_the_documents_are_left_they_are_offered_by_name(desk):
    """A newcomer's report: "search another service" was offered where there was no other."""
    help_pages = {"kind": "documents", "label": {"fr": "Documentation – pages d'aide", "en": "Help pages"}}
    text = await desk.ask_search(failed={**FAILED, "other_services": [help_pages]})
    assert text.options[-1]["fr"] == "Chercher plutôt ici : Documentation – pages d'aide"
    assert text.options[-1]["es"] == "Buscar aquí en su lugar: Help pages"
    assert await desk.reply("3") == Resumed("cherche xenomorph awakening", help_pages)


async def test_what_was_tried_is_never_offered_again(desk):
    await desk.ask_search()
    await desk.reply("1", turn_id="t1")
    second = {**FAILED, "tried_terms": ["xenomorph"], "suggestions": ["Xenomorph", "awakening"]}
    text = await desk.ask_search("t1", second)
    assert [each["en"] for each in text.options] == ["Search “awakening” alone", "Search another service"]


async def test_after_two_fruitless_rounds_a_human_is_suggested(desk):
    assert await desk.ask_search("t0") is not None
    await desk.reply("1", turn_id="t1")
    assert await desk.ask_search("t1") is not None
    await desk.reply("alien", turn_id="t2")
    assert await desk.ask_search("t2") is None
    assert await desk.waiting() is None
    assert ("clarify_search", "human_suggested") in desk.happened


async def test_a_choice_of_service_is_no_fruitless_round_but_another_service_is(desk):
    await desk.ask_service()
    await desk.reply("1", turn_id="t1")
    assert await desk.ask_search("t1") is not None
    await desk.reply("3", turn_id="t2")
    await desk.reply("1", turn_id="t3")
    assert await desk.ask_search("t3") is not None
    await desk.reply("predator", turn_id="t4")
    assert await desk.ask_search("t4") is None


async def test_a_search_of_one_word_alone_in_the_house_asks_for_another_term(desk):
    text = await desk.ask_search(failed={"intent": JELLYFIN, "search_terms": ["zzz"], "tried_terms": ["zzz"]})
    assert text.options == ()
    assert "zzz" in render(text, "es")
    assert await desk.reply("alien") == Resumed("alien", {**JELLYFIN, "search_terms": ["alien"]})
