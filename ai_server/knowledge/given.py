"""A folder that is given with a sync and that no settings declare: which source it is, checked before it counts."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final

from ai_server.knowledge.contract import SourceSpec
from ai_server.knowledge.metadata import merge, undeclared
from shared.errors import InvalidRequest, Violation
from shared.text import fold

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from ai_server.knowledge.contract import ProjectKnowledge

SOURCE_ID: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
KEY_MAP: Final = {"lang": "language"}
"""Renames in such a folder: `lang` is what most front matter calls it."""


async def given(
    project: ProjectKnowledge,
    remembered: Sequence[SourceSpec],
    *,
    source_id: str,
    root: Path,
    defaults: Mapping[str, tuple[str, ...]],
) -> SourceSpec:
    """Make the source of a folder; nothing is kept or changed yet.

    Args:
        project: what the settings say.
        remembered: the folders that came before.
        source_id: its name; empty: that of the source which has this folder, else one made of the folder's name.
        root: absolute.
        defaults: metadata of all its documents; none: those that this folder came with before.

    Raises:
        InvalidRequest: no folder is there, its name belongs to another one, or a default is not declared.
    """
    if not await asyncio.to_thread(root.is_dir):
        raise InvalidRequest.of("root", f"`{root}` is missing or not a folder: check the path; nothing was changed")
    root = await asyncio.to_thread(root.resolve)
    named = source_id or _name_of(root, remembered)
    if SOURCE_ID.fullmatch(named) is None:
        raise InvalidRequest.of("source_id", "must be small letters, digits, - and _, at most 63: name it (`--source`)")
    _check_declared(project, named, root)
    known = next((each for each in remembered if each.source_id == named), None)
    if known is not None and known.root != root and not source_id:
        raise InvalidRequest.of(
            "source_id",
            f"source `{named}` is the folder {known.root} already: give this one a name of its own with "
            f"`--source NAME` (with make `SOURCE=NAME`); `--source {named}` would replace it",
        )
    if not defaults and known is not None and known.root == root:
        return SourceSpec(named, root, known.defaults, known.key_map)
    _check_defaults(project, defaults)
    return SourceSpec(named, root, defaults, KEY_MAP)


def _name_of(root: Path, remembered: Sequence[SourceSpec]) -> str:
    for each in remembered:
        if each.root == root:
            return each.source_id
    return re.sub(r"[^a-z0-9_-]+", "-", fold(root.name)).strip("-_")[:63]


def _check_declared(project: ProjectKnowledge, named: str, root: Path) -> None:
    declared = next((each for each in project.sources if each.source_id == named), None)
    if declared is None:
        return
    if declared.root == root:
        raise InvalidRequest.of("root", f"source `{named}` is declared in the settings: sync it without a folder")
    where = "takes documents by Upsert" if declared.managed else f"is the folder {declared.root}"
    raise InvalidRequest.of(
        "source_id",
        f"source `{named}` is declared in the settings and {where}: give this folder a name of its own with "
        "`--source NAME`",
    )


def _check_defaults(project: ProjectKnowledge, defaults: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse what would get every document rejected, or what nothing could be filtered by."""
    allowed = {key.name: key.values for key in project.keys}
    faults: list[Violation] = []
    for key, values in merge([defaults], KEY_MAP).items():
        if undeclared(key, project.keys):
            declared = ", ".join(sorted(allowed))
            faults.append(Violation(f"defaults.{key}", f"is not a declared key: use one of {declared}, or declare it"))
        wrong = [each for each in values if allowed.get(key) and each not in allowed[key]]
        for value in wrong:
            choices = ", ".join(sorted(allowed[key]))
            faults.append(Violation(f"defaults.{key}", f"`{value}` is not declared: use one of {choices}"))
    if faults:
        raise InvalidRequest(faults)
