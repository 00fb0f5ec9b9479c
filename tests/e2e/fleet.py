"""Two gateways behind nginx, as the sample files in `deploy/` have it: PostgreSQL, Redis, one AI server on a socket."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from tests import services
from tests.e2e.installation import READY_WITHIN_S, ROOT, Installation, free_port, until, with_mistral
from tests.simulator.script import Script
from tests.simulator.server import Simulator
from tests.sse_parser import Event, SseParser

NGINX = """
daemon off;
user root;
worker_processes 1;
pid {folder}/nginx.pid;
events {{ worker_connections 4096; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {site}
}}
"""
GENEROUS = {
    "PASSEUR_GATEWAY_REQUESTS_PER_MINUTE": "1000000",
    "PASSEUR_GATEWAY_SESSIONS_PER_MINUTE": "1000000",
    "PASSEUR_GATEWAY_TRUSTED_PROXIES": "127.0.0.0/8",
}
GATEWAYS = ("gateway-1", "gateway-2")
PORT_ATTEMPTS = 3
RETRY_S = 0.2
WAVE = 20
"""Visitors who come and ask at once, so that a machine of two cores does nothing else but take them in."""
PROVIDER = '[{ provider = "mistral", model = "mistral-small-2603" }]'


def rich(text: str) -> str:
    """Let the demo project answer with the simulated paid model, with money for many answers."""
    embedded = '[{ provider = "embedded", model = "extractive" }]'
    assert embedded in text
    assert 'limit_usd = "1.00"' in text
    return text.replace(embedded, PROVIDER).replace('limit_usd = "1.00"', 'limit_usd = "19.00"')


@dataclass
class Fleet(Installation):
    """An installation whose gateways are `gateway-1` and `gateway-2`, and that is reached through nginx."""

    ports: dict[str, int] = field(default_factory=dict)

    def environment(self) -> dict[str, str]:
        """As one installation has it, with the AI server behind a socket."""
        socket = f"unix:{self.folder}/run/ai.sock"
        return {
            **super().environment(),
            "PASSEUR_AI_ADDRESS": socket,
            "PASSEUR_GATEWAY_AI_ADDRESS": socket,
            **GENEROUS,
            **self.settings,
        }

    async def start_gateway(self, name: str, http: aiohttp.ClientSession) -> None:
        """Start one of the gateways, on another port where somebody was faster; they share the data folder."""
        for _ in range(PORT_ATTEMPTS):
            self.ports.setdefault(name, free_port())
            process = self.processes[name] = self._spawn(name)
            await until(lambda process=process: self._has_begun(name, process, http), READY_WITHIN_S)
            if process.poll() is None:
                return
            assert "address already in use" in self.log(name), self.log(name)[-2000:]
            del self.ports[name]
        raise AssertionError(f"no port for {name} in {PORT_ATTEMPTS} attempts")

    def _spawn(self, name: str) -> subprocess.Popen[bytes]:
        own = {**self.environment(), "PASSEUR_GATEWAY_ADDRESS": f"127.0.0.1:{self.ports[name]}"}
        with (self.folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen([sys.executable, "-m", "gateway"], cwd=ROOT, env=own, stdout=log, stderr=log)

    async def _has_begun(self, name: str, process: subprocess.Popen[bytes], http: aiohttp.ClientSession) -> bool:
        with suppress(aiohttp.ClientError):
            async with http.get(f"http://127.0.0.1:{self.ports[name]}/healthz"):
                return True
        return process.poll() is not None

    def start_nginx(self) -> None:
        """Start nginx on the sample site; only the addresses are ours."""
        self.gateway_port = free_port()
        site = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
        for old, new in {
            "listen 80;": f"listen 127.0.0.1:{self.gateway_port};",
            **{f"{name}:8080": f"127.0.0.1:{port}" for name, port in self.ports.items()},
        }.items():
            assert old in site
            site = site.replace(old, new)
        folder = self.folder / "nginx"
        folder.mkdir()
        configuration = folder / "nginx.conf"
        configuration.write_text(NGINX.format(folder=folder, site=site), encoding="utf-8")
        with (self.folder / "nginx.log").open("ab") as log:
            self.processes["nginx"] = subprocess.Popen(
                ["/usr/sbin/nginx", "-p", folder, "-c", configuration, "-e", "stderr"], stdout=log, stderr=log
            )

    async def wait_gateways(self, http: aiohttp.ClientSession) -> None:
        """Wait until each gateway hears the other and can answer a question."""
        for port in self.ports.values():
            await until(lambda port=port: _is_wholly_ready(http, port), READY_WITHIN_S)


async def _is_wholly_ready(http: aiohttp.ClientSession, port: int) -> bool:
    with suppress(aiohttp.ClientError):
        async with http.get(f"http://127.0.0.1:{port}/readyz") as response:
            told = await response.json()
            return response.status == 200 and told["dependencies"]["gateway"]["state"] == "ready"
    return False


@asynccontextmanager
async def fleet(
    folder: Path, prepared: Path, script: Script
) -> AsyncIterator[tuple[Fleet, aiohttp.ClientSession, Simulator]]:
    """Bring everything up on a copy of a data folder that `prepare_data` made, and take it down.

    Raises:
        ServiceMissing: PostgreSQL or Redis does not start here.
    """
    simulator = Simulator()
    simulator.default = script
    await simulator.start()
    with ExitStack() as stack:
        database = stack.enter_context(services.postgres())
        redis = stack.enter_context(services.redis())
        made = Fleet(
            folder,
            {
                "PASSEUR_GATEWAY_DATABASE_URL": database.database(),
                "PASSEUR_GATEWAY_REDIS_URL": redis.url,
                **with_mistral(simulator.url),
            },
        )
        (folder / "run").mkdir(parents=True)
        made.write_project(rich)
        shutil.copytree(prepared, made.data)
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=None)) as http:
            try:
                made.start("ai_server")
                await asyncio.gather(*(made.start_gateway(name, http) for name in GATEWAYS))
                made.start_nginx()
                await made.wait_gateways(http)
                yield made, http, simulator
            finally:
                made.stop()
                await simulator.stop()


@dataclass
class Follower:
    """A visitor's page: it asks once, follows its event stream, and comes back with its cursor when it is cut."""

    url: str
    http: aiohttp.ClientSession
    token: str = ""
    conversation: str = ""
    turn_id: str = ""
    cursor: str | None = None
    text: str = ""
    whole: dict = field(default_factory=dict)
    spoken: asyncio.Event = field(default_factory=asyncio.Event)
    done: asyncio.Event = field(default_factory=asyncio.Event)
    cuts: int = 0
    resyncs: int = 0
    faults: list[str] = field(default_factory=list)

    async def call(self, method: str, path: str, body: object) -> dict:
        """One call that is tried again while no gateway takes it; the key makes that harmless."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        for _ in range(50):
            with suppress(aiohttp.ClientError):
                async with self.http.request(method, self.url + path, json=body, headers=headers) as response:
                    answer = await response.json(content_type=None)
                    if response.status < 500:
                        assert response.status < 300, answer
                        return answer
            await asyncio.sleep(RETRY_S)
        raise AssertionError(f"{method} {path} was not taken")

    async def arrive(self) -> None:
        """Open a session and a conversation."""
        self.token = (await self.call("POST", "/v1/sessions", {"public_key": "pk_demo"}))["token"]
        self.conversation = (await self.call("POST", "/v1/conversations", {}))["id"]

    async def ask(self, text: str) -> None:
        """Say something, and leave the answer to the event stream."""
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "text/event-stream"}
        url = f"{self.url}/v1/conversations/{self.conversation}/messages"
        async with self.http.post(url, json={"text": text}, headers=headers) as response:
            assert response.status == 200, await response.text()

    async def follow(self) -> None:
        """Read until the turn is done, over as many connections as it takes."""
        while not self.done.is_set():
            headers = {"Authorization": f"Bearer {self.token}"}
            if self.cursor:
                headers["Last-Event-ID"] = self.cursor
            with suppress(aiohttp.ClientError):
                async with self.http.get(f"{self.url}/v1/events", headers=headers) as response:
                    if response.status == 200:
                        await self._read(response)
            if not self.done.is_set():
                self.cuts += 1
                await asyncio.sleep(RETRY_S)

    async def _read(self, response: aiohttp.ClientResponse) -> None:
        parser = SseParser()
        async for piece in response.content.iter_any():
            for event in parser.feed(piece):
                self._take(event)
            if parser.last_event_id:
                self.cursor = parser.last_event_id
            if self.done.is_set():
                return

    def _take(self, event: Event) -> None:
        data = json.loads(event.data)
        if event.last_event_id and event.last_event_id != self.cursor:
            self._check_place(event)
        if event.type == "resync":
            self.resyncs += 1
        elif event.type == "message.delta":
            if data["start"] > len(self.text):
                self.faults.append(f"a delta from {data['start']} with {len(self.text)} known")
            self.text = self.text[: data["start"]] + data["text"]
            self.spoken.set()
        elif event.type == "message.created" and data["role"].lower() == "ai":
            if self.whole:
                self.faults.append("the answer came twice")
            self.whole = data
        elif event.type == "turn.step" and data["step"] == "done":
            self.done.set()

    def _check_place(self, event: Event) -> None:
        epoch, _, offset = event.last_event_id.partition(".")
        before = (self.cursor or event.last_event_id).partition(".")
        if self.cursor and (before[0] != epoch or int(offset) != int(before[2]) + 1):
            self.faults.append(f"after {self.cursor} came {event.last_event_id}")
        self.cursor = event.last_event_id


@dataclass
class Outcome:
    """What came of a gateway that was killed while answers streamed."""

    asked: int
    faults: list[str]
    cut: int
    bills: int
    billed_nanousd: int
    seconds: float


async def kill_while_streaming(
    made: Fleet, http: aiohttp.ClientSession, simulator: Simulator, count: int, expected: str, within_s: float
) -> Outcome:
    """Let `count` visitors ask, kill one gateway when all hear their answers, and see what each ends with."""
    followers = [Follower(made.url, http) for _ in range(count)]
    already, loop = len(simulator.lines), asyncio.get_running_loop()
    reading: list[asyncio.Task[None]] = []
    asking: list[asyncio.Task[None]] = []
    killed, began, early = 0.0, loop.time(), 0
    try:
        async with asyncio.timeout(within_s):
            for place in range(0, count, WAVE):
                wave = followers[place : place + WAVE]
                await asyncio.gather(*(each.arrive() for each in wave))
                reading += [asyncio.create_task(each.follow()) for each in wave]
                asking += [asyncio.create_task(_ask(each, place + number)) for number, each in enumerate(wave)]
                await asyncio.gather(*(each.spoken.wait() for each in wave))
            early = sum(each.done.is_set() for each in followers)
            victim = made.processes.pop("gateway-1")
            victim.send_signal(signal.SIGKILL)
            victim.wait()
            killed = loop.time()
            await asyncio.gather(*(each.done.wait() for each in followers))
    except TimeoutError:
        heard, over = sum(f.spoken.is_set() for f in followers), sum(f.done.is_set() for f in followers)
        told = f"not over after {within_s:g} s: {heard} of {count} heard words, {over} the end"
        return Outcome(count, [f"{told}; the kill came after {killed and killed - began:.0f} s"], 0, 0, 0, 0.0)
    finally:
        for task in (*reading, *asking):
            task.cancel()
        await asyncio.gather(*reading, *asking, return_exceptions=True)
    faults = [f"visitor {number}: {fault}" for number, each in enumerate(followers) for fault in each.faults]
    faults += [f"visitor {number}: resync" for number, each in enumerate(followers) if each.resyncs]
    if early > count // 10:
        faults.append(f"{early} of {count} answers were over before the kill")
    bills = [line.cost_nanousd for line in simulator.lines[already:]]
    for number, each in enumerate(followers):
        if each.whole.get("text", "").split() != expected.split() or each.whole.get("outcome") != "answered":
            faults.append(f"visitor {number} ended with {each.whole.get('outcome')}: {each.whole.get('text', '')!r}")
    costs = sorted(int(each.whole.get("cost_nanousd") or 0) for each in followers)
    if costs != sorted(bills):
        faults.append(f"{len(bills)} calls of {sum(bills)} were billed, answers say {len(costs)} of {sum(costs)}")
    cut = sum(each.cuts > 0 for each in followers)
    return Outcome(count, faults, cut, len(bills), sum(bills), loop.time() - killed)


async def _ask(follower: Follower, number: int) -> None:
    """Ask; the connection is cut when its gateway dies, which the event stream makes good."""
    with suppress(aiohttp.ClientError):
        await follower.ask(f"What is economy mode? ({number})")
