"""Operator commands say and do the same through a running gateway as on its data."""

from __future__ import annotations

import json

import pytest

from gateway.__main__ import _parser
from gateway.cli import commands
from gateway.cli.keepers import LocalKeeper, RemoteKeeper
from shared.errors import PasseurError
from tests.fakes.gateway import OPERATOR_TOKEN
from tests.integration.gateway.support.test_escalation import escalate


@pytest.fixture(params=["running", "at rest"])
def keeper(request, services, url):
    if request.param == "running":
        return RemoteKeeper(url, OPERATOR_TOKEN)
    return LocalKeeper(services.support.staff, services.support.records, services.projects)


@pytest.fixture
def command(keeper, capsys):
    async def run(*words):
        capsys.readouterr()
        await commands.run(_parser().parse_args(words), keeper)
        return capsys.readouterr().out

    return run


async def test_an_account_is_made_listed_given_a_new_password_and_disabled(command, services):
    said = await command("staff", "add", "Ana", "--name", "Ana Ortiz", "--role", "admin")
    first = said.partition("password: ")[2].partition("\n")[0]
    assert (await services.support.staff.sign_in("ana", first)).member.name == "Ana Ortiz"
    assert "ana                  admin  Ana Ortiz" in await command("staff", "list", "--project", "demo")
    assert "ana" not in await command("staff", "list", "--project", "other")
    said = await command("staff", "password", "ana")
    assert first not in said
    with pytest.raises(PasseurError):
        await services.support.staff.sign_in("ana", first)
    assert await command("staff", "disable", "ana") == "disabled: ana\n"
    assert "(disabled)" in await command("staff", "list")


async def test_what_is_refused_is_said_in_the_same_words(command):
    await command("staff", "add", "ana")
    for words, reason in (
        (("staff", "add", "ANA"), "There is someone with the login 'ana' already: choose another."),
        (("staff", "add", "x", "--project", "none"), "is no project that is served here"),
        (("visitors", "delete", "nobody"), "There is no such visitor."),
        (("conversations", "export", "nothing"), "There is no such conversation."),
    ):
        with pytest.raises(PasseurError, match=reason):
            await command(*words)


async def test_a_visitor_is_exported_and_deleted(command, browser, conversation):
    await browser.say(conversation, "Bonjour")
    await escalate(browser, conversation)
    exported = json.loads(await command("visitors", "export", browser.visitor_id))
    assert [each["conversation"]["id"] for each in exported["conversations"]] == [conversation]
    one = json.loads(await command("conversations", "export", conversation))
    assert one["messages"] == exported["conversations"][0]["messages"]
    said = await command("visitors", "delete", browser.visitor_id)
    assert said.endswith("deleted: 1 conversations, 0 files\n")  # what is logged comes before, in this process
