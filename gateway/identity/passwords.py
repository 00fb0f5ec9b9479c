"""Passwords of staff, kept as scrypt hashes (RFC 7914) that carry their own parameters."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from typing import Final

SHORTEST: Final = 10
LONGEST: Final = 200
COST, BLOCK, LANES = 2**15, 8, 3
"""N = 2^15, r = 8, p = 3: one of the settings that OWASP calls enough (Password Storage Cheat Sheet, November 2026)."""
MEMORY_LIMIT: Final = 64 * 1024 * 1024
SALT_BYTES: Final = 16
KEY_BYTES: Final = 32
SCHEME: Final = "scrypt"
GENERATED_BYTES: Final = 12


def hash_password(password: str) -> str:
    """Hash a password for keeping. Takes some 100 ms and 32 MiB: call it in a thread."""
    salt = secrets.token_bytes(SALT_BYTES)
    key = _derive(password, salt, COST, BLOCK, LANES)
    return "$".join([SCHEME, str(COST), str(BLOCK), str(LANES), _encode(salt), _encode(key)])


def verify_password(password: str, kept: str) -> bool:
    """Tell whether a password is the one that was hashed; a hash that cannot be read fits none."""
    try:
        scheme, cost, block, lanes, salt, key = kept.split("$")
        if scheme != SCHEME:
            return False
        derived = _derive(password, _decode(salt), int(cost), int(block), int(lanes))
        return hmac.compare_digest(derived, _decode(key))
    except (ValueError, binascii.Error):
        return False


def weakness(password: str) -> str | None:
    """Say what is wrong with a new password, or None."""
    if not SHORTEST <= len(password) <= LONGEST:
        return f"must have {SHORTEST} to {LONGEST} characters"
    return None


def generate_password() -> str:
    """Make a password that nobody could guess, for someone who will not choose one."""
    return secrets.token_urlsafe(GENERATED_BYTES)


def _derive(password: str, salt: bytes, cost: int, block: int, lanes: int) -> bytes:
    given = password.encode("utf-8", "surrogatepass")
    return hashlib.scrypt(given, salt=salt, n=cost, r=block, p=lanes, maxmem=MEMORY_LIMIT, dklen=KEY_BYTES)


def _encode(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _decode(text: str) -> bytes:
    return base64.b64decode(text, validate=True)
