"""From what a host claims about a visitor to what they may read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    Contexts = tuple[Mapping[str, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class Entitlement:
    """Whoever has one of `values` in `claim` may read `contexts`; without a claim, everyone who proved who they are."""

    claim: str
    values: frozenset[str]
    contexts: Contexts


def contexts_for(claims: Mapping[str, Any], entitlements: Sequence[Entitlement], everyone: Contexts) -> Contexts:
    """Join what everyone may read with what the claims entitle to; contexts are alternatives of each other.

    A claim is a string or a list of strings; anything else entitles to nothing.
    """
    found = list(everyone)
    for entitlement in entitlements:
        if not entitlement.claim or not entitlement.values.isdisjoint(_strings(claims.get(entitlement.claim))):
            found += [context for context in entitlement.contexts if context not in found]
    return tuple(found)


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
