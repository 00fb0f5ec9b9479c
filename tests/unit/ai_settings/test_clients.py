"""Client records: tokens are made once, kept as hashes, and found in constant time."""

from __future__ import annotations

import stat

import pytest

from ai_server.clients import (
    LOOK_SECONDS,
    ClientFile,
    ClientRegister,
    Scope,
    add_client,
    keep_client,
    load_clients,
    remove_client,
)
from shared.errors import Forbidden, SettingsError, Unauthenticated
from tests.fakes.clock import ManualClock


def test_a_client_is_found_by_its_token_alone(tmp_path):
    path = tmp_path / "ai" / "clients.toml"
    _, token = add_client(path, "gateway", ["demo"], ["answer", "budgets"])
    _, other = add_client(path, "operator", ["*"], ["admin"])
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
    _, token = add_client(tmp_path / "clients.toml", "gateway", ["demo"], ["answer"])
    register = ClientRegister(load_clients(tmp_path / "clients.toml"))
    with pytest.raises(Unauthenticated):
        register.authenticate(header.format(token))


def test_a_client_added_again_gets_a_new_token_and_the_old_one_dies(tmp_path):
    path = tmp_path / "clients.toml"
    _, old = add_client(path, "gateway", ["demo"], ["answer"])
    _, new = add_client(path, "gateway", ["demo"], ["answer"])
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
    with pytest.raises(ValueError, match=r"client name|not a scope"):
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


def test_a_running_server_takes_new_clients_at_once_and_ends_removed_ones_within_a_second(tmp_path):
    path, clock = tmp_path / "clients.toml", ManualClock()
    _, old = add_client(path, "backend", ["demo"], ["answer"])
    register = ClientRegister(load_clients(path), ClientFile(path, clock))
    _, fresh = add_client(path, "reports", ["demo"], ["budgets"])
    assert register.authenticate(f"Bearer {fresh}").name == "reports"
    _, replaced = add_client(path, "backend", ["demo"], ["answer"])
    clock.advance(LOOK_SECONDS)
    with pytest.raises(Unauthenticated):
        register.authenticate(f"Bearer {old}")
    assert register.authenticate(f"Bearer {replaced}").name == "backend"
    assert remove_client(path, "backend")
    assert not remove_client(path, "backend")
    clock.advance(LOOK_SECONDS)
    with pytest.raises(Unauthenticated):
        register.authenticate(f"Bearer {replaced}")
    assert register.authenticate(f"Bearer {fresh}").name == "reports"


def test_a_file_that_is_looked_at_is_read_only_when_it_changed_and_a_damaged_one_changes_nothing(tmp_path, monkeypatch):
    path, clock = tmp_path / "clients.toml", ManualClock()
    _, token = add_client(path, "backend", ["demo"], ["answer"])
    register = ClientRegister(load_clients(path), ClientFile(path, clock))
    read: list[object] = []
    monkeypatch.setattr("ai_server.clients.load_clients", lambda given: read.append(given) or load_clients(given))
    for _ in range(100):
        with pytest.raises(Unauthenticated):
            register.authenticate("Bearer nobody")
    assert len(read) == 1, "once, for what came since the server checked its settings"
    path.write_text("not toml [")
    for _ in range(100):
        clock.advance(LOOK_SECONDS)
        assert register.authenticate(f"Bearer {token}").name == "backend"
    assert len(read) == 2


def test_keeping_a_client_widens_it_and_never_narrows_it_or_changes_its_token(tmp_path):
    path, file = tmp_path / "ai" / "clients.toml", tmp_path / "gateway" / "ai.token"
    made = keep_client(path, "gateway", ["velo"], ["answer"], file)
    token = file.read_text().strip()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    kept = keep_client(path, "gateway", ["demo"], ["budgets"], file)
    assert (kept.projects, kept.scopes) == ({"velo", "demo"}, {Scope.ANSWER, Scope.BUDGETS})
    assert (kept.token_sha256, file.read_text().strip()) == (made.token_sha256, token)
    assert keep_client(path, "gateway", [], [], None) == kept
    with pytest.raises(ValueError, match="no client"):
        keep_client(path, "nobody", [], [], None)


def test_records_and_token_files_that_were_restored_apart_come_together_again(tmp_path):
    path, file = tmp_path / "clients.toml", tmp_path / "ai.token"
    keep_client(path, "gateway", ["velo", "demo"], ["answer"], file)
    file.unlink()
    again = keep_client(path, "gateway", ["demo"], ["answer"], file)
    assert again.projects == {"velo", "demo"}, "a new token, but what the record allowed stays"
    register = ClientRegister(load_clients(path))
    assert register.authenticate(f"Bearer {file.read_text().strip()}").name == "gateway"
    path.unlink()
    keep_client(path, "gateway", ["*"], ["answer"], file)
    register = ClientRegister(load_clients(path))
    assert register.authenticate(f"Bearer {file.read_text().strip()}").projects == {"*"}


def test_an_operator_is_told_which_projects_are_the_clients(tmp_path):
    client, _ = add_client(tmp_path / "c.toml", "operator", ["demo"], ["admin"])
    with pytest.raises(Forbidden, match=r"`velo` is not among those of the client `operator` \(demo\)"):
        client.require_project("velo")
