"""`[[budgets]]` in a project's `ai.toml`: the budgets that are made when they are missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from ai_server.ledger.model import BudgetSeed
from ai_server.storage.ledger_contract import Period, ScopeKind
from ai_server.storage.windows import zone
from shared.errors import InvalidRequest
from shared.money import parse_usd

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

MOST_BUDGETS: Final = 100
"""Budgets that one file may seed; users' own copies of a template do not count."""


class BudgetTable(BaseModel):
    """One budget. `global` covers every project of the installation; `user` without a name is a template."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scope: Literal["global", "project", "user", "assistant"]
    assistant: str = ""
    user: str = ""
    period: Period
    limit_usd: str
    time_zone: str = "UTC"
    alert_share: Annotated[float, Field(ge=0, le=1)] = 0.8

    @field_validator("limit_usd")
    @classmethod
    def _is_money(cls, value: str) -> str:
        parse_usd(value)
        return value

    @field_validator("time_zone")
    @classmethod
    def _is_zone(cls, value: str) -> str:
        try:
            zone(value)
        except InvalidRequest as exc:
            raise ValueError(f"{value!r} is not an IANA time zone such as Europe/Paris") from exc
        return value

    def domain(self) -> BudgetSeed:
        """Give what the ledger seeds from."""
        return BudgetSeed(
            ScopeKind(self.scope),
            self.period,
            parse_usd(self.limit_usd),
            self.time_zone,
            self.alert_share,
            assistant=self.assistant,
            user=self.user,
        )


def faults_in(tables: Sequence[BudgetTable], assistants: Collection[str]) -> list[str]:
    """Name what does not hang together in one project's budgets."""
    faults: list[str] = []
    seen: set[tuple[str, str, str, Period]] = set()
    for number, each in enumerate(tables):
        where = f"budgets.{number}"
        identity = (each.scope, each.assistant, each.user, each.period)
        if (each.scope == "assistant") != bool(each.assistant):
            faults.append(f"{where}: `assistant` goes with scope `assistant`, and only with it")
        elif each.user and each.scope != "user":
            faults.append(f"{where}: `user` goes with scope `user` only")
        elif each.assistant and each.assistant not in assistants:
            faults.append(f"{where}: there is no assistant `{each.assistant}`")
        elif identity in seen:
            faults.append(f"{where}: there is such a {each.period} budget already: keep one")
        seen.add(identity)
    return faults


def clashes(seeds: Mapping[str, Sequence[BudgetSeed]]) -> list[str]:
    """Name global budgets that projects (the keys) seed unlike each other: only one could come true."""
    first: dict[Period, tuple[str, BudgetSeed]] = {}
    faults: list[str] = []
    for project_id, each in ((name, seed) for name, budgets in seeds.items() for seed in budgets):
        if each.kind is ScopeKind.GLOBAL:
            other, seed = first.setdefault(each.period, (project_id, each))
            if seed != each:
                faults.append(
                    f"the projects {other} and {project_id} seed the {each.period} global budget unlike each other: "
                    "keep one of the two [[budgets]]"
                )
    return faults
