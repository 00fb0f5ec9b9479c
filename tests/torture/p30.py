"""P30: forged host tokens, 300 kinds and more: one 401 body for all, and the allowed clock skew exact to the second."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import aiohttp
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey

from gateway.identity.proofs import SKEW, HostIdentity, HostKey, verify_jwt
from shared.errors import Unauthenticated
from tests.fakes.gateway import DEMO
from tests.torture import workload
from tests.torture.figure import Figure, span
from tests.torture.gateway_rig import rig

PROMISE = "forged tokens of every kind are refused with the same body; good ones pass; skew of 60 s exact"
FULL = 3_000
SHORT = 60
ISSUER, AUDIENCE, LIFE_S = "https://host.example", "passeur", 600
GRID_S = 3
"""Seconds around each limit of time that are tried one by one."""


class Forge:
    """Keys of a host, and everything that someone without them may try."""

    def __init__(self) -> None:
        self.secret = OctKey.generate_key(256)
        self.rsa = RSAKey.generate_key(2048)
        self.curve = ECKey.generate_key("P-256")
        self.foreign = RSAKey.generate_key(2048)
        self.host = HostIdentity(
            ISSUER,
            AUDIENCE,
            {
                "hs": HostKey("HS256", self.secret),
                "rs": HostKey("RS256", self.rsa),
                "es": HostKey("ES256", self.curve),
            },
        )

    def good(self, now: int, dice: random.Random) -> str:
        """What the host itself would send."""
        kid, algorithm, key = dice.choice(
            [("hs", "HS256", self.secret), ("rs", "RS256", self.rsa), ("es", "ES256", self.curve)]
        )
        return jwt.encode({"alg": algorithm, "kid": kid}, claims(now), key)

    def forged(self, now: int, dice: random.Random) -> tuple[str, str]:
        """Make one forgery; tells its kind too."""
        kind = dice.choice(list(KINDS))
        return kind, KINDS[kind](self, now, dice)


def claims(now: int, **changed: object) -> dict[str, object]:
    """The claims of a good token, changed; None leaves one out."""
    body = {"iss": ISSUER, "aud": AUDIENCE, "sub": "user-1", "iat": now, "exp": now + LIFE_S, **changed}
    return {name: value for name, value in body.items() if value is not None}


def part(value: object) -> str:
    """Encode a part as a token has it; text goes in as it is."""
    raw = value if isinstance(value, str) else json.dumps(value)
    return base64.urlsafe_b64encode(raw.encode("utf-8", "surrogatepass")).rstrip(b"=").decode()


def signed(header: dict[str, object], body: object, key: OctKey | bytes) -> str:
    """Sign anything at all with HMAC-SHA256, since a library would refuse to."""
    secret = key if isinstance(key, bytes) else key.raw_value
    text = f"{part(header)}.{part(body)}"
    made = hmac.new(secret, text.encode(), hashlib.sha256).digest()
    return f"{text}.{base64.urlsafe_b64encode(made).rstrip(b'=').decode()}"


def unsigned(forge: Forge, now: int, dice: random.Random) -> str:
    name = dice.choice(("none", "None", "NONE", "nOnE", "", " none", None, 0, ["HS256"], {"alg": "HS256"}))
    tail = dice.choice(("", "", part("x")))
    return f"{part({'alg': name, 'kid': 'hs'})}.{part(claims(now))}.{tail}"


def confused(forge: Forge, now: int, dice: random.Random) -> str:
    """Sign with the public key's text as if it were an HMAC secret (CASES J1)."""
    kid, key = dice.choice((("rs", forge.rsa), ("es", forge.curve)))
    text = dice.choice((key.as_pem(private=False), json.dumps(key.as_dict(private=False)).encode()))
    return signed({"alg": "HS256", "kid": kid}, claims(now), text)


def crossed(forge: Forge, now: int, dice: random.Random) -> str:
    """A good signature by one key under the name of another."""
    return jwt.encode({"alg": "RS256", "kid": dice.choice(("hs", "es"))}, claims(now), forge.rsa)


def named(forge: Forge, now: int, dice: random.Random) -> str:
    kid = dice.choice(
        ("../../etc/passwd", "hs\0", "\0", "' OR 1=1 --", "HS", "hs ", "", "é" * 500, None, 0, True, ["hs"], {"a": 1})
    )
    return signed({"alg": "HS256", "kid": kid}, claims(now), forge.secret)


def pointing(forge: Forge, now: int, dice: random.Random) -> str:
    """Bring a key along, or say where to fetch it."""
    name = dice.choice(("jku", "jwk", "x5u", "x5c", "x5t", "crit", "b64", "zip", "cty"))
    value = {"jwk": forge.foreign.as_dict(private=False), "x5c": ["MIIB"], "crit": ["exp"], "b64": False}.get(
        name, "https://evil.example/keys.json"
    )
    if dice.random() < 0.5:
        return signed({"alg": "HS256", "kid": "hs", name: value}, claims(now), forge.secret)
    return jwt.encode({"alg": "RS256", "kid": "rs"}, claims(now), forge.foreign)


def repeated(forge: Forge, now: int, dice: random.Random) -> str:
    """Say a claim or a header twice: readers differ on which one counts."""
    name, value = dice.choice((("sub", '"admin"'), ("exp", str(now + 10**6)), ("aud", '"other"')))
    body = json.dumps(claims(now))[:-1] + f', "{name}": {value}}}'
    return signed({"alg": "HS256", "kid": "hs"}, body, forge.secret)


