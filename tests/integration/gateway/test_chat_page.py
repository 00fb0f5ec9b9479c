"""What the gateway writes into the chat page: whose it is, and that a key is nobody's."""

import html
import json
import re
from dataclasses import replace
from urllib.parse import urljoin

import pytest

from gateway.identity.projects import Projects
from tests.fakes.gateway import DEMO
from tests.integration.gateway import conftest

HOSTILE = replace(
    conftest.OTHER, name='</title><script>"&', greeting={"fr": "Une question ? <b>'\"&"}, languages=("fr",)
)


@pytest.fixture
def projects():
    return (DEMO, HOSTILE)


async def page(browser, path):
    answer = await browser.call("GET", path)
    written = re.search(r'<meta name="passeur-project" content="([^"]*)" />', str(answer.body))
    assert written is not None
    return answer, json.loads(html.unescape(written[1]))


async def test_the_page_knows_the_project_whose_key_the_address_names(browser):
    answer, known = await page(browser, "/chat?key=pk_other")
    assert answer.status == 200
    assert known["name"] == HOSTILE.name
    assert known["greeting"] == HOSTILE.greeting
    assert known["languages"] == ["fr"]
    assert "<script>" not in str(answer.body).split("<link")[0]
    assert "frame-ancestors 'self' https://other.example;" in answer.headers["Content-Security-Policy"]


async def manifest(browser, path):
    """The app that a page offers to install, with the address that it opens."""
    answer, _ = await page(browser, path)
    linked = re.search(r'<link rel="manifest" href="([^"]*)" />', str(answer.body))
    assert linked is not None
    told = await browser.call("GET", f"/{linked[1]}")
    assert told.headers["Content-Type"].startswith("application/manifest+json")
    assert {icon["type"] for icon in told.body["icons"]} == {"image/svg+xml"}
    return told.body, urljoin(f"https://host/support/{linked[1]}", told.body["start_url"])


async def test_the_app_that_a_page_installs_opens_the_same_project_again(browser):
    told, opens = await manifest(browser, "/chat?key=pk_other")
    assert (told["name"], opens) == (HOSTILE.name, "https://host/support/chat?key=pk_other")
    bare, opens = await manifest(browser, "/chat")
    assert (bare["name"], opens) == ("Passeur", "https://host/support/chat")
    assert bare["id"] != told["id"], "two projects are two apps"


async def test_a_key_that_no_project_has_makes_a_page_that_says_so(browser):
    answer, known = await page(browser, "/chat?key=pk_%22%3E%3Cscript%3E")
    assert answer.status == 404
    assert known == {"unknown_key": 'pk_"><script>'}


async def test_without_a_key_the_only_project_is_meant_or_the_demo(browser):
    assert (await page(browser, "/chat"))[1]["key"] == "pk_demo"
    assert Projects([HOSTILE]).default_key() == "pk_other"
    assert Projects([HOSTILE, replace(HOSTILE, id="third")]).default_key() is None
