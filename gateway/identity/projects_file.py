"""Reads `projects/<id>/gateway.toml`, telling every fault at once."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from gateway.conversation.texts import CATALOGUES
from gateway.identity.host_file import EntitlementFile, HostFile, entitlements, host_identity
from gateway.identity.projects import Project, PublicKey
from shared.plain_faults import field_fault

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from gateway.identity.proofs import HostIdentity

FILE_NAME: Final = "gateway.toml"
AI_FILE_NAME: Final = "ai.toml"
PROJECT_ID: Final = re.compile(r"[a-z0-9_-]{1,64}", re.ASCII)
Origin = Annotated[str, StringConstraints(pattern=r"^https?://[^/\s@?#]+$", to_lower=True)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=100)]
Greeting = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class _PublicKeyFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    key: Annotated[str, StringConstraints(pattern=r"^pk_[A-Za-z0-9_-]{1,60}$")]
    allowed_origins: list[Origin] = Field(default_factory=list)


class _ProjectFile(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: Name
    languages: list[str] = Field(min_length=1)
    default_language: str
    greeting: dict[str, Greeting] = Field(default_factory=dict)
    """By language: what an empty conversation begins with."""
    expose_model: bool = False
    expose_cost: bool = False
    public_keys: list[_PublicKeyFile] = Field(min_length=1)
    anonymous_contexts: list[dict[str, list[str]]] = Field(default_factory=list)
    host: HostFile = Field(default_factory=HostFile)
    entitlements: list[EntitlementFile] = Field(default_factory=list)


def read_projects(folder: Path, faults: list[str]) -> Sequence[Project]:
    """Read every project below `folder`; what is wrong is added to `faults`, one sentence each."""
    paths = sorted(folder.glob(f"*/{FILE_NAME}"))
    if not paths:
        faults.append(f"PASSEUR_PROJECTS_DIR: {folder} holds no <project>/{FILE_NAME}: name another folder")
    projects = [project for path in paths if (project := _read(path, faults)) is not None]
    seen: dict[str, str] = {}
    for project in projects:
        for key in project.public_keys:
            if key.key in seen:
                faults.append(f"public key {key.key} is in both {seen[key.key]} and {project.id}: change one")
            seen[key.key] = project.id
    return projects


def _read(path: Path, faults: list[str]) -> Project | None:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        parsed = _ProjectFile.model_validate(data)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        faults.append(f"{path}: cannot be read: {exc}")
        return None
    except ValidationError as exc:
        faults.extend(f"{path}: {field_fault(each)}" for each in exc.errors())
        return None
    if PROJECT_ID.fullmatch(path.parent.name) is None:
        faults.append(f"{path}: a project's folder is named with 1 to 64 of a-z, 0-9, _ and -")
    unknown = [language for language in parsed.languages if language not in CATALOGUES]
    if unknown:
        faults.append(f"{path}: languages: {', '.join(unknown)} not among {', '.join(sorted(CATALOGUES))}")
    if parsed.default_language not in parsed.languages:
        faults.append(f"{path}: default_language: {parsed.default_language} is not in languages")
    unspoken = [language for language in parsed.greeting if language not in parsed.languages]
    if unspoken:
        faults.append(f"{path}: greeting: {', '.join(unspoken)} not among the project's languages")
    return _project(path.parent.name, parsed, host_identity(parsed.host, path.parent, faults))


def _project(project_id: str, parsed: _ProjectFile, host: HostIdentity) -> Project:
    return Project(
        id=project_id,
        name=parsed.name,
        languages=tuple(parsed.languages),
        default_language=parsed.default_language,
        public_keys=tuple(PublicKey(each.key, frozenset(each.allowed_origins)) for each in parsed.public_keys),
        anonymous_contexts=tuple(_context(each) for each in parsed.anonymous_contexts),
        host=host,
        entitlements=entitlements(parsed.entitlements),
        expose_model=parsed.expose_model,
        expose_cost=parsed.expose_cost,
        greeting=parsed.greeting,
    )


def _context(allowed: Mapping[str, list[str]]) -> Mapping[str, tuple[str, ...]]:
    return {key: tuple(values) for key, values in allowed.items()}


def disagreements(folder: Path) -> list[str]:
    """Say where a project's two files do not fit together: rights that no document can have, languages.

    For an operator who asks; a gateway that serves reads its own file alone. Files that are wrong in themselves are
    told elsewhere.
    """
    faults: list[str] = []
    for path in sorted(folder.glob(f"*/{FILE_NAME}")):
        try:
            ours = tomllib.loads(path.read_text(encoding="utf-8"))
            theirs = tomllib.loads(path.with_name(AI_FILE_NAME).read_text(encoding="utf-8"))
            faults += [f"{path}: {fault}" for fault in _disagreements(ours, theirs)]
        except (OSError, ValueError, TypeError, AttributeError, KeyError):
            continue
    return faults


def _disagreements(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    declared = {name: each.get("values", ()) for name, each in theirs.get("keys", {}).items()}
    rights = {name for name, each in theirs.get("keys", {}).items() if each.get("rights")}
    contexts = [("anonymous_contexts", each) for each in ours.get("anonymous_contexts", ())]
    contexts += [("entitlements", each) for rule in ours.get("entitlements", ()) for each in rule.get("contexts", ())]
    faults: list[str] = []
    for where, context in contexts:
        for key, values in context.items():
            if key not in declared:
                known = ", ".join(sorted(declared)) or "none"
                faults.append(
                    f"{where}: `{key}` is not a key of {AI_FILE_NAME} ({known}): such a context opens nothing"
                )
                continue
            wrong = [each for each in values if declared[key] and each not in declared[key]]
            allowed = ", ".join(declared[key])
            faults += [f"{where}: {key} = `{each}` is not among {allowed} of {AI_FILE_NAME}" for each in wrong]
        lacking = sorted(rights - context.keys())
        faults += [
            f"{where}: names no value for the rights key `{key}`: such a context opens nothing" for key in lacking
        ]
    unspoken = [each for each in ours.get("languages", ()) if each not in theirs.get("languages", ())]
    if unspoken:
        faults.append(f"languages: {', '.join(unspoken)} not among the languages of {AI_FILE_NAME}")
    unknown = [each for each in theirs.get("languages", ()) if each not in CATALOGUES]
    if unknown:
        spoken = ", ".join(sorted(CATALOGUES))
        faults.append(f"{AI_FILE_NAME}: languages: visitors' pages do not speak {', '.join(unknown)}, only {spoken}")
    return faults
