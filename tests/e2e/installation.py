"""A whole installation as an operator has it: both real processes, their own data folder, free ports."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

from tests.canary import forms_of, told

ROOT = Path(__file__).resolve().parents[2]
READY_WITHIN_S = 150
STOP_WITHIN_S = 60
POLL_S = 0.1
TOKEN_FILES = "*.token"
SECRET_SETTINGS = ("_KEY", "_TOKEN", "_PASSWORD")
MISTRAL_KEY = "canary-7f3b9c1e4a8d55e0"
"""What the simulated provider is called with, and nothing may tell."""


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass
class Installation:
    """Where it is, how to start and kill its parts, and how to ask it things."""

    folder: Path
    settings: dict[str, str] = field(default_factory=dict)
    secrets: set[str] = field(default_factory=set)
    """What visitors were given, and must be nowhere here; token files and settings are known."""
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    ai_port: int = field(default_factory=free_port)
    gateway_port: int = field(default_factory=free_port)

    @property
    def url(self) -> str:
        """The gateway's address."""
        return f"http://127.0.0.1:{self.gateway_port}"

    @property
    def data(self) -> Path:
        """The data folder."""
        return self.folder / "data"

    def environment(self) -> dict[str, str]:
        """What its processes and commands are started with."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PASSEUR_")}
        return {
            **clean,
            "PASSEUR_DATA_DIR": str(self.data),
            "PASSEUR_PROJECTS_DIR": str(self.folder / "projects"),
            "PASSEUR_AI_ADDRESS": f"127.0.0.1:{self.ai_port}",
            "PASSEUR_AI_METRICS_ADDRESS": "",
            "PASSEUR_GATEWAY_ADDRESS": f"127.0.0.1:{self.gateway_port}",
            "PASSEUR_GATEWAY_METRICS_ADDRESS": "",
            "PASSEUR_GATEWAY_AI_ADDRESS": f"127.0.0.1:{self.ai_port}",
            **self.settings,
        }

    def write_project(self, change: Callable[[str], str] = lambda text: text) -> None:
        """Copy the demo project, with changes to its `ai.toml`; sources keep pointing at the checkout's samples."""
        shutil.copytree(ROOT / "projects" / "demo", self.folder / "projects" / "demo")
        settings = self.folder / "projects" / "demo" / "ai.toml"
        text = settings.read_text(encoding="utf-8").replace('"../../samples"', f'"{ROOT / "samples"}"')
        settings.write_text(change(text), encoding="utf-8")

    async def command(self, *arguments: str) -> str:
        """Run `python -m …` to its end; its output, standard error included."""
        return await self.python("-m", *arguments)

    async def python(self, *arguments: str) -> str:
        """Run Python to its end in the checkout; its output, standard error included."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *arguments,
            cwd=ROOT,
            env=self.environment(),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        told, _ = await asyncio.wait_for(process.communicate(), READY_WITHIN_S)
        assert process.returncode == 0, told.decode()
        return told.decode()

    async def prepare(self) -> None:
        """Make the two client records."""
        add = ("ai_server", "clients", "add")
        await self.command(*add, "operator", "--scopes", "admin", "--token-file", str(self.data / "ai/operator.token"))
        await self.command(*add, "gateway", "--scopes", "answer", "--token-file", str(self.data / "gateway/ai.token"))

    def start(self, module: str) -> None:
        """Start one process; its log goes on in the folder."""
        with (self.folder / f"{module}.log").open("ab") as log:
            self.processes[module] = subprocess.Popen(
                [sys.executable, "-m", module], cwd=ROOT, env=self.environment(), stdout=log, stderr=log
            )

    def kill(self, module: str) -> None:
        """End one process as a power cut would."""
        process = self.processes.pop(module)
        process.send_signal(signal.SIGKILL)
        process.wait(STOP_WITHIN_S)

    def children(self, module: str) -> list[int]:
        """The processes that one process started, by the kernel's list."""
        tasks = Path(f"/proc/{self.processes[module].pid}/task").glob("*/children")
        return [int(each) for task in tasks for each in task.read_text(encoding="ascii").split()]

    def log(self, module: str) -> str:
        """What a process has logged."""
        return (self.folder / f"{module}.log").read_text(encoding="utf-8")

    async def wait_ready(self, http: aiohttp.ClientSession) -> None:
        """Wait until a question can be answered."""
        await until(lambda: self._is_ready(http), READY_WITHIN_S)

    async def _is_ready(self, http: aiohttp.ClientSession) -> bool:
        for name, process in self.processes.items():
            assert process.poll() is None, f"{name} ended with {process.returncode}:\n{self.log(name)}"
        try:
            async with http.get(f"{self.url}/readyz") as response:
                return response.status == 200
        except aiohttp.ClientError:
            return False

    def stop(self) -> None:
        """End both with SIGTERM, and insist past the bound."""
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(STOP_WITHIN_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        assert self.leaks() == {}

    def leaks(self) -> dict[str, list[str]]:
        """Look for each secret in each log and in all that is kept, token files left out (P34)."""
        tokens = set(self.data.rglob(TOKEN_FILES))
        given = {value for name, value in self.settings.items() if name.endswith(SECRET_SETTINGS)}
        known = self.secrets | given | {each.read_text(encoding="ascii").strip() for each in tokens}
        forms = [form for secret in known for form in forms_of(secret)]
        kept = [each for each in self.data.rglob("*") if each.is_file() and each not in tokens]
        looked = {
            str(path): told(forms, path.read_bytes().decode("latin-1")) for path in [*self.folder.glob("*.log"), *kept]
        }
        return {path: found for path, found in looked.items() if found}


def with_mistral(simulator_url: str) -> dict[str, str]:
    """Give the settings that call the simulated Mistral, with all logging that there is."""
    return {
        "PASSEUR_AI_MISTRAL_API_KEY": MISTRAL_KEY,
        "PASSEUR_AI_MISTRAL_BASE_URL": f"{simulator_url}/mistral",
        "PASSEUR_AI_LOG_LEVEL": "DEBUG",
        "PASSEUR_GATEWAY_LOG_LEVEL": "DEBUG",
    }


async def until(condition: Callable[[], object], within_s: float = 30.0) -> None:
    """Poll an awaitable condition until it holds; fail past the bound."""
    async with asyncio.timeout(within_s):
        while not await condition():  # noqa: ASYNC110 - another process cannot set our event
            await asyncio.sleep(POLL_S)


@asynccontextmanager
async def installed(
    folder: Path,
    prepared: Path,
    settings: dict[str, str] | None = None,
    change: Callable[[str], str] = lambda text: text,
) -> AsyncIterator[tuple[Installation, aiohttp.ClientSession]]:
    """Bring an installation up on a copy of a data folder that `prepare_data` made, and take it down."""
    installation = Installation(folder, settings or {})
    installation.write_project(change)
    shutil.copytree(prepared, installation.data)
    async with _running(installation) as http:
        yield installation, http


async def prepare_data(folder: Path) -> Path:
    """Make a data folder from nothing, with the two client records and the samples indexed."""
    installation = Installation(folder)
    installation.write_project()
    await installation.prepare()
    async with _running(installation):
        await installation.command("ai_server", "ingest", "--project", "demo")
    return installation.data


@asynccontextmanager
async def _running(installation: Installation) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=READY_WITHIN_S)) as http:
        try:
            installation.start("ai_server")
            installation.start("gateway")
            await installation.wait_ready(http)
            yield http
        finally:
            installation.stop()


