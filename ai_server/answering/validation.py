"""Bounds of what comes in: every fault of a request at once, each with its field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shared.errors import InvalidRequest, NotFound, UnsupportedMedia, Violation
from shared.text import key_violation, text_violation

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ai_server.answering.contract import AnswerInput, Assistant, HistoryMessage, Image, Project

QUESTION_LIMIT: Final = 20_000
HISTORY_LIMIT: Final = 40
SUMMARY_HISTORY_LIMIT: Final = 200
NAME_LIMIT: Final = 256
IMAGE_BYTES_LIMIT: Final = 3 * 1024 * 1024
IMAGE_TYPES: Final = ("image/png", "image/jpeg", "image/webp", "image/gif")
ATTACHED_LIMIT: Final = 200_000
CONTEXTS_LIMIT: Final = 64
VALUES_LIMIT: Final = 256
MOST_OUTPUT: Final = 200_000
HOTTEST: Final = 2.0


def check_answer(asked: AnswerInput) -> None:
    """Check a turn's input.

    Raises:
        InvalidRequest: with every violation.
    """
    found = [
        *_key(asked.idempotency_key),
        *_texts(
            [
                ("question", asked.question, QUESTION_LIMIT, False),
                ("user", asked.user, NAME_LIMIT, True),
                ("budget_user", asked.budget_user, NAME_LIMIT, True),
                ("language_hint", asked.language_hint, NAME_LIMIT, True),
            ]
        ),
        *history_violations("history", asked.history, HISTORY_LIMIT),
        *_attached(asked.attached_texts),
        *_numbers(asked.max_output_tokens, asked.temperature),
    ]
    if len(asked.contexts) > CONTEXTS_LIMIT:
        found.append(Violation("retrieval_contexts", f"has {len(asked.contexts)}; the limit is {CONTEXTS_LIMIT}"))
    for number, context in enumerate(asked.contexts):
        if any(len(values) > VALUES_LIMIT for values in context.values()):
            found.append(Violation(f"retrieval_contexts.{number}", f"a key has more than {VALUES_LIMIT} values"))
    found += image_violations(asked.image)
    refuse(found)
    if asked.image is not None and asked.image.mime_type not in IMAGE_TYPES:
        raise UnsupportedMedia([Violation("image.mime_type", f"must be one of {', '.join(IMAGE_TYPES)}")])


def refuse(found: Sequence[Violation]) -> None:
    """Raise what was found, if anything was.

    Raises:
        InvalidRequest: with every violation.
    """
    if found:
        raise InvalidRequest(found)


def project_and_assistant(
    projects: Mapping[str, Project], project_id: str, assistant: str
) -> tuple[Project, Assistant]:
    """Look both up; an empty name is the project's default.

    Raises:
        NotFound: there is none; names which.
    """
    project = projects.get(project_id)
    if project is None:
        raise NotFound("There is no such project.")
    found = project.assistants.get(assistant or project.default_assistant)
    if found is None:
        raise NotFound("The project has no such assistant.")
    return project, found


def history_violations(field: str, history: Sequence[HistoryMessage], limit: int) -> list[Violation]:
    """Check a history."""
    if len(history) > limit:
        return [Violation(field, f"has {len(history)} messages; the limit is {limit}: send the latest")]
    return _texts((f"{field}.{n}.text", each.text, QUESTION_LIMIT, True) for n, each in enumerate(history))


def image_violations(image: Image | None) -> list[Violation]:
    """Check an image's size."""
    if image is None:
        return []
    if not image.data:
        return [Violation("image.data", "is empty")]
    if len(image.data) > IMAGE_BYTES_LIMIT:
        return [Violation("image.data", f"has {len(image.data):,} bytes; the limit is {IMAGE_BYTES_LIMIT:,}")]
    return []


def _key(key: str) -> list[Violation]:
    found = key_violation("idempotency_key", key) if key else None
    return [found] if found else []


def _texts(fields: Iterable[tuple[str, str, int, bool]]) -> list[Violation]:
    found = [
        text_violation(name, value, limit=limit, blank_allowed=blank_allowed)
        for name, value, limit, blank_allowed in fields
    ]
    return [each for each in found if each is not None]


def _attached(texts: Sequence[tuple[str, str]]) -> list[Violation]:
    total = sum(len(text) for _, text in texts)
    if total > ATTACHED_LIMIT:
        return [Violation("attached_texts", f"hold {total:,} characters in all; the limit is {ATTACHED_LIMIT:,}")]
    return _texts(
        field
        for n, (name, text) in enumerate(texts)
        for field in (
            (f"attached_texts.{n}.name", name, NAME_LIMIT, True),
            (f"attached_texts.{n}.text", text, ATTACHED_LIMIT, True),
        )
    )


def _numbers(cap: int, temperature: float | None) -> list[Violation]:
    found: list[Violation] = []
    if not 0 <= cap <= MOST_OUTPUT:
        found.append(Violation("max_output_token_count", f"must be 0 (the assistant's own) to {MOST_OUTPUT:,}"))
    if temperature is not None and not 0 <= temperature <= HOTTEST:
        found.append(Violation("temperature", f"must be 0 to {HOTTEST}"))
    return found
