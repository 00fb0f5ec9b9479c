"""Settings of the gateway: `PASSEUR_GATEWAY_*`, read once, frozen; every fault is collected before anything fails."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from gateway.identity.projects import Project, Projects
from gateway.identity.projects_file import read_projects
from shared import env
from shared.addresses import is_loopback, split_address
from shared.errors import SettingsError
from shared.plain_faults import variable_fault

if TYPE_CHECKING:
    from collections.abc import Mapping
    from ipaddress import IPv4Network, IPv6Network

MAY_BE_EMPTY: Final = frozenset({"metrics_address"})
"""Settings that an empty variable switches off; elsewhere an empty variable counts as unset."""

PREFIX: Final = "PASSEUR_GATEWAY_"
LONGEST_GRACE_S: Final = 600.0
MOST: Final = 1_000_000
UNIX: Final = "unix:"
DATABASE_SCHEMES: Final = ("postgresql", "postgres")
REDIS_SCHEMES: Final = ("redis", "rediss")
LOOPBACK_NAMES: Final = ("localhost", "127.0.0.1", "::1")


class GatewaySettings(BaseSettings):
    """Each field is the variable `PASSEUR_GATEWAY_<NAME>`."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid")

    address: str = "127.0.0.1:8080"
    """Where HTTP listens: `host:port`. TLS is the business of a reverse proxy."""

    metrics_address: str = "127.0.0.1:9180"
    """Where Prometheus metrics are served (`host:port`), loopback only; empty: nowhere."""

    hosts: str = ""
    """Host names under which browsers reach us, separated by commas, besides the loopback names and our own address.
    A request for another Host is refused: that is what DNS rebinding looks like."""

    trusted_proxies: str = ""
    """Networks of reverse proxies whose X-Forwarded-For is believed, separated by commas: `10.0.0.0/8`."""

    ai_address: str = "127.0.0.1:8106"
    """Where the AI server listens: `host:port`, or `unix:/path/to/socket`."""

    ai_token: SecretStr | None = None
    """The client token for the AI server; `ai_token_file` is read when it is unset."""

    ai_token_file: Path | None = None
    """Where the client token is; `<data>/gateway/ai.token` when unset."""

    ai_tls_ca: Path | None = None
    """The authority of the AI server's certificate, PEM; needed when it is not on this machine, with the next two."""

    ai_tls_certificate: Path | None = None
    """Our certificate for the AI server, PEM."""

    ai_tls_key: Path | None = None
    """Its private key, PEM."""

    database_url: SecretStr | None = None
    """`postgresql://user:password@host/name` where several gateways share one database; unset: a SQLite file in the
    data folder, for one gateway. Those that share it need one folder for `attachments/` too."""

    database_connections: int = Field(default=10, ge=2, le=200)
    """Connections to PostgreSQL that one gateway may have, and so transactions at the same time."""

    redis_url: SecretStr | None = None
    """`redis://…` or `rediss://…` (TLS) by which gateways that share a database tell each other at once; unset, they
    look into the database every second, and text in progress is seen through the gateway that runs the turn only."""

    redis_prefix: str = Field(default="passeur", pattern=r"^[A-Za-z0-9_.:-]{1,64}$")
    """What our names in Redis begin with; another for each installation that shares it."""

    grace_s: float = Field(default=20.0, ge=0, le=LONGEST_GRACE_S)
    """Seconds that running turns may take to finish after SIGTERM. The others are taken up at the next start: whole
    where the AI server went on meanwhile; where it was stopped too, what was written stands, marked as cut off."""

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """Least level that is logged."""

    requests_per_minute: int = Field(default=600, ge=1, le=MOST)
    """Requests that one address may make; a fifth of it at once."""

    sessions_per_minute: int = Field(default=30, ge=1, le=MOST)
    """Sessions that one address may open."""

    messages_per_minute: int = Field(default=20, ge=1, le=MOST)
    """Messages that one visitor may send; half of it at once."""

    streams_per_visitor: int = Field(default=20, ge=1, le=1000)
    """Event streams that one visitor may hold open at the same time."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - pydantic's hook
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Take only what `read` hands in: `shared.env` alone looks at the environment."""
        return (init_settings,)


@dataclass(frozen=True, slots=True)
class Installation:
    """Everything that the environment and the project files say."""

    settings: GatewaySettings
    data_dir: Path
    projects: Projects
    hosts: frozenset[str]
    trusted_proxies: tuple[IPv4Network | IPv6Network, ...]

    @property
    def own_dir(self) -> Path:
        """The gateway's part of the data folder."""
        return self.data_dir / "gateway"

    @property
    def ai_token_file(self) -> Path:
        """Where the AI server's client token is."""
        return self.settings.ai_token_file or self.own_dir / "ai.token"


def names() -> list[str]:
    """Every variable of the gateway."""
    return [f"{PREFIX}{each.upper()}" for each in GatewaySettings.model_fields]


