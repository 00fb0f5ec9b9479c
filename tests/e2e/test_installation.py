"""What the installation itself finds, so that its silence elsewhere means something."""

from __future__ import annotations

import base64

import pytest

from tests.e2e.installation import MISTRAL_KEY, Installation, with_mistral

TOKEN = "op_Zk3v9QpL-7hW"


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("gateway.log", f"refused {MISTRAL_KEY} again"),
        ("ai_server.log", "Bearer " + base64.b64encode(TOKEN.encode()).decode()),
        ("data/gateway/kept.db", "\x00\x01" + TOKEN),
        ("data/ai/notes.json", f"…{MISTRAL_KEY[-8:]}"),
    ],
)
def test_a_secret_that_is_told_or_kept_is_found(tmp_path, place, text):
    installation = Installation(tmp_path, with_mistral("http://127.0.0.1:1"))
    for each in ("data/ai", "data/gateway"):
        (tmp_path / each).mkdir(parents=True)
    (tmp_path / "data/ai/operator.token").write_text(f"{TOKEN}\n")
    assert installation.leaks() == {}
    (tmp_path / place).write_text(text)
    assert list(installation.leaks()) == [str(tmp_path / place)]