def timed(forge: Forge, now: int, dice: random.Random) -> str:
    wrong: tuple[dict[str, object], ...] = (
        {"exp": now - 61}, {"exp": None}, {"exp": float(now + 60)}, {"exp": "9999999999"}, {"exp": 10**18},
        {"exp": 10**400}, {"exp": True}, {"exp": -1}, {"exp": now + 8 * 86_400}, {"nbf": now + 120},
        {"iat": now + 120}, {"nbf": "soon"}, {"iat": 1e308}, {"nbf": None, "exp": []},
    )  # fmt: skip
    return signed({"alg": "HS256", "kid": "hs"}, claims(now, **dice.choice(wrong)), forge.secret)


def misdirected(forge: Forge, now: int, dice: random.Random) -> str:
    wrong: tuple[dict[str, object], ...] = (
        {"aud": "other"}, {"aud": None}, {"aud": []}, {"aud": ["other"]}, {"aud": "passeur "}, {"aud": {"a": 1}},
        {"iss": None}, {"iss": "https://host.example/"}, {"iss": ""}, {"iss": [ISSUER]}, {"sub": None}, {"sub": ""},
        {"sub": 7}, {"sub": "a\nb"}, {"sub": "x" * 201}, {"sub": "a\0b"}, {"sub": ["user-1"]},
    )  # fmt: skip
    return signed({"alg": "HS256", "kid": "hs"}, claims(now, **dice.choice(wrong)), forge.secret)


def misshapen(forge: Forge, now: int, dice: random.Random) -> str:
    token = forge.good(now, dice)
    body = "[" * 2_000 + "]" * 2_000
    return dice.choice((
        "", ".", "..", "...", token + ".", "." + token, token.replace(".", "", 1), token + "." + token,
        token + "=", "x" * 9_000, token.replace(".", "..", 1), f"{part('[]')}.{part('{}')}.x",
        signed({"alg": "HS256", "kid": "hs"}, body, forge.secret),
        signed({"alg": "HS256", "kid": "hs"}, "null", forge.secret),
        signed({"alg": "HS256", "kid": "hs"}, '{"exp": NaN}', forge.secret),
    ))  # fmt: skip


def altered(forge: Forge, now: int, dice: random.Random) -> str:
    """Change one character of a good token so that its bytes change too."""
    token = forge.good(now, dice)
    head, body, signature = token.split(".")
    place = dice.randrange(len(body) - 4)
    letter = "A" if body[place] != "A" else "B"
    return dice.choice((
        f"{head}.{body[:place]}{letter}{body[place + 1 :]}.{signature}",
        f"{head}.{part(claims(now, sub='admin'))}.{signature}",
        f"{head}.{body}.{signature[: len(signature) // 2]}",
    ))  # fmt: skip


KINDS: dict[str, Callable[[Forge, int, random.Random], str]] = {
    each.__name__: each
    for each in (
        unsigned, confused, crossed, named, pointing, repeated, timed, misdirected, misshapen, altered,
    )
}  # fmt: skip


async def run(n: int, seed: int) -> Figure:
    """Show `n` forgeries to the gateway, a good token after every tenth, and walk the limits of time."""
    workload.quiet()
    dice = random.Random(seed)
    forge = Forge()
    hits: Counter[str] = Counter()
    failures = [f"seed {seed}: {fault}" for fault in skew(forge, hits)]
    bodies: set[str] = set()
    async with rig(projects=(replace(DEMO, host=forge.host),)) as gateway, aiohttp.ClientSession() as http:
        url = f"http://127.0.0.1:{gateway.port}/v1/sessions"
        for number in range(n):
            now = int(gateway.services.clock.now().timestamp())
            kind, token = forge.forged(now, dice)
            hits[kind] += 1
            async with http.post(url, json={"public_key": "pk_demo", "jwt": token}) as response:
                told = await response.json()
            if response.status != 401:
                failures.append(f"seed {seed}, {number}: {kind} was answered with {response.status}: {token[:300]}")
            told.pop("request_id", None)
            bodies.add(json.dumps(told, sort_keys=True))
            if number % 10 == 0:
                async with http.post(url, json={"public_key": "pk_demo", "jwt": forge.good(now, dice)}) as response:
                    if response.status != 201:
                        failures.append(f"seed {seed}, {number}: a good token was answered with {response.status}")
    if len(bodies) > 1:
        failures.append(f"seed {seed}: {len(bodies)} different bodies: {sorted(bodies)[:3]}")
    return Figure(n, span(seed, 1), failures, dict(sorted(hits.items())))


def skew(forge: Forge, hits: Counter[str]) -> list[str]:
    """Try each second around the limits of `exp`, `nbf` and `iat`."""
    now = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
    at = int(now.timestamp())
    allowed = int(SKEW / timedelta(seconds=1))
    faults: list[str] = []
    for around in range(-GRID_S, GRID_S + 1):
        for name, offset, passes in (
            ("exp", around - allowed, around > 0),  # over when now >= exp + skew
            ("nbf", around + allowed, around <= 0),
            ("iat", around + allowed, around <= 0),
        ):
            token = signed({"alg": "HS256", "kid": "hs"}, claims(at, **{"iat": at, name: at + offset}), forge.secret)
            hits["seconds around a limit"] += 1
            try:
                verify_jwt(token, forge.host, now)
                passed = True
            except Unauthenticated:
                passed = False
            if passed != passes:
                faults.append(f"{name} at {offset:+d} s {'passed' if passed else 'was refused'}")
    return faults
