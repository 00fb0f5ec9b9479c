"""Settings of the AI server: `PASSEUR_AI_*`, read once, frozen; every fault is collected before anything fails."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from ai_server.providers import registry
from shared import env
from shared.addresses import is_loopback, split_address
from shared.errors import SettingsError
from shared.plain_faults import variable_fault

if TYPE_CHECKING:
    from collections.abc import Mapping

MAY_BE_EMPTY: Final = frozenset({"metrics_address"})
"""Settings that an empty variable switches off; elsewhere an empty variable counts as unset."""

PREFIX: Final = "PASSEUR_AI_"
UNIX: Final = "unix:"
LONGEST_GRACE_S: Final = 600.0
STATE_SCHEMES: Final = ("postgresql", "postgres")


class AiSettings(BaseSettings):
    """Each field is the variable `PASSEUR_AI_<NAME>`."""

    model_config = SettingsConfigDict(frozen=True, extra="forbid")

    address: str = "127.0.0.1:8106"
    """Where gRPC listens: `host:port`, or `unix:/path/to/socket`. Other than loopback needs the three TLS files."""

    metrics_address: str = "127.0.0.1:9106"
    """Where Prometheus metrics are served (`host:port`), loopback only; empty: nowhere."""

    tls_certificate: Path | None = None
    """Our certificate chain, PEM."""

    tls_key: Path | None = None
    """Its private key, PEM."""

    tls_client_ca: Path | None = None
    """The authority that callers' certificates must come from, PEM: mutual TLS."""

    grace_s: float = Field(default=20.0, ge=0, le=LONGEST_GRACE_S)
    """Seconds that running turns may take to finish after SIGTERM. Longer ones end there, marked as cut off."""

    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    """Least level that is logged."""

    state_url: SecretStr | None = None
    """`postgresql://user:password@host/name` where several AI servers share one ledger; unset: a SQLite file in the
    data folder, for one process.
    """

    chroma_url: str = ""
    """`http://host:port` of a Chroma server, `https://api.trychroma.com` for Chroma Cloud; empty: Chroma in a child
    process of this one, in the data folder. A bare server asks nobody who they are: keep it where only we reach it.
    """

    chroma_token: SecretStr | None = None
    """Sent as `X-Chroma-Token`: the key of Chroma Cloud, or what a proxy in front of the server checks."""

    chroma_tenant: str = "default_tenant"
    """Tenant on the Chroma server."""

    chroma_database: str = "default_database"
    """Database on the Chroma server. Installations that share a server need one each."""

    token_file: Path | None = None
    """Where operator commands find their token; `<data>/ai/operator.token` when unset."""

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


def _state_faults(settings: AiSettings) -> list[str]:
    if settings.state_url is None:
        return []
    scheme = settings.state_url.get_secret_value().partition("://")[0]
    if scheme not in STATE_SCHEMES:
        return [f"{PREFIX}STATE_URL: must begin with postgresql://; leave it unset for SQLite"]
    if find_spec("asyncpg") is None:
        return [f"{PREFIX}STATE_URL: PostgreSQL needs asyncpg: pip install '.[postgres]' in Passeur's folder"]
    return []


def _chroma_faults(settings: AiSettings) -> list[str]:
    if not settings.chroma_url:
        return [f"{PREFIX}CHROMA_TOKEN: there is no CHROMA_URL to send it to"] if settings.chroma_token else []
    parts = urlsplit(settings.chroma_url)
    try:
        well = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        well = False
    if not well or parts.path.strip("/") or parts.query or parts.username:
        return [f"{PREFIX}CHROMA_URL: must be http://host:port or https://host, and nothing more"]
    if settings.chroma_token and parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        return [f"{PREFIX}CHROMA_URL: the token would cross the network in the clear: use https"]
    return []


def read(variables: Mapping[str, str] | None = None) -> AiSettings:
    """Read the environment (or `variables`, without their prefix and in lower case, in its place).

    Raises:
        SettingsError: every variable that is unknown or wrong.
    """
    given = dict(env.with_prefix(PREFIX) if variables is None else variables)
    for name, entry in registry.ENTRIES.items():
        _take_options(name, entry, given)
    strangers = env.mistyped(names()) if variables is None else []
    settings, wrong = _settings({name: value for name, value in given.items() if value or name in MAY_BE_EMPTY})
    faults = [
        *strangers,
        *wrong,
        *_address_faults(settings),
        *_metrics_faults(settings),
        *_tls_faults(settings),
        *_state_faults(settings),
        *_chroma_faults(settings),
    ]
    if faults:
        raise SettingsError(faults)
    return settings


