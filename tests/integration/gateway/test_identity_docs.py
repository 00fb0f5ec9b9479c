"""`docs/identity.md` as it stands: its project file, its two ways of signing, its list of reasons."""

import json
import re
from pathlib import Path

import pytest

from gateway.identity.projects_file import read_projects
from gateway.identity.proofs import sign_hmac
from tests.integration.gateway import conftest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "identity.md").read_text(encoding="utf-8")
SECRET = "c" * 64
BASICS = """
name = "Shop"
languages = ["en"]
default_language = "en"
[[anonymous_contexts]]
scope = ["docs"]
audience = ["public"]
"""


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def shop(tmp_path, monkeypatch):
    folder = tmp_path / "projects" / "shop"
    folder.mkdir(parents=True)
    keys = {"keys": [{"kty": "oct", "kid": "2026", "alg": "HS256", "k": "a2" * 22}]}
    (folder / "host.jwks.json").write_text(json.dumps(keys), encoding="utf-8")
    (folder / "host.secret").write_text(f"{SECRET}\n", encoding="utf-8")
    written = blocks("toml")[0].replace("# hmac_secret_file", "hmac_secret_file")
    (folder / "gateway.toml").write_text(BASICS.strip() + "\n" + written, encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def projects(shop):
    faults = []
    found = tuple(read_projects(shop.parent, faults))
    assert faults == []
    return (*found, conftest.DEMO)


async def test_what_the_page_shows_signs_a_visitor_in_with_the_rights_of_their_claims(new_browser, services, assistant):
    names = {}
    for code in blocks("python"):
        exec(code, names)
    proofs = [
        {"jwt": names["token_for"]("ana", "pro")},
        {"jwt": names["token_for"]("ana", "free")},
        {"user": names["signed_user"]("ana", SECRET.encode())},
    ]
    audiences, visitors = [], set()
    for proof in proofs:
        browser = await new_browser(with_session=False)
        opened = await browser.call("POST", "/v1/sessions", {"public_key": "pk_shop", **proof})
        assert opened.status == 201, opened.body
        browser.token = opened.body["token"]
        visitors.add(opened.body["visitor_id"])
        await browser.say(await browser.open_conversation(), "quoi ?")
        audiences.append([each["audience"] for each in assistant.questions[-1].contexts])
    assert len(visitors) == 1
    assert audiences == [
        [("public",), ("members",), ("customers",)],
        [("public",), ("customers",)],
        [("public",), ("customers",)],
    ]
    assert proofs[2]["user"]["signature"] == sign_hmac("shop", "ana", proofs[2]["user"]["issued_at"], SECRET.encode())


def test_every_reason_that_the_log_can_name_is_explained():
    said = "".join(
        (ROOT / "gateway" / name).read_text(encoding="utf-8")
        for name in ("identity/proofs.py", "identity/sessions.py", "web/sessions.py")
    )
    reasons = set(re.findall(r'Unauthenticated\("(\w+)"\)|session_refused", reason="(\w+)"', said))
    named = {one or other for one, other in reasons}
    assert len(named) > 10
    assert {each for each in named if f"`{each}`" not in PAGE} == set()
