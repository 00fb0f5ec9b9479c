"""Client records: tokens are made once, kept as hashes, and found in constant time."""

from __future__ import annotations

import stat

import pytest

from ai_server.clients import ClientRegister, Scope, add_client, load_clients
from shared.errors import Forbidden, SettingsError, Unauthenticated


def test_a_client_is_found_by_its_token_alone(tmp_path):
    path = tmp_path / "ai" / "clients.toml"
    token = add_client(path, "gateway", ["demo"], ["answer", "budgets"])
    other = add_client(path, "operator", ["*"], ["admin"])
    register = ClientRegister(load_clients(path))
    found = register.authenticate(f"Bearer {token}")
    assert (found.name, found.projects, found.scopes) == (
        "gateway",
        frozenset({"demo"}),
        frozenset({Scope.ANSWER, Scope.BUDGETS}),
    )
    assert register.authenticate(f"bearer {other}").name == "operator"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert token not in path.read_text()


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Bearer wrong", "Basic {}", "{}", "Bearer {} ", "Bearer \ud83d"]
)
def test_anything_else_is_refused_alike(tmp_path, header):
    token = add_client(tmp_path / "clients.toml", "gateway", ["demo"], ["answer"])
    register = ClientRegister(load_clients(tmp_path / "clients.toml"))
    with pytest.raises(Unauthenticated):
        register.authenticate(header.format(token))


def test_a_client_added_again_gets_a_new_token_and_the_old_one_dies(tmp_path):
    path = tmp_path / "clients.toml"
    old = add_client(path, "gateway", ["demo"], ["answer"])
    new = add_client(path, "gateway", ["demo"], ["answer"])
    register = ClientRegister(load_clients(path))
    assert len(register) == 1
    assert register.authenticate(f"Bearer {new}").name == "gateway"
    with pytest.raises(Unauthenticated):
        register.authenticate(f"Bearer {old}")


def test_scopes_and_projects_are_exact_but_admin_and_star_are_all(tmp_path):
    add_client(tmp_path / "c.toml", "narrow", ["demo"], ["answer"])
    add_client(tmp_path / "c.toml", "wide", ["*"], ["admin"])
    narrow, wide = load_clients(tmp_path / "c.toml")
    narrow.require(Scope.ANSWER)
    narrow.require(None)
    wide.require(Scope.BUDGETS)
    wide.require_project("anything")
    for refused in (lambda: narrow.require(Scope.DOCUMENTS), lambda: narrow.require_project("other")):
        with pytest.raises(Forbidden):
            refused()


@pytest.mark.parametrize(
    ("name", "scopes"), [("Bad Name", ["answer"]), ("", ["answer"]), ("ok", ["root"]), ("a]b", [])]
)
def test_a_name_or_scope_that_is_none_is_refused(tmp_path, name, scopes):
    with pytest.raises(ValueError, match=r"client name|not a valid Scope"):
        add_client(tmp_path / "c.toml", name, ["demo"], scopes)


def test_a_damaged_file_is_told_with_every_record_that_is_wrong(tmp_path):
    path = tmp_path / "c.toml"
    path.write_text('[one]\nscopes = ["answer"]\n[two]\ntoken_sha256 = "x"\nscopes = []\nprojects = []\n')
    with pytest.raises(SettingsError) as refused:
        load_clients(path)
    assert [name in fault for name, fault in zip(("one", "two"), refused.value.faults, strict=True)] == [True, True]
    path.write_text("not toml [")
    with pytest.raises(SettingsError, match="cannot be read"):
        load_clients(path)
