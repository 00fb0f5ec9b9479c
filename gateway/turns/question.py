"""The question of a turn as stored, so that any gateway can put it again exactly as it was put."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gateway.assistant.contract import HistoryMessage, Question
from gateway.conversation.model import fields_of

if TYPE_CHECKING:
    from collections.abc import Mapping


def to_plain(question: Question) -> Mapping[str, Any]:
    """Write a question as plain data. An image is not kept: the caller stores it apart."""
    plain = {**fields_of(question), "history": [fields_of(each) for each in question.history]}
    del plain["image"]
    return plain


def from_plain(plain: Mapping[str, Any]) -> Question:
    """Read back what `to_plain` wrote."""
    fields = dict(plain)
    fields["history"] = tuple(HistoryMessage(**each) for each in fields["history"])
    fields["contexts"] = tuple({key: tuple(values) for key, values in each.items()} for each in fields["contexts"])
    fields["attached_texts"] = tuple((name, text) for name, text in fields["attached_texts"])
    return Question(**fields)
