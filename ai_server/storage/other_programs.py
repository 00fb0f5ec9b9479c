"""Transactions of requests, journal and index registry, as programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from ai_server.storage.index_contract import DocumentRow, IndexRow, KeptIndex, SourceRow
from ai_server.storage.journal_contract import JournalLine
from ai_server.storage.requests_contract import RequestKey, StoredRequest
from ai_server.storage.rules import from_us, to_us
from ai_server.storage.statements import Statement
from shared.errors import IdempotencyConflict

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from ai_server.storage.statements import Program, Row

MAX_RUNNING: Final = 10_000
"""Running requests that are looked at, those of living servers among them: more than all servers together admit."""


def claim(request: StoredRequest, instance: int) -> Program[StoredRequest | None]:
    """Take a key, or tell who has it."""
    key = {"client": request.key.client, "key": request.key.key}
    values = {
        **key,
        "body_digest": request.body_digest,
        "turn_id": request.turn_id,
        "owner": request.owner,
        "instance": instance,
        "result": request.result,
        "created_at": to_us(request.created_at),
    }
    if (yield Statement("claim_request", values)):
        return None
    found = request_of((yield Statement("request", key))[0])
    if found.body_digest != request.body_digest:
        raise IdempotencyConflict("The idempotency key was used with another body: use a new key.")
    return found


def finish(key: RequestKey, result: bytes) -> Program[None]:
    """Store a result, once."""
    yield Statement("finish_request", {"client": key.client, "key": key.key, "result": result})


def find(key: RequestKey) -> Program[StoredRequest | None]:
    """Look a request up."""
    rows = yield Statement("request", {"client": key.client, "key": key.key})
    return request_of(rows[0]) if rows else None


def abandoned(owner: str, limit: int, departed: Collection[int] | None) -> Program[Sequence[StoredRequest]]:
    """List running requests of processes that died; of the `departed` ones alone, if they are given."""
    live = {row["instance"] for row in (yield Statement("live_instances", {}))}
    rows = yield Statement("running_requests", {"owner": owner, "count": MAX_RUNNING})
    gone = [row for row in rows if row["instance"] not in live]
    return [request_of(row) for row in gone if departed is None or row["instance"] in departed][:limit]


def departed() -> Program[frozenset[int]]:
    """Name the openings of the store that left work behind and do not live."""
    return frozenset(row["instance"] for row in (yield Statement("departed_instances", {})))


def forget_before(instant: datetime) -> Program[int]:
    """Remove old finished requests."""
    return len((yield Statement("forget_requests", {"instant": to_us(instant)})))


def request_of(row: Row) -> StoredRequest:
    """Read a request."""
    return StoredRequest(
        key=RequestKey(row["client"], row["key"]),
        body_digest=row["body_digest"],
        turn_id=row["turn_id"],
        owner=row["owner"],
        result=row["result"],
        created_at=from_us(row["created_at"]),
    )


def append_line(line: JournalLine) -> Program[None]:
    """Write a turn's line, once."""
    yield Statement(
        "append_line",
        {
            "turn_id": line.turn_id,
            "project_id": line.project_id,
            "client": line.client,
            "key": line.key,
            "started_at": to_us(line.started_at),
            "ended_at": to_us(line.ended_at),
            "body": line.body,
        },
    )


def find_line(project_id: str, turn_id: str, client: str, key: str) -> Program[JournalLine | None]:
    """Find a turn's line by its id, or by the request's key."""
    if turn_id:
        rows = yield Statement("line_by_turn", {"project_id": project_id, "turn_id": turn_id})
    else:
        rows = yield Statement("line_by_key", {"project_id": project_id, "client": client, "key": key})
    return line_of(rows[0]) if rows else None


def line_of(row: Row) -> JournalLine:
    """Read a journal line."""
    return JournalLine(
        turn_id=row["turn_id"],
        project_id=row["project_id"],
        client=row["client"],
        key=row["key"],
        started_at=from_us(row["started_at"]),
        ended_at=from_us(row["ended_at"]),
        body=row["body"],
    )


