"""Who may call: client records in one TOML file of the data folder, with hashes in place of tokens.

Tokens carry 24 random bytes, so one SHA-256 is enough to keep them: there is nothing to guess.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import tomllib
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from shared import logs
from shared.errors import Forbidden, SettingsError, Unauthenticated
from shared.ids import new_token

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from shared.clock import Clock

CLIENTS_FILE: Final = "clients.toml"
ALL_PROJECTS: Final = "*"
SECRET_MODE: Final = 0o600
SHORTEST_TOKEN: Final = 32
"""Characters of a token at least: 24 random bytes."""
LOOK_SECONDS: Final = 1.0
CLIENT_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,62}")
LOG = logs.logger(__name__)


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
        if ALL_PROJECTS in self.projects or project_id in self.projects:
            return
        if Scope.ADMIN in self.scopes:
            listed = ", ".join(sorted(self.projects)) or "none"
            raise Forbidden(
                f"Project `{project_id}` is not among those of the client `{self.name}` ({listed}): check the name, or "
                f"add it with `clients add {self.name} --keep --projects {project_id}`."
            )
        raise Forbidden("This client may not use that project: an operator can add it.")


def token_digest(token: str) -> str:
    """Hash a token as it is kept."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


class ClientFile:
    """The file of records while a server runs. It is looked at whenever a token is unknown, and at most once in
    `LOOK_SECONDS` otherwise; it is read only when it is another than before.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        """Watch `path`, which may not exist yet."""
        self._path = path
        self._clock = clock
        self._looked = clock.monotonic()
        self._seen: tuple[int, int, int] | None = (0, 0, 0)  # none yet: what came since the start was checked counts

    def news(self, *, wanted: bool) -> tuple[Client, ...] | None:
        """Give the records if they may have changed; `wanted`: look at once.

        A file that cannot be read changes nothing: it is told in the log, once.
        """
        now = self._clock.monotonic()
        if not wanted and now - self._looked < LOOK_SECONDS:
            return None
        self._looked = now
        stamp = self._stamp()
        if stamp == self._seen:
            return None
        self._seen = stamp
        try:
            clients = load_clients(self._path)
        except SettingsError as error:
            LOG.warning("client records not taken", faults=error.faults)
            return None
        LOG.info("client records read again", clients=sorted(each.name for each in clients))
        return clients

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_ino, found.st_size


class ClientRegister:
    """Finds a client by its token, in constant time for each record."""

    def __init__(self, clients: Iterable[Client], file: ClientFile | None = None) -> None:
        """Hold these records; with `file`, follow what is written there."""
        self._by_digest = {each.token_sha256: each for each in clients}
        self._file = file

    def authenticate(self, authorization: str) -> Client:
        """Read an `authorization` header.

        Raises:
            Unauthenticated: absent, malformed or unknown: one error for all causes.
        """
        kind, _, token = authorization.partition(" ")
        digest = token_digest(token)
        self._follow(wanted=digest not in self._by_digest)
        found = self._by_digest.get(digest)
        if kind.lower() != "bearer" or found is None or not hmac.compare_digest(found.token_sha256, digest):
            raise Unauthenticated(how="send them as `Authorization: Bearer …`")
        return found

    def _follow(self, *, wanted: bool) -> None:
        news = self._file.news(wanted=wanted) if self._file is not None else None
        if news is not None:
            self._by_digest = {each.token_sha256: each for each in news}

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


def keep_client(
    path: Path, name: str, projects: Sequence[str], scopes: Sequence[str], token_file: Path | None
) -> Client:
    """Make sure that a client may do at least this; what exists stays as it is, its token too.

    A record is widened, never narrowed. With `token_file`, the token in it counts, and a missing one is made: so
    records and token files that were restored apart come together again. Without, the record must be there.

    Raises:
        ValueError: a malformed name, an unknown scope, or neither a record nor a file for the token.
    """
    found = next((each for each in load_clients(path) if each.name == name), None)
    if token_file is None:
        if found is None:
            raise ValueError(f"There is no client `{name}`: `clients list` shows them.")
        client = replace(_made(name, "", projects, scopes), token_sha256=found.token_sha256)
    else:
        token = token_file.read_text("utf-8").strip() if token_file.exists() else ""
        fresh = len(token) < SHORTEST_TOKEN
        token = new_token() if fresh else token
        client = _made(name, token, projects, scopes)
        if fresh:
            write_secret(token_file, token + "\n")
    if found is not None:
        client = replace(client, projects=found.projects | client.projects, scopes=found.scopes | client.scopes)
    if client != found:
        _write(path, client)
    return client


def add_client(path: Path, name: str, projects: Sequence[str], scopes: Sequence[str]) -> tuple[Client, str]:
    """Add or replace a record; gives it with its new token, which is kept nowhere else.

    Raises:
        ValueError: a malformed name or an unknown scope.
    """
    token = new_token()
    client = _made(name, token, projects, scopes)
    _write(path, client)
    return client, token


def remove_client(path: Path, name: str) -> bool:
    """Remove a record; tells whether there was one."""
    records = load_clients(path)
    left = [each for each in records if each.name != name]
    if len(left) < len(records):
        write_secret(path, "".join(_record(each) for each in left))
    return len(left) < len(records)


def _made(name: str, token: str, projects: Iterable[str], scopes: Iterable[str]) -> Client:
    if CLIENT_NAME.fullmatch(name) is None:
        raise ValueError(f"{name!r} is not a client name: small letters, digits, - and _, at most 63")
    unknown = sorted(set(scopes) - set(Scope))
    if unknown:
        raise ValueError(f"{', '.join(unknown)} is not a scope: they are {', '.join(Scope)}")
    return Client(name, token_digest(token), frozenset(projects), frozenset(map(Scope, scopes)))


def _write(path: Path, client: Client) -> None:
    others = [each for each in load_clients(path) if each.name != client.name]
    write_secret(path, "".join(_record(each) for each in (*others, client)))


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