def projects_folder() -> Path:
    """`PASSEUR_PROJECTS_DIR`, `./projects` when it is not set."""
    return Path(env.variable("PASSEUR_PROJECTS_DIR", "projects"))


def own_dir() -> Path:
    """The gateway's part of the data folder of the environment."""
    return env.data_dir() / "gateway"


def read(
    variables: Mapping[str, str] | None = None, *, data_dir: Path | None = None, projects_dir: Path | None = None
) -> Installation:
    """Read the environment (or `variables`, without their prefix and in lower case, in its place).

    Raises:
        SettingsError: every variable and every project file that is wrong.
    """
    given = dict(env.with_prefix(PREFIX) if variables is None else variables)
    faults: list[str] = env.mistyped(names()) if variables is None else []
    settings = _settings({name: value for name, value in given.items() if value or name in MAY_BE_EMPTY}, faults)
    projects: list[Project] = list(read_projects(projects_dir or projects_folder(), faults))
    proxies = _networks(settings.trusted_proxies, faults)
    host = _host(settings.address, "ADDRESS", faults)
    if settings.metrics_address and not is_loopback(_host(settings.metrics_address, "METRICS_ADDRESS", faults) or ""):
        faults.append(f"{PREFIX}METRICS_ADDRESS: {settings.metrics_address} is not loopback; metrics carry no login")
    faults += _tls_faults(settings)
    faults += _shared_faults(settings)
    if faults:
        raise SettingsError(faults)
    hosts = {name.strip() for name in settings.hosts.split(",") if name.strip()}
    return Installation(
        settings,
        data_dir or env.data_dir(),
        Projects(projects),
        frozenset({*LOOPBACK_NAMES, host or "", *hosts}),
        proxies,
    )


def _settings(given: Mapping[str, str], faults: list[str]) -> GatewaySettings:
    try:
        return GatewaySettings(**given)  # pyright: ignore[reportArgumentType]  # pydantic reads the text
    except ValidationError as error:
        found = error.errors()
        faults.extend(variable_fault(PREFIX, each) for each in found)
        wrong = {str(each["loc"][0]) for each in found}
        # The rest is read without the wrong ones, so that its faults are told at the same time.
        return GatewaySettings(**{name: value for name, value in given.items() if name not in wrong})  # pyright: ignore[reportArgumentType]


def _host(address: str, name: str, faults: list[str]) -> str | None:
    try:
        return split_address(address)[0]
    except ValueError as error:
        faults.append(f"{PREFIX}{name}: {error}")
        return None


def _tls_faults(settings: GatewaySettings) -> list[str]:
    files = {
        "AI_TLS_CA": settings.ai_tls_ca,
        "AI_TLS_CERTIFICATE": settings.ai_tls_certificate,
        "AI_TLS_KEY": settings.ai_tls_key,
    }
    given = [path for path in files.values() if path is not None]
    if not given:
        local = settings.ai_address.startswith(UNIX) or is_loopback(settings.ai_address.rpartition(":")[0].strip("[]"))
        needed = "set the three PASSEUR_GATEWAY_AI_TLS_* files, or use a unix socket"
        return [] if local else [f"{PREFIX}AI_ADDRESS: {settings.ai_address} is not on this machine: {needed}"]
    faults = [f"{PREFIX}{name}: set it too; the three go together" for name, path in files.items() if path is None]
    unreadable = [(name, path) for name, path in files.items() if path is not None and not path.is_file()]
    return faults + [f"{PREFIX}{name}: {path} is not a readable file" for name, path in unreadable]


def _shared_faults(settings: GatewaySettings) -> list[str]:
    """Check what several gateways share."""
    faults: list[str] = []
    database, redis = settings.database_url, settings.redis_url
    if database is not None and database.get_secret_value().partition("://")[0] not in DATABASE_SCHEMES:
        faults.append(f"{PREFIX}DATABASE_URL: must begin with postgresql://; leave it unset for SQLite")
    if database is not None and find_spec("asyncpg") is None:
        faults.append(f"{PREFIX}DATABASE_URL: PostgreSQL needs asyncpg: pip install '.[postgres]' in Passeur's folder")
    if redis is not None and redis.get_secret_value().partition("://")[0] not in REDIS_SCHEMES:
        faults.append(f"{PREFIX}REDIS_URL: must begin with redis:// or rediss://")
    if redis is not None and find_spec("redis") is None:
        faults.append(f"{PREFIX}REDIS_URL: Redis needs its client: pip install '.[redis]' in Passeur's folder")
    if redis is not None and database is None:
        faults.append(f"{PREFIX}REDIS_URL: is of use only to gateways that share a database: set DATABASE_URL too")
    return faults


def _networks(text: str, faults: list[str]) -> tuple[IPv4Network | IPv6Network, ...]:
    networks: list[IPv4Network | IPv6Network] = []
    for part in (each.strip() for each in text.split(",")):
        try:
            if part:
                networks.append(ipaddress.ip_network(part))
        except ValueError as error:
            faults.append(f"{PREFIX}TRUSTED_PROXIES: {error}")
    return tuple(networks)