@dataclass
class Visitor:
    """Someone with a session and one conversation, over plain HTTP."""

    installation: Installation
    http: aiohttp.ClientSession
    token: str
    conversation: str

    @classmethod
    async def arrive(cls, installation: Installation, http: aiohttp.ClientSession) -> Visitor:
        """Open a session and a conversation."""
        async with http.post(f"{installation.url}/v1/sessions", json={"public_key": "pk_demo"}) as response:
            assert response.status == 201, await response.text()
            token = (await response.json())["token"]
        installation.secrets.add(token)
        visitor = cls(installation, http, token, "")
        visitor.conversation = (await visitor.call("POST", "/v1/conversations", {}))["id"]
        return visitor

    async def call(self, method: str, path: str, body: object = None) -> dict:
        """One call that must succeed."""
        headers = {"authorization": f"Bearer {self.token}"}
        url = self.installation.url + path
        async with self.http.request(method, url, json=body, headers=headers) as response:
            answer = await response.json()
            assert response.status < 300, answer
            return answer

    async def ask(self, text: str) -> dict:
        """Ask and wait for the answer."""
        return await self.call("POST", f"/v1/conversations/{self.conversation}/messages", {"text": text})

    async def messages(self) -> list[dict]:
        """Everything said so far, oldest first."""
        page = await self.call("GET", f"/v1/conversations/{self.conversation}/messages")
        return page["messages"]

    async def last(self) -> dict:
        """The newest message."""
        return (await self.messages())[-1]
