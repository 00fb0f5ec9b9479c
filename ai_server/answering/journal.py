"""The line that every turn leaves: what was looked for, found, called and paid, without prompts or secrets."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from ai_server.answering.codec import usage_plain
from ai_server.storage.journal_contract import JournalLine

if TYPE_CHECKING:
    from datetime import datetime

    from ai_server.answering.contract import AnswerResult, Intent, Problem, StepKind
    from ai_server.knowledge.contract import Hit
    from ai_server.providers.account import CallRecord

BODY_LIMIT: Final = 256 * 1024
CHUNKS_KEPT: Final = 50
CALLS_KEPT: Final = 64


@dataclass(slots=True)
class TurnRecord:
    """What a turn notes down while it runs."""

    turn_id: str
    project_id: str
    client: str
    key: str
    operation: str
    started_at: datetime
    assistant: str = ""
    language: str = ""
    intent: Intent | None = None
    search_query: str = ""
    hits: tuple[Hit, ...] = ()
    signals: dict[str, float] = field(default_factory=dict)
    calls: list[CallRecord] = field(default_factory=list)
    durations_ms: dict[str, int] = field(default_factory=dict)
    dropped_markers: int = 0
    passed_over: tuple[str, ...] = ()

    def lasted(self, step: StepKind, seconds: float) -> None:
        """Note how long a step took."""
        self.durations_ms[step] = self.durations_ms.get(step, 0) + round(seconds * 1000)


def line(record: TurnRecord, result: AnswerResult, ended_at: datetime) -> JournalLine:
    """Write the line; long lists are cut to their bounds."""
    cited = {each.chunk_id for each in result.citations}
    body: dict[str, Any] = {
        "operation": record.operation,
        "outcome": result.outcome,
        "assistant": record.assistant,
        "language": record.language,
        "intent": _intent(record.intent) if record.intent else None,
        "search_query": record.search_query,
        "signals": record.signals,
        "chunks": [
            {
                "chunk_id": hit.chunk.chunk_id,
                "title": hit.chunk.title if hit.chunk.quotable else "",
                "distance": round(hit.distance, 6),
                "score": round(hit.score, 6),
                "kept": hit.kept,
                "cited": hit.chunk.chunk_id in cited,
            }
            for hit in record.hits[:CHUNKS_KEPT]
        ],
        "calls": [_call(each) for each in record.calls[:CALLS_KEPT]],
        "durations_ms": record.durations_ms,
        "cost_nanousd": result.cost_nanousd,
        "estimated": result.estimated,
        "model": result.model,
        "provider": result.provider,
        "economy": result.economy,
        "passed_over": list(record.passed_over),
        "dropped_markers": record.dropped_markers,
        "problem": _problem(result.problem),
        "duration_ms": result.duration_ms,
    }
    return JournalLine(
        turn_id=record.turn_id,
        project_id=record.project_id,
        client=record.client,
        key=record.key,
        started_at=record.started_at,
        ended_at=ended_at,
        body=json.dumps(body, ensure_ascii=False, separators=(",", ":")),
    )


def read(line: JournalLine) -> dict[str, Any]:
    """Read a line's body back."""
    return json.loads(line.body)


def _call(call: CallRecord) -> dict[str, Any]:
    return {
        "reservation_key": call.key,
        "operation": call.operation,
        "provider": call.provider,
        "model": call.model,
        "price_version": call.price_version,
        "usage": usage_plain(call.usage) if call.usage else None,
        "cost_nanousd": call.cost_nanousd,
        "estimated": call.estimated,
        "error_class": call.error_class,
        "lowered_cap": call.lowered_cap,
        "duration_ms": round(call.duration_s * 1000),
    }


def _intent(intent: Intent) -> dict[str, Any]:
    return {name: getattr(intent, name) for name in intent.__slots__}


def _problem(problem: Problem | None) -> dict[str, Any] | None:
    if problem is None:
        return None
    return {
        "reason": problem.reason,
        "message": problem.message,
        "resets_at": problem.resets_at.isoformat() if problem.resets_at else None,
        "provider": problem.provider,
    }
