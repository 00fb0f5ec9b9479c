"""`projects/<id>/ai.toml`: what one project says, checked whole, every fault with its file and field."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path  # noqa: TC003 - pydantic reads the annotations
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from ai_server.answering.contract import Assistant, Mode, Project, PromptOverride
from ai_server.connectors import declared
from ai_server.connectors.declared import ConnectorTable  # noqa: TC001 - pydantic reads the annotations
from ai_server.knowledge.contract import KeySpec, ProjectKnowledge, SourceSpec
from ai_server.ledger import declared as declared_budgets
from ai_server.ledger.declared import MOST_BUDGETS, BudgetTable
from ai_server.providers.contract import Thinking
from ai_server.providers.fallback import LONGEST_CHAIN
from ai_server.providers.registry import ModelChoice
from shared import env
from shared.plain_faults import field_fault

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ai_server.connectors.contract import ConnectorSpec

PROJECT_ID: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
PROJECT_FILE: Final = "ai.toml"
PROMPT_FILE: Final = re.compile(
    r"(?P<name>documents|chat|image|summary|service)\.(?P<language>[a-z]{2})(?P<append>\.append)?\.md"
)
LONGEST_PROMPT: Final = 50_000
MOST_CONNECTORS: Final = 20
MOST_OUTPUT: Final = 200_000

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
Language = Annotated[str, Field(pattern=r"^[a-z]{2}$")]
Listed = Annotated[tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Key(_Table):
    required: bool = False
    rights: bool = False
    values: tuple[str, ...] = ()


class _Source(_Table):
    id: Name
    root: Path | None = None
    defaults: dict[str, Listed] = {}
    key_map: dict[str, str] = {}
    managed: bool = False


class _Choice(_Table):
    provider: str
    model: str
    thinking: Thinking = Thinking.LOW

    def domain(self) -> ModelChoice:
        return ModelChoice(self.provider, self.model, self.thinking)


class _Assistant(_Table):
    default: bool = False
    mode: Mode = Mode.DOCUMENTS
    providers: Annotated[tuple[_Choice, ...], Field(min_length=1, max_length=LONGEST_CHAIN - 1)]
    max_output_tokens: Annotated[int, Field(ge=1, le=MOST_OUTPUT)] = 4000
    least_output_tokens: Annotated[int, Field(ge=0, le=MOST_OUTPUT)] = 0
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None


class _Intents(_Table):
    providers: Annotated[tuple[_Choice, ...], Field(min_length=1, max_length=LONGEST_CHAIN - 1)]


class _Project(_Table):
    languages: Annotated[tuple[Language, ...], Field(min_length=1)]
    language_filters: bool = False
    keys: dict[str, _Key] = {}
    sources: tuple[_Source, ...] = ()
    assistants: Annotated[dict[Name, _Assistant], Field(min_length=1)]
    embedding: _Choice
    budgets: Annotated[tuple[BudgetTable, ...], Field(max_length=MOST_BUDGETS)] = ()
    connectors: Annotated[tuple[ConnectorTable, ...], Field(max_length=MOST_CONNECTORS)] = ()
    intents: _Intents | None = None

    @model_validator(mode="after")
    def _hangs_together(self) -> _Project:
        budgets = declared_budgets.faults_in(self.budgets, self.assistants)
        faults = [*self._assistant_faults(), *budgets, *self._source_faults()]
        if faults:
            raise ValueError("; ".join(faults))
        return self

    def _assistant_faults(self) -> list[str]:
        faults: list[str] = []
        if sum(each.default for each in self.assistants.values()) != 1:
            faults.append("exactly one assistant must have `default = true`")
        return faults

    def _source_faults(self) -> list[str]:
        faults: list[str] = []
        names = [each.id for each in self.sources]
        faults += [f"source `{each}` is declared twice" for each in sorted({n for n in names if names.count(n) > 1})]
        for source in self.sources:
            if (source.root is None) is not source.managed:
                faults.append(f"source `{source.id}`: give `root`, or `managed = true` without one")
            for key, values in source.defaults.items():
                spec = self.keys.get(key)
                if spec is None:
                    faults.append(f"source `{source.id}`: the default `{key}` is not a declared key")
                elif spec.values and not set(values) <= set(spec.values):
                    faults.append(f"source `{source.id}`: {key} = {list(values)} is not among {list(spec.values)}")
        return faults


def load_projects(folder: Path, managed_root: Path, faults: list[str]) -> Mapping[str, Project]:
    """Read every project of `folder`; documents of managed sources live below `managed_root`.

    What is wrong is added to `faults`, each with its file and field. A project whose file could be read is given all
    the same, so that what depends on it is checked in the same go.
    """
    files = sorted(folder.glob(f"*/{PROJECT_FILE}")) if folder.is_dir() else []
    if not files:
        faults.append(f"PASSEUR_PROJECTS_DIR: no project (<id>/{PROJECT_FILE}) in {folder}: make one")
    read = [load_project(file, managed_root, faults) for file in files]
    projects = {each.project_id: each for each in read if each is not None}
    faults += [f"{folder}: {each}" for each in declared_budgets.clashes({n: p.budgets for n, p in projects.items()})]
    return projects


def load_project(file: Path, managed_root: Path, faults: list[str]) -> Project | None:
    """Read one project's file and its prompts; None where the file itself is wrong. Faults go to `faults`."""
    project_id = file.parent.name
    if PROJECT_ID.fullmatch(project_id) is None:
        faults.append(f"{file.parent}: a project id is small letters, digits, - and _: rename the folder")
        return None
    try:
        table = _Project.model_validate(tomllib.loads(file.read_text("utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        faults.append(f"{file}: cannot be read as TOML: {exc}")
        return None
    except ValidationError as exc:
        faults += [f"{file}: {field_fault(each)}" for each in exc.errors()]
        return None
    return Project(
        project_id=project_id,
        languages=table.languages,
        knowledge=_knowledge(table, project_id, file.parent, managed_root),
        assistants={
            name: Assistant(
                name=name,
                mode=each.mode,
                chain=tuple(c.domain() for c in each.providers),
                max_output_tokens=each.max_output_tokens,
                temperature=each.temperature,
                least_output_tokens=each.least_output_tokens,
            )
            for name, each in table.assistants.items()
        },
        default_assistant=next(name for name, each in table.assistants.items() if each.default),
        embedding=table.embedding.domain(),
        budgets=tuple(each.domain() for each in table.budgets),
        prompts=_prompts(file.parent / "prompts", faults),
        connectors=_connectors(file, table, faults),
        intent_chain=tuple(each.domain() for each in table.intents.providers) if table.intents else (),
    )


def missing_folders(projects: Iterable[Project]) -> list[str]:
    """Say which declared folders are not there. A server starts without them: a disk may come back."""
    return [
        f"projects/{project.project_id}/{PROJECT_FILE}: source `{source.source_id}`: there is no folder {source.root}"
        for project in projects
        for source in project.knowledge.sources
        if not source.managed and not source.root.is_dir()
    ]


def _connectors(file: Path, table: _Project, faults: list[str]) -> tuple[ConnectorSpec, ...]:
    read = [declared.read(each, file.parent, env.variable) for each in table.connectors]
    specs = tuple(spec for spec, _ in read)
    rights = {name: frozenset(each.values) for name, each in table.keys.items() if each.rights}
    found = [fault for _, own in read for fault in own] + declared.rights_faults(specs, rights)
    faults += [f"{file}: {fault}" for fault in found]
    return specs


def _knowledge(table: _Project, project_id: str, base: Path, managed_root: Path) -> ProjectKnowledge:
    sources = tuple(
        SourceSpec(
            source_id=each.id,
            root=managed_root / project_id / each.id if each.root is None else (base / each.root).resolve(),
            defaults=each.defaults,
            key_map=each.key_map,
            managed=each.managed,
        )
        for each in table.sources
    )
    keys = tuple(KeySpec(name, each.required, frozenset(each.values), each.rights) for name, each in table.keys.items())
    return ProjectKnowledge(project_id, sources, keys, table.languages, table.language_filters)


def _prompts(folder: Path, faults: list[str]) -> Mapping[tuple[str, str], PromptOverride]:
    """Read `<name>.<language>.md` (replaces ours) and `<name>.<language>.append.md` (follows ours)."""
    if not folder.is_dir():
        return {}
    found: dict[tuple[str, str], PromptOverride] = {}
    for file in sorted(folder.iterdir()):
        match = PROMPT_FILE.fullmatch(file.name)
        if match is None:
            faults.append(f"{file}: not a prompt's name (documents.fr.md, documents.fr.append.md, …): rename it")
            continue
        try:
            text = file.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as exc:
            faults.append(f"{file}: cannot be read as UTF-8 text: {exc}")
            continue
        key = (match["name"], match["language"])
        if key in found:
            faults.append(f"{file}: this prompt is both replaced and appended to: keep one file")
        if len(text) > LONGEST_PROMPT:
            faults.append(f"{file}: longer than {LONGEST_PROMPT:,} characters: shorten it")
        found[key] = PromptOverride(text, replaces=match["append"] is None)
    return found