def _settings(given: Mapping[str, str]) -> tuple[AiSettings, list[str]]:
    """Read what is right, so that the faults of the rest are told at the same time; gives what is wrong too."""
    try:
        return AiSettings(**given), []  # pyright: ignore[reportArgumentType]  # pydantic reads the text
    except ValidationError as error:
        found = error.errors()
        wrong = {str(each["loc"][0]) for each in found}
        right = {name: value for name, value in given.items() if name not in wrong}
        return AiSettings(**right), [variable_fault(PREFIX, each) for each in found]  # pyright: ignore[reportArgumentType]


def names() -> list[str]:
    """Every variable of the AI server, those of the providers included."""
    options = [
        f"{name}_{option}" for name, entry in registry.ENTRIES.items() for option in (*entry.options, *entry.secrets)
    ]
    return [f"{PREFIX}{each.upper()}" for each in (*AiSettings.model_fields, *options)]


def own_dir() -> Path:
    """The AI server's part of the data folder."""
    return env.data_dir() / "ai"


def projects_dir() -> Path:
    """`PASSEUR_PROJECTS_DIR`, `./projects` when it is not set."""
    return Path(env.variable("PASSEUR_PROJECTS_DIR", "projects"))


def token_file(settings: AiSettings) -> Path:
    """Where operator commands find their token."""
    return settings.token_file or own_dir() / "operator.token"


def provider_options() -> Mapping[str, Mapping[str, str | SecretStr]]:
    """The settings `PASSEUR_AI_<PROVIDER>_<OPTION>`, by provider, then by option name."""
    given = env.with_prefix(PREFIX)
    return {name: _take_options(name, entry, given) for name, entry in registry.ENTRIES.items()}


def _take_options(name: str, entry: registry.Entry, given: dict[str, str]) -> dict[str, str | SecretStr]:
    """Take a provider's variables out of `given`, so that what remains is ours or unknown."""
    taken: dict[str, str | SecretStr] = {}
    for option in (*entry.options, *entry.secrets):
        value = given.pop(f"{name}_{option}", "")
        if value:
            taken[option] = SecretStr(value) if option in entry.secrets else value
    return taken


def _address_faults(settings: AiSettings) -> list[str]:
    address = settings.address
    if address.startswith(UNIX):
        path = Path(address.removeprefix(UNIX))
        return [] if path.parent.is_dir() else [f"{PREFIX}ADDRESS: the folder {path.parent} does not exist: make it"]
    try:
        host, _ = split_address(address)
    except ValueError as error:
        return [f"{PREFIX}ADDRESS: {error}, nor unix:/path"]
    files = (settings.tls_certificate, settings.tls_key, settings.tls_client_ca)
    if not is_loopback(host) and not all(files):
        needed = f"set {PREFIX}TLS_CERTIFICATE, {PREFIX}TLS_KEY and {PREFIX}TLS_CLIENT_CA, or listen on 127.0.0.1"
        return [f"{PREFIX}ADDRESS: {address} is not loopback, which needs mutual TLS: {needed} or a unix socket"]
    return []


def _metrics_faults(settings: AiSettings) -> list[str]:
    if not settings.metrics_address:
        return []
    try:
        host, _ = split_address(settings.metrics_address)
    except ValueError as error:
        return [f"{PREFIX}METRICS_ADDRESS: {error}"]
    return [] if is_loopback(host) else [f"{PREFIX}METRICS_ADDRESS: {host} is not loopback; metrics carry no login"]


def _tls_faults(settings: AiSettings) -> list[str]:
    files = {
        "TLS_CERTIFICATE": settings.tls_certificate,
        "TLS_KEY": settings.tls_key,
        "TLS_CLIENT_CA": settings.tls_client_ca,
    }
    if not any(files.values()):
        return []
    faults = [
        f"{PREFIX}{name}: set it too; the three TLS files go together" for name, path in files.items() if not path
    ]
    faults += [
        f"{PREFIX}{name}: {path} is not a readable file" for name, path in files.items() if path and not path.is_file()
    ]
    return faults
