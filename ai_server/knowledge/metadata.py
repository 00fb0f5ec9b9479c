"""What a document says of itself, after defaults, folder files, front matter, key maps and declarations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ai_server.knowledge.loaders.model import Rejected

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ai_server.knowledge.contract import KeySpec

FOLDER_FILES: Final = ("_metadata.yaml", "_metadata.yml", "_metadata.toml")
"""Names of the files that give metadata to every document in their folder and below."""
LANGUAGE: Final = "language"
CHATBOT_ONLY: Final = "chatbot_only"
_OWN_KEYS: Final = frozenset({"title", "url", LANGUAGE, CHATBOT_ONLY})
"""Keys with a meaning of their own, which a project need not declare."""


@dataclass(frozen=True, slots=True)
class Described:
    """Validated metadata. Undeclared keys are kept and named; they filter nothing."""

    values: Mapping[str, tuple[str, ...]]
    undeclared_keys: tuple[str, ...]


def merge(layers: Sequence[Mapping[str, tuple[str, ...]]], key_map: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Lay later values over earlier ones, key by key, after renaming keys by `key_map`."""
    merged: dict[str, tuple[str, ...]] = {}
    for layer in layers:
        merged.update({key_map.get(key, key): values for key, values in layer.items()})
    return merged


def validate(values: Mapping[str, tuple[str, ...]], keys: Sequence[KeySpec]) -> Described:
    """Check values against what the project declares.

    Raises:
        Rejected: every required key that is missing and every undeclared value, named at once.
    """
    faults = [fault for key in keys for fault in _faults(key, values.get(key.name, ()))]
    if faults:
        raise Rejected("; ".join(faults))
    return Described(dict(values), tuple(sorted(name for name in values if undeclared(name, keys))))


def undeclared(name: str, keys: Sequence[KeySpec]) -> bool:
    """Whether a key neither is declared nor has a meaning of its own."""
    return name not in _OWN_KEYS and all(key.name != name for key in keys)


def _faults(key: KeySpec, values: tuple[str, ...]) -> list[str]:
    if not values:
        return [f"`{key.name}` is required and missing: add it"] if key.required else []
    if not key.values:
        return []
    allowed = ", ".join(sorted(key.values))
    return [
        f"`{key.name}` is `{value}`, which is not declared: use one of {allowed}"
        for value in values
        if value not in key.values
    ]
