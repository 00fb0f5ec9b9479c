"""`ingest`: bring the index in line with a folder, or with every declared source; a line for each file."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import grpc
import grpc.aio

from ai_server.cli.metadata import defaults_of
from ai_server.cli.words import counted, shown
from shared.pb.passeur.v1 import documents_pb2, documents_pb2_grpc

if TYPE_CHECKING:
    import argparse

    from ai_server.cli.command import CommandContext
    from ai_server.cli.connection import Connection
    from shared.pb.passeur.v1 import common_pb2

NAME: Final = "ingest"
HELP: Final = "index a folder of documents, or every source that the project declares"
GONE: Final = frozenset(
    {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED}
)
"""What the next source would be told as well."""
WAITS: Final = 600
WAIT_SECONDS: Final = 1.0
"""How often, and how long between, a source is asked for that something else is syncing."""
_BAR_WIDTH: Final = 24


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the folder and what is known of its documents."""
    parser.add_argument("--project", default="demo", help="project id (default: demo)")
    parser.add_argument("--docs", type=Path, help="folder to index; without it, every declared source")
    parser.add_argument("--meta", default="", help="metadata of all its documents: 'scope=docs audience=public,staff'")
    parser.add_argument("--source", default="", help="name of the source (default: the folder's name)")
    parser.add_argument("--quiet", action="store_true", help="only files that were rejected, and the summary")


async def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Sync through the running server; exits 1 when a file was rejected or a source failed. One never keeps the others
    from being synced.
    """
    try:
        defaults = defaults_of(arguments.meta)
    except ValueError as exc:
        print(exc, file=sys.stderr)
        return 2
    async with context.connect() as connection:
        wrong = 0
        for request in await _requests(arguments, defaults, connection):
            try:
                wrong += await _sync_in_turn(request, connection, quiet=arguments.quiet)
            except grpc.aio.AioRpcError as error:
                if error.code() in GONE:
                    raise
                wrong += 1
                print(f"{_name(request)}: not indexed: {_remedy(error, request)}", file=sys.stderr)
    return 1 if wrong else 0


async def _requests(
    arguments: argparse.Namespace, defaults: dict[str, common_pb2.Values], connection: Connection
) -> list[documents_pb2.SyncRequest]:
    if arguments.docs is not None:
        root = str(arguments.docs.resolve())
        given = {"source_id": arguments.source, "root": root, "defaults": defaults}
        return [documents_pb2.SyncRequest(project_id=arguments.project, **given)]
    if arguments.source:
        return [documents_pb2.SyncRequest(project_id=arguments.project, source_id=arguments.source)]
    stub = documents_pb2_grpc.DocumentsServiceStub(connection.channel)
    listed = await stub.List(
        documents_pb2.ListRequest(project_id=arguments.project, page_size=1), metadata=connection.metadata
    )
    return [
        documents_pb2.SyncRequest(project_id=arguments.project, source_id=source.source_id)
        for source in listed.sources
        if source.root and not source.managed
    ]


def _name(request: documents_pb2.SyncRequest) -> str:
    return request.source_id or Path(request.root).name


def _remedy(error: grpc.aio.AioRpcError, request: documents_pb2.SyncRequest) -> str:
    """Say what the server said, and for a source that is gone how to end it."""
    told = error.details() or error.code().name
    if request.root or error.code() is not grpc.StatusCode.INVALID_ARGUMENT:
        return told
    end = f"documents forget-source --project {request.project_id} {request.source_id}"
    return f"{told} (a source that is no more: take it out of ai.toml, or `{end}`)"


async def _sync_in_turn(request: documents_pb2.SyncRequest, connection: Connection, *, quiet: bool) -> int:
    """Sync one source, after whatever syncs it now, such as a server that mends its index."""
    for attempt in range(WAITS):
        try:
            return await _sync(request, connection, quiet=quiet)
        except grpc.aio.AioRpcError as error:
            if error.code() is not grpc.StatusCode.ABORTED:
                raise
            if not attempt:
                print(f"{_name(request)}: waiting: {error.details()}", file=sys.stderr, flush=True)
        await asyncio.sleep(WAIT_SECONDS)
    return await _sync(request, connection, quiet=quiet)


async def _sync(request: documents_pb2.SyncRequest, connection: Connection, *, quiet: bool) -> int:
    """Sync one source, printing what becomes of it; gives how many files were rejected."""
    stub = documents_pb2_grpc.DocumentsServiceStub(connection.channel)
    bar = _Bar(_name(request))
    rejected = 0
    announced = False
    undeclared: set[str] = set()
    async for response in stub.Sync(request, metadata=connection.metadata):
        kind = response.WhichOneof("event")
        if kind == "file":
            line = response.file
            undeclared.update(line.undeclared_keys)
            if not quiet or line.status == documents_pb2.FILE_STATUS_REJECTED:
                bar.say(_told(line))
        elif kind == "progress":
            if not announced:
                announced = True
                bar.say(f"{bar.name}: reading {counted(response.progress.files_total_count, 'file')} …")
            bar.move(response.progress)
        else:
            rejected = response.summary.rejected_count
            bar.say(_summed_up(bar.name, response.summary))
    if undeclared:
        first = min(undeclared)
        bar.say(
            f"Nothing can be filtered by {', '.join(sorted(undeclared))}: to have that, declare them in "
            f"projects/{request.project_id}/ai.toml, as [keys.{first}]."
        )
    return rejected


def _told(line: documents_pb2.FileLine) -> str:
    status = documents_pb2.FileStatus.Name(line.status).removeprefix("FILE_STATUS_").lower()
    parts = [f"{status:9} {shown(line.path)}"]
    if line.chunk_count:
        parts.append(counted(line.chunk_count, "passage"))
    if line.moved_from:
        parts.append(f"from {shown(line.moved_from)}")
    if line.undeclared_key_count:
        parts.append(f"kept, but undeclared: {', '.join(line.undeclared_keys)}")
    if line.reason:
        parts.append(line.reason)
    return "  ".join(parts)


def _summed_up(name: str, summary: documents_pb2.SyncSummary) -> str:
    names = ("indexed", "unchanged", "moved", "removed", "rejected", "skipped")
    files = ", ".join(f"{count} {word}" for word in names if (count := getattr(summary, f"{word}_count")))
    return (
        f"{name}: {files or 'no files'}; {counted(summary.chunks_embedded_count, 'passage')} embedded, "
        f"{summary.chunks_reused_count} reused, {summary.chunks_removed_count} removed, "
        f"in {summary.duration_ms / 1000:.1f} s"
    )


class _Bar:
    """A progress bar on a terminal's standard error; nothing elsewhere."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._shown = sys.stderr.isatty()

    def say(self, line: str) -> None:
        self._clear()
        print(line, flush=True)

    def move(self, progress: Any) -> None:
        if not self._shown:
            return
        share = progress.files_done_count / max(progress.files_total_count, 1)
        full = round(share * _BAR_WIDTH)
        text = (
            f"{self.name} [{'#' * full}{'.' * (_BAR_WIDTH - full)}] "
            f"{progress.files_done_count}/{progress.files_total_count} files, "
            f"{counted(progress.chunks_embedded_count, 'passage')} embedded"
        )
        self._clear()
        print(text[: shutil.get_terminal_size().columns - 1], end="", file=sys.stderr, flush=True)

    def _clear(self) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
