"""Reads what an operator set for a provider, naming every fault at once."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from pydantic import SecretStr

from ai_server.providers.calls import STALL_S
from ai_server.providers.failures import Failures
from shared.errors import SettingsError

if TYPE_CHECKING:
    from ai_server.providers.catalog import Catalog, ModelRow
    from ai_server.providers.registry import ProviderOptions

STALL_LIMIT_S: Final = 600.0
DIMENSION_LIMIT: Final = 8_192
NEAR_SUFFIXES: Final = (".local", ".internal", ".lan", ".home.arpa", ".localhost")


@dataclass(slots=True)
class OptionReader:
    """Reads options one by one; `finish` raises once, with everything that was wrong."""

    asked: ProviderOptions
    faults: list[str] = field(default_factory=list)

    def variable(self, name: str) -> str:
        """Name the environment variable of an option."""
        return f"PASSEUR_AI_{self.asked.provider.upper()}_{name.upper()}"

    def text(self, name: str, default: str = "") -> str:
        """Read an option that is no secret."""
        value = self.asked.options.get(name, default)
        return (value.get_secret_value() if isinstance(value, SecretStr) else value).strip()

    def secret(self, name: str, *, required: bool) -> SecretStr:
        """Read a secret; empty when it may be missing and is."""
        value = SecretStr(self.text(name))
        key = value.get_secret_value()
        if required and not key:
            self.faults.append(f"provider `{self.asked.provider}` needs its key: set {self.variable(name)}")
        elif not key.isascii() or not key.isprintable() or " " in key:
            self.faults.append(f"{self.variable(name)} holds characters that no key has: copy it again")
        return value

    def address(self, name: str, default: str, *, near_only: str = "", secret: SecretStr | None = None) -> str:
        """Read a base URL. `near_only` says why it must be on our own machine or network, "" that it need not."""
        url = self.text(name, default).rstrip("/")
        parts = urlsplit(url)
        where = self.variable(name)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.password:
            self.faults.append(f"{where} must be an address such as https://host/v1, without a name or password in it")
            return url
        if not is_near(parts.hostname):
            if near_only:
                self.faults.append(f"{where} is not on this machine or its network: {near_only}")
            elif parts.scheme == "http" and secret is not None and secret.get_secret_value():
                self.faults.append(f"{where} would send the key unencrypted: use https")
        return url

    def stall_s(self) -> float:
        """Read the longest silence inside an answer, in seconds."""
        text = self.text("stall_s", str(STALL_S))
        try:
            seconds = float(text)
        except ValueError:
            seconds = 0.0
        if not 0 < seconds <= STALL_LIMIT_S:
            self.faults.append(f"{self.variable('stall_s')} must be a number of seconds, over 0 and at most 600")
        return seconds

    def dimension(self) -> int:
        """Read the length of a vector, for models that the catalogue does not know."""
        text = self.text("dimension")
        if not text.isdigit() or not 0 < int(text) <= DIMENSION_LIMIT:
            self.faults.append(f"{self.variable('dimension')} must say the length of this model's vectors")
            return 0
        return int(text)

    def row(self, catalog: Catalog) -> ModelRow | None:
        """Find the model's row and check that it serves the purpose."""
        try:
            row = catalog.require(self.asked.provider, self.asked.model)
        except SettingsError as exc:
            self.faults += exc.faults
            return None
        needed = "text" if self.asked.purpose == "generation" else "embedding"
        if needed not in row.capabilities:
            self.faults.append(
                f"{self.asked.provider}: the model {self.asked.model!r} does not do {self.asked.purpose}"
            )
        return row

    def finish(self) -> None:
        """Raise what was found.

        Raises:
            SettingsError: with every fault.
        """
        if self.faults:
            raise SettingsError(self.faults)


def failures_of(provider: str, *secrets: SecretStr) -> Failures:
    """Make the failures of a provider that let none of `secrets` out."""
    return Failures(provider, [each.get_secret_value() for each in secrets])


def is_near(host: str) -> bool:
    """Say whether a host is this machine, its network, or a bare name such as a container's."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "." not in host or host.endswith(NEAR_SUFFIXES)
    return address.is_loopback or address.is_private
