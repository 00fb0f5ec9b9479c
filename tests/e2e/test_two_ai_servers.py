"""Two real AI servers on one PostgreSQL registry and one Chroma server: one changes documents, the other follows; one
is killed in the middle of a sync, the other takes over (issue «Knowledge»).
"""

from __future__ import annotations

import random
import time
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import grpc
import grpc.aio
import pytest

from ai_server.clients import ALL_PROJECTS, CLIENTS_FILE, Scope, add_client
from ai_server.knowledge.leases import LEASE_SECONDS
from shared.pb.passeur.v1 import (
    assistant_pb2,
    assistant_pb2_grpc,
    common_pb2,
    documents_pb2,
    documents_pb2_grpc,
    readiness_pb2,
    readiness_pb2_grpc,
)
from tests import services
from tests.chroma import chroma_run
from tests.e2e.installation import READY_WITHIN_S, Installation
from tests.waiting import eventually

pytestmark = pytest.mark.service("postgresql")

FILES = 160
"""More than one batch of a sync, so that the first is durable while others are still embedded."""
CHANGES = 3
FOLLOWS_WITHIN_S = 5.0
TAKES_OVER_WITHIN_S = LEASE_SECONDS + 60
ASKED_EVERY_S = 0.5
"""How often a server is asked for what takes it many seconds."""
WORDS = ("parcel", "refund", "garden", "invoice", "window", "letter", "bridge", "candle", "market", "signal", "harbour")
VALUES = {"scope": common_pb2.Values(values=["docs"]), "audience": common_pb2.Values(values=["public"])}


@dataclass
class Server:
    """One AI server, and how to ask it things."""

    installation: Installation
    channel: grpc.aio.Channel
    metadata: tuple[tuple[str, str], ...]
    documents: documents_pb2_grpc.DocumentsServiceStub

    async def is_ready(self) -> bool:
        """Whether it would take a question."""
        assert self.installation.processes["ai_server"].poll() is None, self.installation.log("ai_server")[-2000:]
        with suppress(grpc.aio.AioRpcError):
            stub = readiness_pb2_grpc.ReadinessServiceStub(self.channel)
            told = await stub.Check(readiness_pb2.CheckRequest(), metadata=self.metadata, timeout=READY_WITHIN_S)
            return told.http_status == 200
        return False

    def sync(self, root: Path) -> grpc.aio.UnaryStreamCall:
        """Begin to bring the index in line with a folder."""
        request = documents_pb2.SyncRequest(project_id="demo", source_id="shared", root=str(root), defaults=VALUES)
        return self.documents.Sync(request, metadata=self.metadata, timeout=READY_WITHIN_S)

    async def synced(self, root: Path) -> documents_pb2.SyncSummary:
        """Do it to the end."""
        return [event async for event in self.sync(root)][-1].summary

    async def synced_or_refused(self, root: Path) -> documents_pb2.SyncSummary | None:
        """Give nothing where another server has the lease."""
        try:
            return await self.synced(root)
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.ABORTED:
                raise
            return None

    async def found(self, query: str) -> list[str]:
        """Say which documents come first."""
        stub = assistant_pb2_grpc.AssistantServiceStub(self.channel)
        own = common_pb2.RetrievalContext(allowed=VALUES)
        request = assistant_pb2.SearchRequest(project_id="demo", query=query, retrieval_contexts=[own])
        answer = await stub.Search(request, metadata=self.metadata, timeout=READY_WITHIN_S)
        return [hit.path for hit in answer.hits if hit.source_id == "shared"]


@pytest.fixture
async def pair(tmp_path):
    """Two servers with data folders of their own, on one registry and one index."""
    async with AsyncExitStack() as stack:
        try:
            database = stack.enter_context(services.postgres())
        except services.ServiceMissing as missing:
            pytest.skip(str(missing))
        (tmp_path / "chroma").mkdir()
        chroma = stack.enter_context(chroma_run(tmp_path / "chroma"))
        settings = {"PASSEUR_AI_STATE_URL": database.database(), "PASSEUR_AI_CHROMA_URL": chroma.url}
        servers = [await started(stack, tmp_path / name, settings) for name in ("first", "second")]
        for server in servers:
            await eventually(server.is_ready, READY_WITHIN_S, every_s=ASKED_EVERY_S)
        yield servers


