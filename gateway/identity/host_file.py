"""The `[host]` and `[[entitlements]]` parts of a project file, with the keys they name."""

from __future__ import annotations

import json
import warnings
from typing import TYPE_CHECKING, Annotated, Any, Final

from joserfc.errors import JoseError, SecurityWarning
from joserfc.jwk import ECKey, OctKey, RSAKey, import_key
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from gateway.identity.entitlements import Entitlement
from gateway.identity.proofs import ALGORITHMS, HostIdentity, HostKey

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

SHORTEST_SECRET: Final = 32
"""Bytes of an HMAC secret at least: as long as the digest (RFC 2104 §3, RFC 7518 §3.2)."""
SHORTEST_RSA_BITS: Final = 2048
"""RFC 7518 §3.3."""
KINDS: Final[Mapping[str, type]] = {"HS256": OctKey, "RS256": RSAKey, "ES256": ECKey}
Text = Annotated[str, StringConstraints(min_length=1, max_length=500)]


class HostFile(BaseModel):
    """How the host proves its users. Files are found beside the project file and are no part of it."""

    model_config = ConfigDict(extra="forbid")
    issuer: str = ""
    audience: str = ""
    jwks_file: str = ""
    """A JSON Web Key Set (RFC 7517) whose every key has a `kid` and an `alg`."""
    hmac_secret_file: str = ""


class EntitlementFile(BaseModel):
    """Whoever has one of `values` in `claim` may read `contexts`."""

    model_config = ConfigDict(extra="forbid")
    claim: str = ""
    values: list[Text] = Field(default_factory=list)
    contexts: list[dict[str, list[str]]] = Field(min_length=1)


def host_identity(parsed: HostFile, folder: Path, faults: list[str]) -> HostIdentity:
    """Load the keys of a host; what is wrong is added to `faults`."""
    keys = _keys(folder / parsed.jwks_file, faults) if parsed.jwks_file else {}
    if keys and not (parsed.issuer and parsed.audience):
        faults.append(f"{folder}: host: issuer and audience are needed with jwks_file")
    secret = _secret(folder / parsed.hmac_secret_file, faults) if parsed.hmac_secret_file else b""
    return HostIdentity(parsed.issuer, parsed.audience, keys, secret)


def entitlements(parsed: Sequence[EntitlementFile]) -> tuple[Entitlement, ...]:
    """Make the rules of what the files say."""
    return tuple(
        Entitlement(
            each.claim,
            frozenset(each.values),
            tuple({key: tuple(values) for key, values in context.items()} for context in each.contexts),
        )
        for each in parsed
    )


def _keys(path: Path, faults: list[str]) -> dict[str, HostKey]:
    try:
        listed = json.loads(path.read_text(encoding="utf-8"))["keys"]
        found = [_key(each, f"{path}: key {place}", faults) for place, each in enumerate(listed)]
    except OSError as exc:
        faults.append(f"{path}: cannot be read ({exc.strerror})")
        return {}
    except (ValueError, KeyError, TypeError) as exc:
        faults.append(f"{path}: is not a JSON Web Key Set: {type(exc).__name__}")
        return {}
    keys = {kid: key for each in found if each is not None for kid, key in [each]}
    if len(keys) < len([each for each in found if each is not None]):
        faults.append(f"{path}: two keys have the same kid")
    return keys


def _key(listed: Mapping[str, Any], where: str, faults: list[str]) -> tuple[str, HostKey] | None:
    kid, algorithm = listed.get("kid"), listed.get("alg")
    if not isinstance(kid, str) or not kid or algorithm not in ALGORITHMS:
        faults.append(f"{where}: needs a kid, and an alg among {', '.join(ALGORITHMS)}")
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SecurityWarning)  # of short keys, which are refused below
            key = import_key(dict(listed))
    except (JoseError, ValueError, TypeError) as exc:
        faults.append(f"{where} ({kid}): cannot be used: {type(exc).__name__}")
        return None
    if not isinstance(key, (OctKey, RSAKey, ECKey)) or not isinstance(key, KINDS[str(algorithm)]):
        faults.append(f"{where} ({kid}): is not a key for {algorithm}")
        return None
    if isinstance(key, OctKey) and len(key.raw_value) < SHORTEST_SECRET:
        faults.append(f"{where} ({kid}): is shorter than {SHORTEST_SECRET} bytes")
        return None
    if isinstance(key, RSAKey) and key.public_key.key_size < SHORTEST_RSA_BITS:
        faults.append(f"{where} ({kid}): is shorter than {SHORTEST_RSA_BITS} bits")
        return None
    return kid, HostKey(str(algorithm), key)


def _secret(path: Path, faults: list[str]) -> bytes:
    try:
        secret = path.read_bytes().strip()
    except OSError as exc:
        faults.append(f"{path}: cannot be read: {exc.strerror}")
        return b""
    if len(secret) < SHORTEST_SECRET:
        faults.append(f"{path}: is shorter than {SHORTEST_SECRET} bytes: make it with `openssl rand -hex 32`")
    return secret
