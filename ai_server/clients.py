"""Who may call: client records in one TOML file of the data folder, with hashes in place of tokens.

Tokens carry 24 random bytes, so one SHA-256 is enough to keep them: there is nothing to guess.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from shared.errors import Forbidden, SettingsError, Unauthenticated
from shared.ids import new_token

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

CLIENTS_FILE: Final = "clients.toml"
ALL_PROJECTS: Final = "*"
SECRET_MODE: Final = 0o600
CLIENT_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,62}")


class Scope(StrEnum):
    """What a client may ask for; `admin` includes the others."""

    ANSWER = "answer"
    BUDGETS = "budgets"
    DOCUMENTS = "documents"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True)
class Client:
    """One caller. `projects` holds ids, or `*` for all."""

    name: str
    token_sha256: str
    projects: frozenset[str]
    scopes: frozenset[Scope]

    def require(self, scope: Scope | None) -> None:
        """Refuse unless the client has `scope` (or admin); None asks only for a known client.

        Raises:
            Forbidden: it has not.
        """
        if scope is not None and scope not in self.scopes and Scope.ADMIN not in self.scopes:
            raise Forbidden(f"This client lacks the scope `{scope}`: an operator can add it.")

    def require_project(self, project_id: str) -> None:
        """Refuse a project that is not the client's.

        Raises:
            Forbidden: the record does not list it.
        """
        if ALL_PROJECTS not in self.projects and project_id not in self.projects:
            raise Forbidden("This client may not use that project: an operator can add it.")


def token_digest(token: str) -> str:
    """Hash a token as it is kept."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


class ClientRegister:
    """Finds a client by its token, in constant time for each record."""

    def __init__(self, clients: Iterable[Client]) -> None:
        """Hold these records."""
        self._by_digest = {each.token_sha256: each for each in clients}

    def authenticate(self, authorization: str) -> Client:
        """Read an `authorization` header.

        Raises:
            Unauthenticated: absent, malformed or unknown: one error for all causes.
        """
        kind, _, token = authorization.partition(" ")
        digest = token_digest(token)
        found = self._by_digest.get(digest)
        if kind.lower() != "bearer" or found is None or not hmac.compare_digest(found.token_sha256, digest):
            raise Unauthenticated
        return found

    def __len__(self) -> int:
        """Count the records."""
        return len(self._by_digest)


def load_clients(path: Path) -> tuple[Client, ...]:
    """Read the records; none when the file is not there yet.

    Raises:
        SettingsError: the file cannot be read or a record is wrong; names each.
    """
    if not path.exists():
        return ()
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        raise SettingsError([f"{path}: cannot be read as TOML ({exc}): restore it or make clients anew"]) from exc
    clients: list[Client] = []
    faults: list[str] = []
    for name, record in table.items():
        try:
            clients.append(_client(name, record))
        except (KeyError, TypeError, ValueError) as exc:
            faults.append(f"{path}: client `{name}` is malformed ({exc}): remove it and add it again")
    if faults:
        raise SettingsError(faults)
    return tuple(clients)


def add_client(path: Path, name: str, projects: Sequence[str], scopes: Sequence[str]) -> str:
    """Add or replace a record and return its new token, which is kept nowhere else.

    Raises:
        ValueError: a malformed name or an unknown scope.
    """
    if CLIENT_NAME.fullmatch(name) is None:
        raise ValueError(f"{name!r} is not a client name: small letters, digits, - and _, at most 63")
    token = new_token()
    client = Client(name, token_digest(token), frozenset(projects), frozenset(Scope(each) for each in scopes))
    others = [each for each in load_clients(path) if each.name != name]
    write_secret(path, "".join(_record(each) for each in (*others, client)))
    return token


def write_secret(path: Path, text: str) -> None:
    """Replace a file whole, readable by its owner alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)
    draft.touch(SECRET_MODE, exist_ok=False)
    with draft.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def _client(name: str, record: dict[str, Any]) -> Client:
    digest = str(record["token_sha256"])
    if len(digest) != hashlib.sha256().digest_size * 2:
        raise ValueError("token_sha256 is not a SHA-256")
    scopes = frozenset(Scope(each) for each in record["scopes"])
    return Client(name, digest, frozenset(map(str, record["projects"])), scopes)


def _record(client: Client) -> str:
    def listed(values: Iterable[str]) -> str:
        return "[" + ", ".join(f'"{each}"' for each in sorted(values)) + "]"

    return (
        f'[{client.name}]\ntoken_sha256 = "{client.token_sha256}"\n'
        f"projects = {listed(client.projects)}\nscopes = {listed(client.scopes)}\n\n"
    )