def documents(project_id: str, source_id: str) -> Program[Mapping[str, DocumentRow]]:
    """Read the rows of a source, or of all."""
    if source_id:
        rows = yield Statement("documents_of_source", {"project_id": project_id, "source_id": source_id})
        return {row["path"]: document_of(row) for row in rows}
    rows = yield Statement("documents_of_project", {"project_id": project_id})
    return {f"{row['source_id']}/{row['path']}": document_of(row) for row in rows}


def put_documents(rows: Sequence[DocumentRow], removed: Sequence[tuple[str, str, str]]) -> Program[None]:
    """Write and remove rows together."""
    for project_id, source_id, path in removed:
        yield Statement("remove_document", {"project_id": project_id, "source_id": source_id, "path": path})
    for row in rows:
        yield Statement("put_document", document_values(row))


def document_values(row: DocumentRow) -> dict[str, object]:
    """Name the columns of a document."""
    return {
        "project_id": row.project_id,
        "source_id": row.source_id,
        "path": row.path,
        "status": row.status,
        "reason": row.reason,
        "content_sha256": row.content_sha256,
        "settings_sha256": row.settings_sha256,
        "title": row.title,
        "language": row.language,
        "metadata": json.dumps({name: list(values) for name, values in row.metadata.items()}),
        "chunk_ids": json.dumps(list(row.chunk_ids)),
        "synced_at": to_us(row.synced_at),
    }


def document_of(row: Row) -> DocumentRow:
    """Read a document."""
    return DocumentRow(
        project_id=row["project_id"],
        source_id=row["source_id"],
        path=row["path"],
        status=row["status"],
        reason=row["reason"],
        content_sha256=row["content_sha256"],
        settings_sha256=row["settings_sha256"],
        title=row["title"],
        language=row["language"],
        metadata={name: tuple(values) for name, values in json.loads(row["metadata"]).items()},
        chunk_ids=tuple(json.loads(row["chunk_ids"])),
        synced_at=from_us(row["synced_at"]),
    )


INDEX_COLUMNS = ("project_id", "collection", "fingerprint", "generation", "calibration")


def index(project_id: str) -> Program[IndexRow | None]:
    """Read a project's index row."""
    rows = yield Statement("index", {"project_id": project_id})
    if not rows:
        return None
    return IndexRow(**{name: rows[0][name] for name in INDEX_COLUMNS}, kept=_kept_of(rows[0]["previous_collection"]))


def put_index(row: IndexRow) -> Program[None]:
    """Write a project's index row."""
    values = {name: getattr(row, name) for name in INDEX_COLUMNS}
    yield Statement("put_index", {**values, "previous_collection": _kept_text(row.kept)})


def _kept_text(kept: KeptIndex | None) -> str:
    """Write a kept index as the one column that it has."""
    if kept is None:
        return ""
    return json.dumps([kept.collection, kept.fingerprint, kept.calibration])


def _kept_of(text: str) -> KeptIndex | None:
    return KeptIndex(*json.loads(text)) if text else None


def sources(project_id: str) -> Program[Sequence[SourceRow]]:
    """Read the folders remembered for a project."""
    return [
        SourceRow(
            project_id=row["project_id"],
            source_id=row["source_id"],
            root=row["root"],
            defaults={name: tuple(values) for name, values in json.loads(row["defaults"]).items()},
            key_map=json.loads(row["key_map"]),
        )
        for row in (yield Statement("sources", {"project_id": project_id}))
    ]


def put_source(row: SourceRow) -> Program[None]:
    """Remember a folder."""
    yield Statement(
        "put_source",
        {
            "project_id": row.project_id,
            "source_id": row.source_id,
            "root": row.root,
            "defaults": json.dumps({name: list(values) for name, values in row.defaults.items()}),
            "key_map": json.dumps(dict(row.key_map)),
        },
    )


def remove_source(project_id: str, source_id: str) -> Program[None]:
    """Remember a folder no more."""
    yield Statement("remove_source", {"project_id": project_id, "source_id": source_id})


def take_lease(name: str, owner: str, now: datetime, until: datetime) -> Program[bool]:
    """Take or renew a lease; tells whether it is the owner's now."""
    values = {"name": name, "owner": owner, "now": to_us(now), "until": to_us(until)}
    return bool((yield Statement("take_lease", values)))


def drop_lease(name: str, owner: str) -> Program[None]:
    """Give a lease back."""
    yield Statement("drop_lease", {"name": name, "owner": owner})
