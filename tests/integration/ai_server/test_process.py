"""The process itself: every fault at once and exit 2, one instance, SIGTERM and exit 0, commands with or without it."""

from __future__ import annotations

import asyncio
import re
import shutil
import signal
import socket
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import grpc.aio
import pytest

from ai_server.__main__ import main
from ai_server.clients import add_client
from shared import env
from shared.pb.passeur.v1 import assistant_pb2, assistant_pb2_grpc, common_pb2, readiness_pb2, readiness_pb2_grpc

REPOSITORY = Path(__file__).parents[3]
UP_SECONDS = 90
DOWN_SECONDS = 20


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Installation:
    """A data folder, one project with one page, and addresses of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port, self.metrics = folder, free_port(), free_port()
        home = folder / "projects" / "demo"
        (home / "docs").mkdir(parents=True)
        (home / "docs" / "export.md").write_text(
            "# Export\n\nExports are made in the settings. They are sent by mail.\n"
        )
        shipped = (REPOSITORY / "projects" / "demo" / "ai.toml").read_text()
        (home / "ai.toml").write_text(shipped.replace('root = "../../samples"', 'root = "docs"'))
        (folder / "data" / "ai").mkdir(parents=True)
        _, self.token = add_client(folder / "data" / "ai" / "clients.toml", "operator", ["*"], ["admin"])
        (folder / "data" / "ai" / "operator.token").write_text(self.token)

    @property
    def own(self) -> dict[str, str]:
        return {
            "PASSEUR_DATA_DIR": str(self.folder / "data"),
            "PASSEUR_PROJECTS_DIR": str(self.folder / "projects"),
            "PASSEUR_AI_ADDRESS": f"127.0.0.1:{self.port}",
            "PASSEUR_AI_METRICS_ADDRESS": f"127.0.0.1:{self.metrics}",
            "PASSEUR_AI_GRACE_S": "3",
        }

    def change(self, old: str, new: str) -> None:
        """Edit the project's file."""
        toml = self.folder / "projects" / "demo" / "ai.toml"
        assert old in toml.read_text()
        toml.write_text(toml.read_text().replace(old, new))

    async def start(self, *arguments: str, **changes: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "ai_server", *arguments),
            env=env.child_environment(**{**self.own, **changes}),
            cwd=REPOSITORY,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def run(self, *arguments: str, **changes: str) -> tuple[int, str]:
        process = await self.start(*arguments, **changes)
        async with asyncio.timeout(UP_SECONDS):
            out, err = await process.communicate()
        assert process.returncode is not None
        return process.returncode, (out + err).decode()

    @asynccontextmanager
    async def serving(self):
        """A running server; killed if the test leaves it running."""
        process = await self.start("serve")
        reader = asyncio.create_task(process.stderr.read())
        try:
            await self.ready()
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()
            await asyncio.gather(reader)
            process._transport.close()

    async def ready(self) -> None:
        async with asyncio.timeout(UP_SECONDS), self.channel() as channel:
            stub = readiness_pb2_grpc.ReadinessServiceStub(channel)
            call = {"metadata": self.metadata, "wait_for_ready": True}
            while (await stub.Check(readiness_pb2.CheckRequest(), **call)).http_status != 200:  # noqa: ASYNC110
                await asyncio.sleep(0.1)

    def channel(self) -> grpc.aio.Channel:
        return grpc.aio.insecure_channel(f"127.0.0.1:{self.port}")

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.token}"),)


@pytest.fixture
def installation(tmp_path):
    return Installation(tmp_path)


@pytest.fixture
def started(installation, monkeypatch, capsys):
    """Run `python -m ai_server …` in this process; gives the exit code and what was printed."""

    def run(*arguments, **changes):
        for name, value in {**installation.own, **changes}.items():
            monkeypatch.setenv(name, value)
        return main(arguments), capsys.readouterr().err

    return run


@pytest.fixture
def taken_port(installation):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", installation.port))
        taken.listen()
        yield installation.port