async def started(stack: AsyncExitStack, folder: Path, settings: dict[str, str]) -> Server:
    """Start one with an operator as its only client."""
    installation = Installation(folder, settings)
    installation.write_project()
    _, token = add_client(installation.data / "ai" / CLIENTS_FILE, "operator", [ALL_PROJECTS], list(Scope))
    channel = await stack.enter_async_context(grpc.aio.insecure_channel(f"127.0.0.1:{installation.ai_port}"))
    stack.callback(installation.stop)
    installation.start("ai_server")
    stub = documents_pb2_grpc.DocumentsServiceStub(channel)
    return Server(installation, channel, (("authorization", f"Bearer {token}"),), stub)


def write(root: Path, name: str) -> None:
    """Write a page with a word that no other has."""
    words = " ".join(random.Random(name).choices(WORDS, k=14))
    text = f"---\nlanguage: en\n---\n# Page {name}\n\nThe page zq{name}zq tells of {words}.\n"
    (root / f"{name}.md").write_text(text, encoding="utf-8")


async def test_the_other_server_follows_a_change_and_takes_over_from_one_killed_in_a_sync(pair, tmp_path):
    """One walk, because each server takes seconds to start."""
    first, second = pair
    root = tmp_path / "pages"
    root.mkdir()
    await follows(first, second, root)
    for number in range(FILES):
        write(root, f"b{number}")
    indexed = await killed_in_a_sync(first, second, root)
    summary = await eventually(lambda: second.synced_or_refused(root), TAKES_OVER_WITHIN_S, every_s=ASKED_EVERY_S)
    assert summary.indexed_count + summary.unchanged_count == FILES + CHANGES - 1
    assert summary.chunks_reused_count >= indexed, "what was embedded is not embedded again"
    request = documents_pb2.DocumentsServiceAuditRequest(project_id="demo")
    audit = await second.documents.Audit(request, metadata=second.metadata, timeout=READY_WITHIN_S)
    assert (audit.clean, audit.chunk_count) == (True, FILES + CHANGES - 1)
    for number in random.Random(1).sample(range(FILES), 5):
        assert (await second.found(f"zqb{number}zq"))[0] == f"b{number}.md"
    assert "a0.md" not in await second.found("zqa0zq")


async def follows(first: Server, second: Server, root: Path) -> None:
    """Each change of one is what the other answers from, in about a second; a busy machine may be late twice."""
    took: list[float] = []
    for number in range(CHANGES):
        write(root, f"a{number}")
        await first.synced(root)
        started = time.monotonic()
        await eventually(lambda name=f"a{number}": _leads(second, name))
        took.append(time.monotonic() - started)
    assert min(took) < FOLLOWS_WITHIN_S, took
    (root / "a0.md").unlink()
    await second.synced(root)
    await eventually(lambda: _lacks(first, "a0"))


async def _leads(server: Server, name: str) -> bool:
    return (await server.found(f"zq{name}zq"))[:1] == [f"{name}.md"]


async def _lacks(server: Server, name: str) -> bool:
    return f"{name}.md" not in await server.found(f"zq{name}zq")


async def killed_in_a_sync(first: Server, second: Server, root: Path) -> int:
    """Kill the first when a part of its sync is durable; gives how many pages were told as indexed."""
    indexed = 0
    running = first.sync(root)
    async for event in running:
        if event.file.status == documents_pb2.FILE_STATUS_INDEXED:
            indexed += 1
            if indexed == 1:
                assert await second.synced_or_refused(root) is None, "two servers change one project at once"
                break
    first.installation.kill("ai_server")
    with suppress(grpc.aio.AioRpcError):
        async for event in running:
            indexed += event.file.status == documents_pb2.FILE_STATUS_INDEXED
    assert indexed < FILES, "the sync was over before the kill"
    return indexed
