"""`[[connectors]]` in a project's `ai.toml`: checked whole, without code for services that are only described."""

from __future__ import annotations

import ipaddress
from pathlib import Path  # noqa: TC003 - pydantic reads the annotations
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from ai_server.connectors import kinds
from ai_server.connectors.client import origin_of
from ai_server.connectors.contract import ConnectorSpec, Endpoint
from ai_server.connectors.openapi import PLACES, HttpEndpoint, faults_in
from shared.text import fold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

VARIABLE_PREFIX: Final = "PASSEUR_CONNECTOR_"
DESCRIPTION_LIMIT: Final = 20 * 1024 * 1024
ENDPOINT_LIMIT: Final = 20
NAMES: Final = MappingProxyType({"jellyfin": "Jellyfin", "nextcloud": "Nextcloud", "github": "GitHub"})

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
Language = Annotated[str, Field(pattern=r"^[a-z]{2}$")]
Listed = Annotated[tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]
Text = Annotated[str, Field(max_length=500)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class EndpointTable(_Table):
    """One endpoint: its words for every type, and for `openapi` how it is asked and read."""

    name: Name
    holds: dict[Language, Text] = {}
    hints: tuple[Text, ...] = ()
    examples: tuple[Text, ...] = ()
    path: str = ""
    query: dict[str, str] = {}
    wide: dict[str, str] = {}
    items: str = ""
    title: str = ""
    link: str = ""
    date: str = ""
    snippet: str = ""

    def http(self) -> HttpEndpoint:
        """Give the part that `openapi` needs."""
        return HttpEndpoint(
            self.path, self.query, self.wide, self.items, self.title, self.link, self.date, self.snippet
        )

    def domain(self, known: Endpoint | None) -> Endpoint:
        """Lay the declared words over those that the type brings."""
        kinds_held = [] if known else [part.strip() for text in self.holds.values() for part in text.split(",")]
        hints = {fold(word): {} for word in (*self.hints, *(kind for kind in kinds_held if " " not in kind)) if word}
        return Endpoint(
            self.name,
            MappingProxyType({**(known.holds if known else {}), **self.holds}),
            MappingProxyType({**(known.hints if known else {}), **hints}),
            (*(known.examples if known else ()), *self.examples),
            known.kept if known else frozenset(),
        )


class ConnectorTable(_Table):
    """One instance of a live system."""

    type: Literal["jellyfin", "nextcloud", "github", "openapi"]
    instance: Name
    name: Text = ""
    url: str
    user: str = ""
    secret_env: str = ""
    rights: dict[str, Listed] = {}
    networks: tuple[str, ...] = ()
    timeout_s: Annotated[float, Field(gt=0, le=30)] = 8.0
    scope: Text = ""
    provider: Name = "files"
    auth: str = "bearer"
    description: Path | None = None
    endpoints: Annotated[tuple[EndpointTable, ...], Field(max_length=ENDPOINT_LIMIT)] = ()

    @field_validator("url")
    @classmethod
    def _is_origin(cls, value: str) -> str:
        origin_of(value)
        return value

    @field_validator("networks")
    @classmethod
    def _are_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            ipaddress.ip_network(text)
        return value

    @field_validator("secret_env")
    @classmethod
    def _is_ours(cls, value: str) -> str:
        if value and not value.startswith(VARIABLE_PREFIX):
            raise ValueError(f"names a variable that begins with {VARIABLE_PREFIX}")
        return value

    @field_validator("auth")
    @classmethod
    def _is_known(cls, value: str) -> str:
        if value not in {"bearer", "basic"} and not value.removeprefix("header:").replace("-", "").isalnum():
            raise ValueError("is `bearer`, `basic` or `header:NAME`")
        return value

    @model_validator(mode="after")
    def _hangs_together(self) -> ConnectorTable:
        faults = [*self._endpoint_faults()]
        if self.type == "openapi" and not self.name:
            faults.append("`name` says what people call it")
        if self.scope and self.type != "github":
            faults.append("`scope` goes with type `github`")
        if faults:
            raise ValueError("; ".join(faults))
        return self

    def _endpoint_faults(self) -> list[str]:
        names = [each.name for each in self.endpoints]
        faults = [f"endpoint {name} is declared twice" for name in sorted({n for n in names if names.count(n) > 1})]
        if self.type != "openapi":
            known = {each.name for each in kinds.KNOWN[self.type]}
            return faults + [f"endpoint {name} is not one of {sorted(known)}" for name in names if name not in known]
        if not names:
            faults.append("an `openapi` connector needs at least one endpoint")
        for each in self.endpoints:
            faults += [
                f"endpoint {each.name}: needs `{field}`" for field in ("path", "title") if not getattr(each, field)
            ]
            used = {*each.query.values(), *each.wide.values(), each.path}
            if not any("{terms}" in template for template in used):
                faults.append(f"endpoint {each.name}: puts {{terms}} nowhere (known places: {sorted(PLACES)})")
            if not each.holds:
                faults.append(f"endpoint {each.name}: `holds` says by language what is found there")
        return faults


def read(table: ConnectorTable, base: Path, secret: Callable[[str], str]) -> tuple[ConnectorSpec, list[str]]:
    """Make the instance of a checked table; returns it with what is still wrong (secret not set, description).

    `base` is the project's folder; `secret` reads one environment variable, empty when it is not set.
    """
    known = {each.name: each for each in kinds.KNOWN.get(table.type, ())}
    declared = {each.name: each for each in table.endpoints}
    own = tuple(declared[name].domain(each) if name in declared else each for name, each in known.items())
    value = secret(table.secret_env) if table.secret_env else ""
    faults = [f"{table.secret_env} is not set"] if table.secret_env and not value else []
    if not value.isprintable() or '"' in value:
        faults.append(f"{table.secret_env} holds a character that no credential has")
    if table.description is not None:
        faults += _description_faults(base / table.description, table.endpoints)
    spec = ConnectorSpec(
        connector=table.type,
        instance=table.instance,
        name=table.name or NAMES[table.type],
        url=table.url,
        endpoints=own or tuple(each.domain(None) for each in table.endpoints),
        rights=MappingProxyType(dict(table.rights)),
        networks=tuple(ipaddress.ip_network(text) for text in table.networks),
        secret=value,
        user=table.user,
        timeout_s=table.timeout_s,
        options={
            "scope": table.scope,
            "provider": table.provider,
            "auth": table.auth,
            "http": {each.name: each.http() for each in table.endpoints} if table.type == "openapi" else {},
        },
    )
    return spec, [f"connector {spec.key}: {fault}" for fault in faults]


def rights_faults(specs: Sequence[ConnectorSpec], keys: Mapping[str, frozenset[str]]) -> list[str]:
    """Say which instances nobody could search: `keys` are the project's rights keys with their allowed values."""
    faults = [f"connector {key} is declared twice" for key in _twice(spec.key for spec in specs)]
    for spec in specs:
        faults += [
            f"connector {spec.key}: `rights` needs the rights key {key}" for key in keys if not spec.rights.get(key)
        ]
        for key, values in spec.rights.items():
            if key not in keys:
                faults.append(f"connector {spec.key}: {key} is not a rights key")
            elif keys[key] and not set(values) <= keys[key]:
                faults.append(f"connector {spec.key}: {key} = {list(values)} is not among {sorted(keys[key])}")
    return faults


def _twice(names: Iterable[str]) -> list[str]:
    seen: list[str] = list(names)
    return sorted({name for name in seen if seen.count(name) > 1})


def _description_faults(file: Path, endpoints: Sequence[EndpointTable]) -> list[str]:
    try:
        if file.stat().st_size > DESCRIPTION_LIMIT:
            return [f"description: {file} is larger than {DESCRIPTION_LIMIT // 1024 // 1024} MiB"]
        # JSON is YAML, so one reader does for both.
        description: Any = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as fault:
        return [f"description: {file} cannot be read: {fault}"]
    if not isinstance(description, dict):
        return [f"description: {file} is no OpenAPI document"]
    return [fault for each in endpoints for fault in faults_in(description, each.name, each.http())]
