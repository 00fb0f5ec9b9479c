"""Connectors are declared in the project's file, and every fault has a name (issue 8)."""

from __future__ import annotations

import tomllib

import pytest
from pydantic import ValidationError

from ai_server.connectors.contract import SearchRequest
from ai_server.connectors.declared import ConnectorTable, read, rights_faults
from ai_server.connectors.openapi import OpenApi
from tests.fakes.described_service import FOLDER, DescribedService

WIKI = """
type = "openapi"
instance = "wiki"
name = "Wiki"
url = "URL"
description = "jellyfin.yaml"
networks = ["127.0.0.0/8"]
rights = { audience = "public" }
auth = "header:X-Api-Key"
secret_env = "PASSEUR_CONNECTOR_WIKI"
[[endpoints]]
name = "pages"
holds = { fr = "pages", en = "pages", es = "páginas" }
hints = ["Wiki", "Procédure"]
path = "/Items"
query = { searchTerm = "{terms}", limit = "{limit}", recursive = "false" }
wide = { recursive = "true" }
items = "Items"
title = "Name"
link = "/wiki/{Id}"
date = "PremiereDate"
snippet = "Overview"
"""
SECRETS = {"PASSEUR_CONNECTOR_WIKI": "k3y", "PASSEUR_CONNECTOR_BAD": 'a"b'}


def table(text: str = WIKI, **changes) -> ConnectorTable:
    return ConnectorTable.model_validate({**tomllib.loads(text), **changes})


def spec_of(text: str = WIKI, **changes):
    return read(table(text, **changes), FOLDER, lambda name: SECRETS.get(name, ""))


async def test_a_service_is_searched_without_a_line_of_code(serve):
    page = {"Id": "a b", "Name": "Procédure", "Overview": "<p>Comment faire</p>", "PremiereDate": "2026-01-02"}
    service = DescribedService("jellyfin.yaml", lambda path, query: {"Items": [page]})
    url = await serve(service.app)
    spec, faults = spec_of(WIKI.replace("URL", url))
    assert faults == []
    connector = OpenApi(spec)
    (found,) = await connector.search(SearchRequest("pages", "a & b?"))
    await connector.search(SearchRequest("pages", "x", wide=True))
    await connector.close()
    assert (found.title, found.url, found.date, found.snippet) == (
        "Procédure",
        f"{url}/wiki/a%20b",
        "2026-01-02",
        "Comment faire",
    )
    assert service.undeclared == []
    assert [query["recursive"] for _, query, _ in service.requests] == ["false", "true"]
    assert service.requests[0][1]["searchTerm"] == "a & b?"
    assert service.requests[0][2]["X-Api-Key"] == "k3y"


def test_the_declared_words_say_what_is_there():
    spec, _ = spec_of(WIKI.replace("URL", "https://wiki.example"))
    (endpoint,) = spec.endpoints
    assert spec.key == "openapi/wiki"
    assert set(endpoint.hints) == {"wiki", "procedure", "pages", "paginas"}
    assert spec.label()["es"] == "Wiki – páginas"
    assert "k3y" not in repr(spec)


def test_known_types_bring_their_endpoints_and_take_more_words():
    text = 'type = "github"\ninstance = "work"\nurl = "https://api.example"\n'
    spec, faults = spec_of(text + '[[endpoints]]\nname = "issues"\nhints = ["panne"]')
    assert faults == []
    assert [each.name for each in spec.endpoints] == ["repositories", "issues", "code"]
    assert {"bug", "panne"} <= set(spec.endpoints[1].hints)
    assert spec.name == "GitHub"


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ('path = "/Items"', 'path = "/Nope"', "no GET /Nope"),
        ("searchTerm", "q", "no parameter q"),
        ('description = "jellyfin.yaml"', 'description = "missing.yaml"', "cannot be read"),
        ("PASSEUR_CONNECTOR_WIKI", "PASSEUR_CONNECTOR_UNSET", "is not set"),
        ("PASSEUR_CONNECTOR_WIKI", "PASSEUR_CONNECTOR_BAD", "no credential has"),
    ],
)
def test_what_only_the_surroundings_can_tell_is_a_named_fault(old, new, fault):
    _, faults = spec_of(WIKI.replace("URL", "https://wiki.example").replace(old, new))
    assert len(faults) >= 1
    assert all("openapi/wiki" in each for each in faults)
    assert fault in " ".join(faults)


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"url": "ftp://x"}, "must begin with https"),
        ({"url": "https://a:b@x.example"}, "credentials"),
        ({"networks": ["10.0.0.1/8"]}, "host bits"),
        ({"secret_env": "HOME"}, "PASSEUR_CONNECTOR_"),
        ({"auth": "cookie monster"}, "bearer"),
        ({"timeout_s": 0}, "greater than 0"),
        ({"timeout_s": 600}, "less than or equal to 30"),
        ({"type": "ftp"}, "jellyfin"),
        ({"endpoints": []}, "at least one endpoint"),
        ({"endpoints": [{"name": "x", "path": "/a", "title": "t", "holds": {"fr": "x"}}]}, "puts {terms} nowhere"),
        ({"endpoints": [{"name": "x", "query": {"q": "{terms}"}, "holds": {"fr": "x"}}]}, "needs `path`"),
        ({"name": ""}, "what people call it"),
        ({"scope": "org:x"}, "goes with type `github`"),
        ({"surprise": 1}, "Extra inputs"),
    ],
)
def test_a_wrong_declaration_is_refused(change, fault):
    with pytest.raises(ValidationError) as caught:
        table(WIKI.replace("URL", "https://wiki.example"), **change)
    assert fault in str(caught.value)


def test_a_connector_that_nobody_may_search_is_a_fault():
    spec, _ = spec_of(WIKI.replace("URL", "https://wiki.example"))
    keys = {"audience": frozenset({"members"}), "scope": frozenset()}
    assert rights_faults([spec, spec], keys) == [
        "connector openapi/wiki is declared twice",
        *["connector openapi/wiki: `rights` needs the rights key scope",
          "connector openapi/wiki: audience = ['public'] is not among ['members']"] * 2,
    ]  # fmt: skip
