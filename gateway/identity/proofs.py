"""How a host proves who its signed-in visitor is: a JWT, or an HMAC over project, user id and time.

Whatever is wrong with a proof, the caller is told the same: nothing can be learnt by trying. The error's `cause` says
which check failed, for the operator's log (the list is in `docs/identity.md`).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from joserfc import jwt
from joserfc.errors import BadSignatureError, JoseError

from shared.errors import Unauthenticated
from shared.text import text_violation

if TYPE_CHECKING:
    from collections.abc import Mapping

    from joserfc.jwk import ECKey, OctKey, RSAKey

ALGORITHMS: Final = ("HS256", "RS256", "ES256")
SKEW: Final = timedelta(seconds=60)
LONGEST_LIFE: Final = timedelta(days=7)
"""A token that ends later than this from now is refused: it is a mistake or an attack."""
HMAC_LIFE: Final = timedelta(minutes=5)
TOKEN_LIMIT: Final = 8 * 1024
USER_ID_LIMIT: Final = 200
HEADER_NAMES: Final = frozenset({"alg", "kid", "typ"})
"""Any other header parameter (`jku`, `jwk`, `x5u`, `crit`, …) asks us to trust something else than our own keys."""
HEX_DIGEST: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class HostKey:
    """A key of the host, bound to the one algorithm it may be used with."""

    algorithm: str
    key: OctKey | RSAKey | ECKey


@dataclass(frozen=True, slots=True)
class HostIdentity:
    """How the project's host proves its users. `keys` are by our own id for them (`kid`)."""

    issuer: str = ""
    audience: str = ""
    keys: Mapping[str, HostKey] = field(default_factory=dict)
    hmac_secret: bytes = b""


@dataclass(frozen=True, slots=True)
class Proven:
    """Who someone is, and what the host claims about them."""

    user_id: str
    claims: Mapping[str, Any]


def verify_jwt(token: str, host: HostIdentity, now: datetime) -> Proven:
    """Check a host's JWT: signature by our own key and its algorithm, issuer, audience, times within `SKEW`.

    Raises:
        Unauthenticated: anything is wrong.
    """
    try:
        if len(token) > TOKEN_LIMIT:
            raise Unauthenticated("malformed")
        host_key = _key_of(token, host)
        claims = jwt.decode(token, host_key.key, algorithms=[host_key.algorithm]).claims
        if claims != _part(token, 1):
            raise Unauthenticated("malformed")
        _check_times(claims, now)
        if not host.issuer or claims.get("iss") != host.issuer:
            raise Unauthenticated("issuer")
        if not _is_for(claims.get("aud"), host.audience):
            raise Unauthenticated("audience")
        return Proven(_user_id(claims.get("sub")), claims)
    except BadSignatureError as exc:
        raise Unauthenticated("signature") from exc
    except (JoseError, ValueError, TypeError, RecursionError) as exc:
        raise Unauthenticated("malformed") from exc


def verify_hmac(
    project_id: str, user_id: str, issued_at: int, signature: str, host: HostIdentity, now: datetime
) -> Proven:
    """Check `hex(HMAC-SHA256(secret, project_id LF user_id LF issued_at))`, good for `HMAC_LIFE` from `issued_at`.

    Raises:
        Unauthenticated: anything is wrong, or the project has no secret.
    """
    if not host.hmac_secret:
        raise Unauthenticated("no_keys")
    if HEX_DIGEST.fullmatch(signature) is None:
        raise Unauthenticated("malformed")
    user_id = _user_id(user_id)
    if not hmac.compare_digest(sign_hmac(project_id, user_id, issued_at, host.hmac_secret), signature):
        raise Unauthenticated("signature")
    issued = _instant(issued_at)
    if not issued - SKEW <= now < issued + HMAC_LIFE + SKEW:
        raise Unauthenticated("time")
    return Proven(user_id, {})


def sign_hmac(project_id: str, user_id: str, issued_at: int, secret: bytes) -> str:
    """Make the signature that the host's server sends along."""
    message = f"{project_id}\n{user_id}\n{issued_at}".encode()
    return hmac.new(secret, message, hashlib.sha256).hexdigest()


def _key_of(token: str, host: HostIdentity) -> HostKey:
    """Choose the key by our own map; a token without `kid` is taken only where there is one key."""
    if not host.keys:
        raise Unauthenticated("no_keys")
    header = _part(token, 0)
    if not header.keys() <= HEADER_NAMES:
        raise Unauthenticated("header")
    kid = header.get("kid", next(iter(host.keys)) if len(host.keys) == 1 else None)
    host_key = host.keys.get(kid) if isinstance(kid, str) else None
    if host_key is None:
        raise Unauthenticated("kid")
    if header.get("alg") != host_key.algorithm:
        raise Unauthenticated("algorithm")
    return host_key


def _part(token: str, place: int) -> dict[str, Any]:
    """Read one of a token's JSON parts ourselves: no name twice, no number that is not a number."""
    parts = token.split(".")
    if len(parts) != 3 or not all(parts):  # noqa: PLR2004 - RFC 7515 §3.1
        raise Unauthenticated("malformed")
    try:
        raw = base64.b64decode(parts[place] + "=" * (-len(parts[place]) % 4), altchars=b"-_", validate=True)
    except binascii.Error as exc:
        raise Unauthenticated("malformed") from exc
    found = json.loads(raw.decode("utf-8"), object_pairs_hook=_without_repeats, parse_constant=_refuse)
    if not isinstance(found, dict):
        raise Unauthenticated("malformed")
    return found


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Unauthenticated("malformed")
    return found


def _refuse(_name: str) -> None:
    raise Unauthenticated("malformed")


def _check_times(claims: Mapping[str, Any], now: datetime) -> None:
    ends = _instant(claims.get("exp"))
    if now >= ends + SKEW:
        raise Unauthenticated("expired")
    if ends > now + LONGEST_LIFE:
        raise Unauthenticated("lives_too_long")
    for name in ("nbf", "iat"):
        if name in claims and _instant(claims[name]) > now + SKEW:
            raise Unauthenticated("not_yet")


def _instant(seconds: object) -> datetime:
    if not isinstance(seconds, int) or isinstance(seconds, bool):
        raise Unauthenticated("time")
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError, ValueError) as exc:
        raise Unauthenticated("time") from exc


def _is_for(audience: object, ours: str) -> bool:
    """RFC 7519 §4.1.3: a string, or a list of them."""
    return bool(ours) and (audience == ours or (isinstance(audience, list) and ours in audience))


def _user_id(value: object) -> str:
    if not isinstance(value, str) or "\n" in value or text_violation("sub", value, limit=USER_ID_LIMIT):
        raise Unauthenticated("subject")
    return value
