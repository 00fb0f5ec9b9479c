"""The gateway of the rig, in front of our AI server, and visitors who ask it in turn."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import aiohttp

from tests.bench import _rig

VISITORS = 64
CONVERSATIONS = 8
"""Of each visitor: asked in turn, so that their history stays short and prompts like LiteLLM's."""

MOST = "1000000"
PROJECT_FILE = """
name = "bench"
languages = ["en"]
default_language = "en"

[[public_keys]]
key = "pk_bench"
allowed_origins = []

[[anonymous_contexts]]
scope = ["docs"]
"""


@dataclass(frozen=True)
class Gateway:
    """Where it listens, and whom to ask as: tokens with conversations."""

    url: str
    process: _rig.Process
    places: tuple[tuple[str, str], ...]

    def turns(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Give address and headers of one question after another, without end."""
        for token, conversation in itertools.cycle(self.places):
            url = f"{self.url}/v1/conversations/{conversation}/messages"
            yield url, {"Authorization": f"Bearer {token}"}


async def our_gateway(made: _rig.Rig, server: _rig.OurServer, http: aiohttp.ClientSession) -> Gateway:
    """Start the gateway on the core of the AI server, in front of it, and let visitors arrive."""
    (made.folder / "projects" / _rig.PROJECT / "gateway.toml").write_text(PROJECT_FILE, "utf-8")
    port = _rig.free_port()
    environment = {
        "PASSEUR_DATA_DIR": str(made.folder / "data"),
        "PASSEUR_PROJECTS_DIR": str(made.folder / "projects"),
        "PASSEUR_GATEWAY_ADDRESS": f"127.0.0.1:{port}",
        "PASSEUR_GATEWAY_METRICS_ADDRESS": "",
        "PASSEUR_GATEWAY_AI_ADDRESS": server.address,
        "PASSEUR_GATEWAY_AI_TOKEN": server.token,
        "PASSEUR_GATEWAY_LOG_LEVEL": "WARNING",
        "PASSEUR_GATEWAY_REQUESTS_PER_MINUTE": MOST,
        "PASSEUR_GATEWAY_SESSIONS_PER_MINUTE": MOST,
        "PASSEUR_GATEWAY_MESSAGES_PER_MINUTE": MOST,
    }
    process = made.start("gateway", [sys.executable, "-m", "gateway"], _rig.cores()[0], **environment)
    url = f"http://127.0.0.1:{port}"
    await made.until(process, _rig.answers(f"{url}/readyz", {200}))
    arrived = [await _arrived(url, http) for _ in range(VISITORS)]
    places = [place for turn in zip(*arrived, strict=True) for place in turn]
    return Gateway(url, process, tuple(places))


async def _arrived(url: str, http: aiohttp.ClientSession) -> list[tuple[str, str]]:
    async with http.post(f"{url}/v1/sessions", json={"public_key": "pk_bench"}) as response:
        assert response.status == 201, await response.text()
        token = (await response.json())["token"]
    places: list[tuple[str, str]] = []
    for _ in range(CONVERSATIONS):
        headers = {"Authorization": f"Bearer {token}"}
        async with http.post(f"{url}/v1/conversations", json={}, headers=headers) as response:
            assert response.status == 201, await response.text()
            places.append((token, (await response.json())["id"]))
    return places