def test_every_fault_is_printed_at_once_and_the_exit_code_is_2(installation, started, taken_port):
    installation.change('provider = "embedded", model = "extractive"', 'provider = "no", model = "m"')
    blocked = installation.folder / "file"
    blocked.write_text("not a folder")
    code, said = started(PASSEUR_DATA_DIR=str(blocked))
    assert code == 2
    assert re.search(
        rf"PASSEUR_AI_ADDRESS: cannot listen on 127\.0\.0\.1:{taken_port} \(Address already in use\)", said
    )
    assert "PASSEUR_DATA_DIR" in said
    assert "provider `no` is not known" in said


def test_wrong_variables_and_wrong_projects_come_together(installation, started):
    installation.change('limit_usd = "20.00"', 'limit_usd = "much"')
    code, said = started("serve", PASSEUR_AI_GRCE_S="1")
    assert code == 2
    assert "PASSEUR_AI_GRCE_S: no such setting" in said
    assert "budgets.0.limit_usd" in said


def test_a_metered_model_without_a_project_budget_is_refused(installation, started):
    metered = 'provider = "mistral", model = "mistral-small-2603"'
    installation.change('provider = "embedded", model = "extractive"', metered)
    installation.change('scope = "project"\nperiod', 'scope = "user"\nperiod')
    code, said = started("check", PASSEUR_AI_MISTRAL_API_KEY="key")
    assert code == 2
    assert "metered models need a budget" in said


def test_good_settings_pass_the_check(started):
    assert started("check")[0] == 0


@pytest.mark.slow
@pytest.mark.timeout(400)
async def test_a_server_answers_keeps_its_data_to_itself_and_leaves_with_0(installation):
    async with installation.serving() as process:
        code, said = await installation.run("ingest")
        assert (code, "1 indexed" in said) == (0, True), said
        notes = installation.folder / "notes"
        notes.mkdir()
        (notes / "hours.md").write_text("# Hours\n\nThe desk opens at nine.\n")
        code, said = await installation.run("ingest", "--docs", str(notes), "--meta", "scope=docs audience=public")
        assert (code, "1 indexed" in said) == (0, True), said
        async with installation.channel() as channel:
            stub = assistant_pb2_grpc.AssistantServiceStub(channel)
            allowed = {
                name: common_pb2.Values(values=[value]) for name, value in (("scope", "docs"), ("audience", "public"))
            }
            question = assistant_pb2.AnswerInput(
                project_id="demo",
                question="How are exports sent to me?",
                retrieval_contexts=[common_pb2.RetrievalContext(allowed=allowed)],
            )
            request = assistant_pb2.AnswerRequest(input=question)
            result = (await stub.Answer(request, metadata=installation.metadata, timeout=30)).result
        assert "They are sent by mail." in result.text
        assert result.citations[0].quote in "Exports are made in the settings. They are sent by mail."
        other = free_port()
        code, said = await installation.run("documents", "list", PASSEUR_AI_ADDRESS=f"127.0.0.1:{other}")
        assert code == 1
        assert "Traceback" not in said
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(DOWN_SECONDS):
            assert await process.wait() == 0
    code, said = await installation.run("ingest", PASSEUR_DATA_DIR=str(restored(installation)))
    assert (code, "export.md" in said, "hours.md" in said, "rejected" in said) == (0, True, True, False), said
    shutil.rmtree(installation.folder)


def restored(installation: Installation) -> Path:
    """Copy what the operator's page says that a backup holds, and nothing else; the index is built again."""
    page = (REPOSITORY / "docs" / "operations.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `<data>/([^`]+)`", page, re.MULTILINE)
    assert {"ai/state.sqlite", "ai/clients.toml", "gateway/gateway.sqlite"} <= set(listed)
    fresh = installation.folder / "restored"
    for each in listed:
        kept = installation.folder / "data" / each
        (fresh / each).parent.mkdir(parents=True, exist_ok=True)
        if kept.is_dir():
            shutil.copytree(kept, fresh / each)
        elif kept.exists():
            shutil.copy2(kept, fresh / each)
    assert not (fresh / "ai" / "index").exists()
    return fresh
