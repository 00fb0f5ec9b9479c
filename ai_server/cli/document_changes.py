"""What `documents` changes: managed documents, the gate's thresholds, the embedding model of the index."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ai_server.cli.metadata import defaults_of
from ai_server.cli.words import counted, shown
from shared.pb.passeur.v1 import documents_pb2, documents_pb2_grpc

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from typing import Any

    from ai_server.cli.connection import Connection

    Actions = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - argparse names it nowhere else
    Stub = documents_pb2_grpc.DocumentsServiceStub

CALL_BYTES: Final = 3_500_000
"""Most bytes of content in one call: a message takes 4 MiB."""
CALL_DOCUMENTS: Final = 100
LOST_SHARE: Final = 0.05
EXAMPLE: Final = '{"question": "…", "answerable": true}'


def configure(actions: Actions) -> Sequence[argparse.ArgumentParser]:
    """Add the actions that change something; gives their parsers."""
    upsert = actions.add_parser("upsert", help="send files to a managed source")
    upsert.add_argument("source")
    upsert.add_argument("files", nargs="+", type=Path)
    upsert.add_argument("--into", default="", help="folder inside the source")
    upsert.add_argument("--meta", default="", help="metadata of all of them: 'scope=docs audience=public,staff'")
    delete = actions.add_parser("delete", help="remove documents from a managed source")
    delete.add_argument("source")
    delete.add_argument("paths", nargs="+")
    reindex = actions.add_parser("reindex", help="build with another embedding model beside, prove it, and swap")
    reindex.add_argument("--model", default="", help="provider/model (default: what the project's settings say)")
    rollback = actions.add_parser("rollback", help="return to the index that the last reindex kept")
    calibrate = actions.add_parser("calibrate", help="learn the gate's thresholds from labelled questions")
    calibrate.add_argument("questions", type=Path, help='lines of {"question": "…", "answerable": true}')
    calibrate.add_argument("--max-lost", type=float, default=LOST_SHARE, help="share of good questions to lose at most")
    return upsert, delete, reindex, rollback, calibrate


async def _upsert(stub: Stub, arguments: argparse.Namespace, connection: Connection) -> int:
    try:
        metadata = defaults_of(arguments.meta)
        documents = [
            documents_pb2.Document(path=_inside(arguments.into, file), content=file.read_bytes(), metadata=metadata)
            for file in arguments.files
        ]
    except (OSError, ValueError) as exc:
        print(exc, file=sys.stderr)
        return 2
    taken = True
    for part in _calls(documents):
        request = documents_pb2.UpsertRequest(project_id=arguments.project, source_id=arguments.source, documents=part)
        response = await stub.Upsert(request, metadata=connection.metadata)
        taken = _print_lines(response.files) and taken
    return 0 if taken else 1


def _inside(folder: str, file: Path) -> str:
    return f"{folder.strip('/')}/{file.name}" if folder else file.name


def _calls(documents: Sequence[documents_pb2.Document]) -> Iterator[list[documents_pb2.Document]]:
    """Cut documents into calls that fit a message; one that is too large alone goes alone, and is refused by name."""
    held: list[documents_pb2.Document] = []
    for each in documents:
        full = sum(len(other.content) for other in held) + len(each.content) > CALL_BYTES
        if held and (full or len(held) == CALL_DOCUMENTS):
            yield held
            held = []
        held.append(each)
    if held:
        yield held


async def _delete(stub: Stub, arguments: argparse.Namespace, connection: Connection) -> int:
    for start in range(0, len(arguments.paths), CALL_DOCUMENTS):
        request = documents_pb2.DeleteRequest(
            project_id=arguments.project,
            source_id=arguments.source,
            paths=arguments.paths[start : start + CALL_DOCUMENTS],
        )
        response = await stub.Delete(request, metadata=connection.metadata)
        _print_lines(response.files)
    return 0


def _print_lines(lines: Sequence[documents_pb2.FileLine]) -> bool:
    """Print a line for each document; tells whether none was rejected."""
    for line in lines:
        status = documents_pb2.FileStatus.Name(line.status).removeprefix("FILE_STATUS_").lower()
        passages = counted(line.chunk_count, "passage") if line.chunk_count else ""
        print("  ".join(part for part in (f"{status:9} {shown(line.path)}", passages, line.reason) if part))
    return all(line.status != documents_pb2.FILE_STATUS_REJECTED for line in lines)


async def _reindex(stub: Stub, arguments: argparse.Namespace, connection: Connection) -> int:
    provider, _, model = arguments.model.partition("/")
    if provider and not model:
        print("--model: must be provider/model", file=sys.stderr)
        return 2
    request = documents_pb2.ReindexRequest(
        project_id=arguments.project, embedding_provider=provider, embedding_model=model
    )
    print("reading the index that serves; answers go on from it", flush=True)
    shown = 0
    async for response in stub.Reindex(request, metadata=connection.metadata):
        if response.WhichOneof("event") == "progress":
            done = response.progress.chunks_embedded_count
            if done - shown >= CALL_DOCUMENTS:
                shown = done
                print(f"{done} of at most {response.progress.chunks_total_count} passages embedded", flush=True)
        else:
            summary = response.summary
            print(f"swapped in: {summary.chunks_embedded_count} embedded, {summary.chunks_reused_count} reused")
    if provider:
        print(
            f'Before the next start, set [embedding] in the project\'s ai.toml: provider = "{provider}", '
            f'model = "{model}".'
        )
    print("The index before it is kept: `documents rollback` returns to it.")
    return 0


async def _rollback(stub: Stub, arguments: argparse.Namespace, connection: Connection) -> int:
    request = documents_pb2.RollbackRequest(project_id=arguments.project)
    found = await stub.Rollback(request, metadata=connection.metadata)
    print(f"The index built with {found.embedding_provider}/{found.embedding_model} serves again, brought up to date.")
    print(
        f'Before the next start, set [embedding] in the project\'s ai.toml: provider = "{found.embedding_provider}", '
        f'model = "{found.embedding_model}".'
    )
    return 0


def _questions(path: Path) -> list[documents_pb2.LabelledQuestion]:
    """Read labelled questions.

    Raises:
        ValueError: the file cannot be read, or a line is not one, named by its number.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as exc:
        raise ValueError(f"it cannot be read ({exc.strerror})") from exc
    found: list[documents_pb2.LabelledQuestion] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            found.append(documents_pb2.LabelledQuestion(question=row["question"], answerable=row["answerable"]))
        except (ValueError, KeyError, TypeError) as exc:
            raise ValueError(f"line {number} is not {EXAMPLE}") from exc
    return found


async def _calibrate(stub: Stub, arguments: argparse.Namespace, connection: Connection) -> int:
    try:
        questions = _questions(arguments.questions)
    except ValueError as exc:
        print(f"{arguments.questions}: {exc}", file=sys.stderr)
        return 2
    request = documents_pb2.CalibrateRequest(
        project_id=arguments.project, questions=questions, max_lost_share=arguments.max_lost
    )
    found = await stub.Calibrate(request, metadata=connection.metadata)
    for name, value in sorted(found.thresholds.items()):
        print(f"{name}: {value:.4f}")
    print(
        f"On these {len(questions)} questions: {found.lost_share:.1%} of the answerable ones are lost, "
        f"{found.false_answer_share:.1%} of the others are still answered."
    )
    return 0


ACTIONS: Final[dict[str, Any]] = {
    "upsert": _upsert,
    "delete": _delete,
    "reindex": _reindex,
    "rollback": _rollback,
    "calibrate": _calibrate,
}
