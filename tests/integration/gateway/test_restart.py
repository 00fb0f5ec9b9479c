"""Turns outlive the gateway that took them."""

import asyncio

from gateway.conversation.model import Conversation
from gateway.turns.service import NewMessage
from shared.ids import new_id
from tests.fakes.assistant import Pause, ScriptedAssistant, answering
from tests.fakes.gateway import open_services
from tests.waiting import eventually


async def begin(services, text="raconte"):
    project = services.projects.get("demo")
    visitor = (await services.sessions.open_anonymous(project, "fr")).visitor
    now = services.clock.now()
    conversation = Conversation(new_id(now), "demo", visitor.id, "", "fr", now, now)
    async with services.store.transaction() as tx:
        await tx.conversations.add(conversation)
    message = NewMessage(conversation.id, text, "", "fr", None)
    return (await services.turns.send(visitor, project, message)).turn


class Surviving(ScriptedAssistant):
    """An AI server that outlives the gateways that talk to it."""

    async def close(self):
        pass


async def left_behind(tmp_path, assistant):
    """Take a message in a gateway that ends before the answer; tells the turn."""
    async with open_services(tmp_path, assistant) as services:
        turn = await begin(services)
        await eventually(lambda: assistant.started)
    return turn


async def finished(tmp_path, assistant, turn):
    async with open_services(tmp_path, assistant) as services:
        serving = asyncio.create_task(services.turns.serve())
        async with asyncio.timeout(60):
            over = await services.turns.wait(turn.id)
        serving.cancel()
    return over.turn, over.said


async def test_a_turn_goes_on_in_the_next_gateway_with_one_call(tmp_path):
    """Issue 6: re-attachment after a gateway crash, one provider call."""
    assistant = Surviving(lambda question: [Pause(), *answering("la suite")])
    turn = await left_behind(tmp_path, assistant)
    assistant.release()
    ended, said = await finished(tmp_path, assistant, turn)
    assert (ended.outcome, said.text, assistant.started) == ("answered", "la suite", 1)
    await ScriptedAssistant.close(assistant)


async def test_a_turn_that_the_ai_server_does_not_know_is_interrupted_once(tmp_path):
    assistant = Surviving(lambda question: [Pause(), *answering("jamais")])
    turn = await left_behind(tmp_path, assistant)
    assistant.forget()
    ended, said = await finished(tmp_path, assistant, turn)
    assert (ended.outcome, said.server_text.key, assistant.started) == ("interrupted", "support_notice_interrupted", 1)


async def test_a_turn_taken_up_while_the_ai_server_is_away_waits_for_it(tmp_path):
    assistant = Surviving(lambda question: [Pause(), *answering("enfin")])
    turn = await left_behind(tmp_path, assistant)
    assistant.release()
    assistant.down = True
    asyncio.get_running_loop().call_later(0.3, assistant.recover)
    ended, said = await finished(tmp_path, assistant, turn)
    assert (ended.outcome, said.text, assistant.started) == ("answered", "enfin", 1)
    await ScriptedAssistant.close(assistant)


async def test_a_graceful_end_lets_running_turns_publish(tmp_path):
    """PROMISES.md P18: running turns finish within the grace period."""
    assistant = Surviving(lambda question: [Pause(), *answering("à temps")])
    async with open_services(tmp_path, assistant) as services:
        turn = await begin(services)
        await eventually(lambda: assistant.started)
        closing = asyncio.create_task(services.turns.close(grace_s=10))
        assistant.release()
        await closing
        async with services.store.transaction() as tx:
            assert (await tx.turns.get(turn.id)).outcome == "answered"
    await ScriptedAssistant.close(assistant)
