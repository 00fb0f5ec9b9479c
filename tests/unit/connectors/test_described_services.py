"""Each connector against a service made of its own OpenAPI description (issue 8; see tests/data/openapi)."""

from __future__ import annotations

import base64
from xml.etree import ElementTree as ET

import pytest
from aiohttp import web

from ai_server.connectors import kinds
from ai_server.connectors.contract import Item, SearchRequest
from ai_server.connectors.github import GitHub, plain_terms
from ai_server.connectors.jellyfin import Jellyfin
from ai_server.connectors.nextcloud import Nextcloud
from shared.errors import ProviderOverloaded, ProviderRefused
from tests.fakes.described_service import DescribedService
from tests.unit.connectors.conftest import spec_for

BATMAN = {
    "Id": "b1",
    "Name": "The Batman",
    "Type": "Movie",
    "ProductionYear": 2022,
    "PremiereDate": "2022-03-04T00:00:00.0000000Z",
    "Overview": "A <b>masked</b> man.",
}


async def test_jellyfin_finds_films_with_title_link_date_and_snippet(serve):
    service = DescribedService("jellyfin.yaml", lambda path, query: {"Items": [BATMAN], "TotalRecordCount": 1})
    url = await serve(service.app)
    connector = Jellyfin(spec_for("jellyfin", url, secret="k3y", user="u1", endpoints=kinds.JELLYFIN))
    found = await connector.search(SearchRequest("items", "batman", {"types": "Movie"}, limit=5))
    await connector.close()
    assert found == (
        Item("The Batman (2022)", f"{url}/web/#/details?id=b1", "2022-03-04T00:00:00Z", "A masked man.", "Movie"),
    )
    (_, query, headers) = service.requests[0]
    assert service.undeclared == []
    assert (query["searchTerm"], query["includeItemTypes"], query["limit"], query["userId"]) == (
        "batman",
        "Movie",
        "5",
        "u1",
    )
    assert headers["Authorization"] == 'MediaBrowser Client="Passeur", Token="k3y"'


async def test_jellyfin_widened_leaves_the_kind_out(serve):
    service = DescribedService("jellyfin.yaml", lambda path, query: {"Items": []})
    connector = Jellyfin(spec_for("jellyfin", await serve(service.app)))
    assert await connector.search(SearchRequest("items", "x", {"types": "Movie"}, wide=True)) == ()
    await connector.close()
    assert "Series" in service.requests[0][1]["includeItemTypes"]


async def test_an_episode_is_told_with_its_series(serve):
    raw = {"Id": "e", "Name": "Pilot", "Type": "Episode", "SeriesName": "Lost", "ProductionYear": 2004}
    service = DescribedService("jellyfin.yaml", lambda path, query: {"Items": [raw]})
    connector = Jellyfin(spec_for("jellyfin", await serve(service.app)))
    (found,) = await connector.search(SearchRequest("items", "lost"))
    await connector.close()
    assert (found.title, found.date) == ("Lost – Pilot (2004)", "2004")


async def test_github_finds_repositories_issues_and_code(serve):
    site = {"full_name": "acme/web", "html_url": "https://github.example/acme/web", "description": "Site"}
    issue = {"title": "Login fails", "number": 7, "html_url": "https://github.example/i/7", "body": "Since *today*"}
    file = {"path": "src/a.py", "html_url": "https://github.example/c", "repository": {"full_name": "acme/web"}}
    answers = {
        "/search/repositories": [site],
        "/search/issues": [{**issue, "updated_at": "2026-11-01T10:00:00Z"}],
        "/search/code": [file],
    }
    service = DescribedService("github.json", lambda path, query: {"total_count": 1, "items": answers[path]})
    spec = spec_for(
        "github", await serve(service.app), secret="t0k", endpoints=kinds.GITHUB, options={"scope": "org:acme"}
    )
    connector = GitHub(spec)
    repositories = await connector.search(SearchRequest("repositories", "site"))
    issues = await connector.search(SearchRequest("issues", "login"))
    code = await connector.search(SearchRequest("code", "parse", wide=True))
    await connector.close()
    assert (repositories[0].title, repositories[0].url) == ("acme/web", "https://github.example/acme/web")
    assert issues[0] == Item(
        "Login fails (#7)", "https://github.example/i/7", "2026-11-01T10:00:00Z", "Since *today*", "issue"
    )
    assert code[0].title == "acme/web: src/a.py"
    assert service.undeclared == []
    assert [query["q"] for _, query, _ in service.requests] == [
        "site in:name,description org:acme",
        "login is:issue in:title org:acme",
        "parse org:acme",
    ]
    assert service.requests[0][2]["Authorization"] == "Bearer t0k"


@pytest.mark.parametrize(
    ("said", "sent"),
    [
        ("repo:other/private secret", "repo other/private secret"),
        ("login OR org:evil", "login org evil"),
        ('"exact" -repo:x', "exact repo x"),
        ("NOT bug", "bug"),
        ("c++ node.js f# état", "c++ node.js f# état"),
        ("::::", ""),
        ("is:private user:boss", "is private user boss"),
    ],
)
def test_a_person_cannot_write_github_qualifiers(said, sent):
    """A qualifier in the terms would search past the configured scope with our token."""
    assert plain_terms(said) == sent


