"""P31: a claimed user is believed only with a proof; proven and anonymous people never become one."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import aiohttp

from gateway.identity.projects import PublicKey
from gateway.identity.proofs import HostIdentity, sign_hmac
from tests.fakes.gateway import DEMO
from tests.torture import workload
from tests.torture.figure import Figure, span
from tests.torture.gateway_rig import Rig, rig

PROMISE = "proofs absent, empty, wrong, of another project and right × ways to claim a user: no merge, none unproven"
FULL = 3_000
SHORT = 60
SECRET, OTHER_SECRET = b"s" * 32, b"o" * 32
PROJECTS = (
    replace(DEMO, host=HostIdentity(hmac_secret=SECRET)),
    replace(
        DEMO, id="other", public_keys=(PublicKey("pk_other", frozenset()),), host=HostIdentity(hmac_secret=OTHER_SECRET)
    ),
)
PROOFS = ("none", "empty", "wrong", "right", "other project's", "old", "other user's")
WAYS = ("user", "attributes", "renewal with a user", "renewal")
USERS = ("ana", "ben", "1", "anonymous")


class People:
    """Who holds which session; a proven visitor id belongs to one user of one project."""

    def __init__(self) -> None:
        self.anonymous: dict[str, str] = {}
        self.proven: dict[str, tuple[str, str]] = {}
        self.conversations: dict[str, tuple[str, str]] = {}
        """By conversation: its visitor, and a token that opens it."""


async def run(n: int, seed: int) -> Figure:
    """Make `n` claims."""
    workload.quiet()
    dice = random.Random(seed)
    hits: Counter[str] = Counter()
    failures: list[str] = []
    people = People()
    async with rig(projects=PROJECTS) as gateway, aiohttp.ClientSession() as http:
        for number in range(n):
            fault = await claim(gateway, http, people, dice, hits)
            if fault:
                failures.append(f"seed {seed}, {number}: {fault}")
    return Figure(n, span(seed, 1), failures, dict(sorted(hits.items())))


async def claim(
    gateway: Rig, http: aiohttp.ClientSession, people: People, dice: random.Random, hits: Counter[str]
) -> str:
    """Claim to be someone in one way with one proof, perhaps with a session that one has."""
    project = dice.choice(("demo", "demo", "other"))
    way, proof, user = dice.choice(WAYS), dice.choice(PROOFS), dice.choice(USERS)
    hits[f"{way}: {proof}"] += 1
    body: dict[str, object] = {"public_key": f"pk_{project}"}
    headers = {}
    if way.startswith("renewal") and people.anonymous:
        headers["Authorization"] = f"Bearer {dice.choice(list(people.anonymous))}"
    if way in {"user", "renewal with a user"} and proof != "none":
        body["user"] = _user(gateway, project, user, proof)
    if way == "attributes":
        body |= dice.choice(({"user_id": user}, {"subject": user}, {"custom_attributes": {"user_id": user}}))
    async with http.post(f"http://127.0.0.1:{gateway.port}/v1/sessions", json=body, headers=headers) as response:
        told = await response.json()
    is_proven = "user" in body and proof == "right"
    if response.status != 201:
        return "" if not is_proven else f"a right proof was answered with {response.status}"
    if ("user" in body and not is_proven) or way == "attributes":
        return f"{way} with a proof that is {proof} made a session"
    fault = await _judge(gateway, people, told, (project, user) if is_proven else None)
    return fault or await _look(gateway, http, people, told, dice)


def _user(gateway: Rig, project: str, user: str, proof: str) -> dict[str, object]:
    now = int(gateway.services.clock.now().timestamp())
    secret, other = (SECRET, OTHER_SECRET) if project == "demo" else (OTHER_SECRET, SECRET)
    issued = now - 10_000 if proof == "old" else now
    signature = (
        {
            "empty": "",
            "wrong": "0" * 64,
            "other project's": sign_hmac("other" if project == "demo" else "demo", user, issued, other),
            "other user's": sign_hmac(project, f"{user}x", issued, secret),
        }.get(proof)
        if proof not in {"right", "old"}
        else sign_hmac(project, user, issued, secret)
    )
    return {"user_id": user, "issued_at": issued, "signature": signature}


async def _judge(gateway: Rig, people: People, told: dict[str, str], proven: tuple[str, str] | None) -> str:
    """Hold the session against what was proven."""
    visitor_id, token = told["visitor_id"], told["token"]
    async with gateway.services.store.transaction() as tx:
        visitor = await tx.visitors.get(visitor_id)
    if visitor is None:
        return "a session of nobody"
    if proven is None:
        people.anonymous[token] = visitor_id
        if visitor.subject is not None or visitor_id in people.proven:
            return "someone unproven became someone proven"
        return ""
    if (visitor.project_id, visitor.subject) != proven or visitor_id in people.anonymous.values():
        return f"{proven} became {visitor.project_id}/{visitor.subject}"
    if people.proven.setdefault(visitor_id, proven) != proven:
        return "two people became one"
    return ""


async def _look(
    gateway: Rig, http: aiohttp.ClientSession, people: People, told: dict[str, str], dice: random.Random
) -> str:
    """Open a conversation, and look at one of somebody else."""
    base = f"http://127.0.0.1:{gateway.port}/v1/conversations"
    headers = {"Authorization": f"Bearer {told['token']}"}
    if people.conversations and dice.random() < 0.5:
        conversation = dice.choice(list(people.conversations))
        async with http.get(f"{base}/{conversation}", headers=headers) as response:
            mine = people.conversations[conversation][0] == told["visitor_id"]
            if (response.status == 200) != mine:
                return f"a conversation of {'their own' if mine else 'someone else'} was answered {response.status}"
    else:
        async with http.post(base, json={}, headers=headers) as response:
            people.conversations[(await response.json())["id"]] = (told["visitor_id"], told["token"])
    return ""
