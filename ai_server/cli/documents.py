"""`documents`: what the index holds, why a document was taken or not, and whether the index tells the truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ai_server.cli import document_changes
from ai_server.cli.words import counted, shown
from shared.pb.passeur.v1 import documents_pb2, documents_pb2_grpc

if TYPE_CHECKING:
    import argparse

    from ai_server.cli.command import CommandContext
    from ai_server.cli.connection import Connection

NAME: Final = "documents"
HELP: Final = "list, explain, upsert or delete documents; end a source; audit, rebuild, calibrate or reindex"
_PAGE: Final = 500


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    actions = parser.add_subparsers(dest="action", required=True)
    listing = actions.add_parser("list", help="sources and their documents")
    explain = actions.add_parser("explain", help="what the index holds of one document")
    audit = actions.add_parser("audit", help="query every passage by its own vector; exits 1 when one is not found")
    rebuild = actions.add_parser("rebuild", help="build the index anew from the documents, while answers go on")
    forget = actions.add_parser("forget-source", help="end a source that ai.toml does not declare; its folder stays")
    forget.add_argument("source")
    listing.add_argument("--source", default="", help="only this source")
    explain.add_argument("source")
    explain.add_argument("path")
    for each in (listing, explain, audit, rebuild, forget, *document_changes.configure(actions)):
        each.add_argument("--project", default="demo", help="project id (default: demo)")


async def run(arguments: argparse.Namespace, context: CommandContext) -> int:
    """Ask the running server and print."""
    own = {"list": _list, "explain": _explain, "audit": _audit, "rebuild": _rebuild, "forget-source": _forget}
    actions = {**own, **document_changes.ACTIONS}
    async with context.connect() as connection:
        stub = documents_pb2_grpc.DocumentsServiceStub(connection.channel)
        return await actions[arguments.action](stub, arguments, connection)


async def _audit(
    stub: documents_pb2_grpc.DocumentsServiceStub, arguments: argparse.Namespace, connection: Connection
) -> int:
    request = documents_pb2.DocumentsServiceAuditRequest(project_id=arguments.project)
    found = await stub.Audit(request, metadata=connection.metadata)
    for chunk_id in found.unreachable_chunk_ids:
        print(f"not found by its own vector: {chunk_id}")
    for chunk_id in found.ghost_chunk_ids:
        print(f"deleted but still there: {chunk_id}")
    print(
        f"{counted(found.chunk_count, 'passage')}, {'clean' if found.clean else 'NOT clean: run `documents rebuild`'}"
    )
    return 0 if found.clean else 1


async def _rebuild(
    stub: documents_pb2_grpc.DocumentsServiceStub, arguments: argparse.Namespace, connection: Connection
) -> int:
    request = documents_pb2.RebuildRequest(project_id=arguments.project)
    async for response in stub.Rebuild(request, metadata=connection.metadata):
        if response.WhichOneof("event") == "file":
            status = documents_pb2.FileStatus.Name(response.file.status).removeprefix("FILE_STATUS_").lower()
            print(f"{status:9} {shown(response.file.path)}  {response.file.reason}".rstrip())
        elif response.WhichOneof("event") == "summary":
            print(f"{response.summary.chunks_embedded_count} embedded, {response.summary.chunks_reused_count} reused")
    return 0


async def _forget(
    stub: documents_pb2_grpc.DocumentsServiceStub, arguments: argparse.Namespace, connection: Connection
) -> int:
    request = documents_pb2.ForgetSourceRequest(project_id=arguments.project, source_id=arguments.source)
    found = await stub.ForgetSource(request, metadata=connection.metadata)
    told = f"{counted(found.document_count, 'document')}, {counted(found.chunk_count, 'passage')}"
    print(f"{arguments.source}: forgotten ({told}); its folder was not touched")
    return 0


async def _list(
    stub: documents_pb2_grpc.DocumentsServiceStub, arguments: argparse.Namespace, connection: Connection
) -> int:
    token = ""
    first = True
    while first or token:
        request = documents_pb2.ListRequest(
            project_id=arguments.project, source_id=arguments.source, page_size=_PAGE, page_token=token
        )
        page = await stub.List(request, metadata=connection.metadata)
        if first:
            for source in page.sources:
                counts = f"{counted(source.document_count, 'document')}, {counted(source.chunk_count, 'passage')}"
                where = (
                    source.root or f"known no more: declare it again, or `documents forget-source {source.source_id}`"
                )
                print(f"{source.source_id}\t{counts}\t{where}")
        for entry in page.documents:
            print(_told(entry))
        first, token = False, page.next_page_token
    return 0


def _told(entry: documents_pb2.DocumentEntry) -> str:
    status = documents_pb2.FileStatus.Name(entry.status).removeprefix("FILE_STATUS_").lower()
    detail = entry.reason or f"{counted(entry.chunk_count, 'passage')}, {entry.language}, {entry.title}"
    return f"  {status:9} {entry.source_id}/{shown(entry.path)}\t{detail}"


async def _explain(
    stub: documents_pb2_grpc.DocumentsServiceStub, arguments: argparse.Namespace, connection: Connection
) -> int:
    request = documents_pb2.ExplainRequest(
        project_id=arguments.project, source_id=arguments.source, path=arguments.path
    )
    found = await stub.Explain(request, metadata=connection.metadata)
    print(_told(found.document).strip())
    for key, values in sorted(found.document.metadata.items()):
        print(f"  {key}: {', '.join(values.values)}")
    for chunk in found.chunks:
        print(f"\n{chunk.chunk_id}  {chunk.heading}  ({chunk.character_count} characters)\n{chunk.text}")
    return 0