ENTRY = {
    "title": "Budget 2026.ods",
    "subline": "dans Comptes",
    "resourceUrl": "/index.php/f/42",
    "attributes": {"fileId": "42", "path": "/Comptes/Budget 2026.ods"},
}
DAV = """<?xml version="1.0"?><d:multistatus xmlns:d="DAV:" xmlns:oc="http://owncloud.org/ns">
<d:response><d:href>/remote.php/dav/files/eve/Comptes/Budget%202026.ods</d:href><d:propstat><d:prop>
<oc:fileid>42</oc:fileid><d:displayname>Budget 2026.ods</d:displayname>
<d:getlastmodified>Mon, 30 Nov 2026 09:15:00 GMT</d:getlastmodified>
<d:getcontenttype>application/vnd.oasis.opendocument.spreadsheet</d:getcontenttype>
</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response>
<d:response><d:href>/remote.php/dav/files/eve/Budget%20old.txt</d:href><d:propstat><d:prop>
<oc:fileid>7</oc:fileid><d:displayname>Budget old.txt</d:displayname>
<d:getlastmodified>Tue, 02 Jan 2024 08:00:00 GMT</d:getlastmodified><d:getcontenttype>text/plain</d:getcontenttype>
</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat></d:response></d:multistatus>"""


def nextcloud(dav_status=207, dav=DAV, entries=(ENTRY,)):
    service = DescribedService(
        "nextcloud.yaml", lambda path, query: {"ocs": {"data": {"name": "Files", "entries": list(entries)}}}
    )
    service.bodies = []

    async def search(request):
        service.bodies.append((await request.text(), dict(request.headers)))
        return web.Response(status=dav_status, text=dav, content_type="application/xml")

    service.app.router.add_route("SEARCH", "/remote.php/dav/", search)
    return service


async def test_nextcloud_joins_unified_and_webdav_search_by_file(serve):
    service = nextcloud()
    url = await serve(service.app)
    connector = Nextcloud(spec_for("nextcloud", url, user="eve", secret="app-pass"))
    found = await connector.search(SearchRequest("files", "budget 2026"))
    await connector.close()
    assert found[0] == Item(
        "Budget 2026.ods",
        f"{url}/index.php/f/42",
        "2026-11-30T09:15:00Z",
        "dans Comptes",
        "application/vnd.oasis.opendocument.spreadsheet",
    )
    assert (found[1].title, found[1].url, found[1].snippet) == (
        "Budget old.txt",
        f"{url}/index.php/f/7",
        "Budget old.txt",
    )
    assert service.undeclared == []
    body, headers = service.bodies[0]
    assert base64.b64decode(headers["Authorization"].removeprefix("Basic ")).decode() == "eve:app-pass"
    root = ET.fromstring(body)
    assert [each.text for each in root.iter("{DAV:}literal")] == ["%budget%", "%2026%"]
    assert root.find(".//{DAV:}and") is not None


async def test_nextcloud_without_a_user_asks_unified_search_alone(serve):
    service = nextcloud()
    connector = Nextcloud(spec_for("nextcloud", await serve(service.app)))
    assert [each.title for each in await connector.search(SearchRequest("files", "budget"))] == ["Budget 2026.ods"]
    await connector.close()
    assert service.bodies == []


async def test_nextcloud_answers_with_what_one_of_the_two_found(serve):
    service = nextcloud(dav_status=501, dav="")
    connector = Nextcloud(spec_for("nextcloud", await serve(service.app), user="eve"))
    assert len(await connector.search(SearchRequest("files", "budget"))) == 1
    await connector.close()


async def test_nextcloud_down_is_said_not_hidden_as_nothing_found(serve):
    connector = Nextcloud(spec_for("nextcloud", await serve(web.Application()), user="eve"))
    with pytest.raises(ProviderRefused):
        await connector.search(SearchRequest("files", "budget"))
    await connector.close()


async def test_words_cannot_break_out_of_the_webdav_query(serve):
    service = nextcloud(entries=())
    connector = Nextcloud(spec_for("nextcloud", await serve(service.app), user="eve</d:href>"))
    await connector.search(SearchRequest("files", "a%_b </d:literal><d:x/> \\"))
    await connector.close()
    root = ET.fromstring(service.bodies[0][0])
    assert [each.text for each in root.iter("{DAV:}literal")] == ["%a b%", "%</d:literal><d:x/>%"]
    assert root.findtext(".//{DAV:}href") == "/files/eve%3C/d%3Ahref%3E"


async def test_entities_in_a_webdav_answer_are_refused_unexpanded(serve):
    bomb = (
        '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]><d:multistatus xmlns:d="DAV:">&a;</d:multistatus>'
    )
    connector = Nextcloud(spec_for("nextcloud", await serve(nextcloud(dav=bomb, entries=()).app), user="eve"))
    assert await connector.search(SearchRequest("files", "budget")) == ()
    with pytest.raises(ProviderRefused, match="not WebDAV"):
        await connector._dav(SearchRequest("files", "budget"))
    await connector.close()


async def test_a_service_over_quota_passes(serve):
    async def limited(request):
        return web.json_response({"message": "limit"}, status=403, headers={"X-RateLimit-Remaining": "0"})

    app = web.Application()
    app.router.add_get("/search/repositories", limited)
    connector = GitHub(spec_for("github", await serve(app)))
    with pytest.raises(ProviderOverloaded) as caught:
        await connector.search(SearchRequest("repositories", "x"))
    await connector.close()
    assert caught.value.error_class == "rate_limited"
