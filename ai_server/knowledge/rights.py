"""Who may read what: allowed values for each rights key; keys are joined with AND, contexts with OR.

Deny is the default. A key that either side lacks matches nothing; so does an empty set, or a key that the project
does not declare, because nothing in the index could be checked against it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ai_server.knowledge.contract import KeySpec, RetrievalContext


def rights_keys(keys: Sequence[KeySpec]) -> tuple[str, ...]:
    """Name the declared rights keys, sorted."""
    return tuple(sorted(key.name for key in keys if key.rights))


def usable(contexts: Iterable[RetrievalContext], keys: Sequence[KeySpec]) -> tuple[RetrievalContext, ...]:
    """Keep the contexts that can match anything at all in a project with these keys."""
    declared = {key.name for key in keys}
    needed = set(rights_keys(keys))
    return tuple(
        context for context in contexts if context and needed <= context.keys() <= declared and all(context.values())
    )


def may_read(
    values: Mapping[str, tuple[str, ...]], contexts: Iterable[RetrievalContext], needed: Iterable[str]
) -> bool:
    """Tell whether one of the contexts allows a passage with these metadata values."""
    needed = tuple(needed)
    return any(
        bool(context)
        and all(key in context for key in needed)
        and all(not allowed.isdisjoint(values.get(key, ())) for key, allowed in context.items())
        for context in contexts
    )
