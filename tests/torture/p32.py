"""P32: pages of other origins can neither act for a visitor nor read anything of theirs."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import func, select

from gateway.conversation.model import Conversation, Message, Role
from gateway.storage.tables import metadata
from shared.ids import new_id
from tests.torture import workload
from tests.torture.browser import browsing, is_there
from tests.torture.figure import Figure, span
from tests.torture.gateway_rig import READ_S, Rig, open_raw, rig

if TYPE_CHECKING:
    from playwright.async_api import Page

PROMISE = "forms, fetches, streams, images, frames and messages of a foreign page, and foreign Hosts: no act, no byte"
FULL = 2_000
SHORT = 24
SECRET = "le secret de la maison"
EVIL = "http://evil.example"
ATTACK_MS = 1_000
"""The longest that one attack may take; a stream that opened would go on for ever."""
SHARE = 0.25
"""Attacks by a browser; the rest by hand-made requests."""
HOSTS = (
    "evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "[::ffff:1.2.3.4]", "0x7f.1.evil", "", "*",
    "127.0.0.1@evil.example", "evil.example:{port}", "127.0.0.1:{port}.evil.example", "xn--e1awd7f.example", "..",
)  # fmt: skip
ORIGINS = (
    EVIL,
    "null",
    "https://evil.example:443",
    "http://127.0.0.1.evil.example",
    "http://localhost.evil",
    "file://",
)
ATTACKS = Path(__file__).with_name("foreign_page.js").read_text("utf-8")
KINDS = (
    "form", "form", "simple", "cors", "borrowed", "read", "beacon", "source", "image", "script", "style", "socket",
    "frame", "opened",
)  # fmt: skip
ALLOWED = ("", '{"status":"ok"}')


async def run(n: int, seed: int) -> Figure:
    """Attack `n` times, then look at what is stored; a browser that is not there is noted."""
    workload.quiet()
    dice = random.Random(seed)
    hits: Counter[str] = Counter()
    failures: list[str] = []
    by_browser = int(n * SHARE) if is_there() else 0
    hits["browser absent"] = int(not is_there())
    async with rig() as gateway:
        token, visitor_id = await gateway.visitor()
        conversation = await furnish(gateway, visitor_id)
        before = await fingerprint(gateway)
        for number in range(n - by_browser):
            fault = await by_hand(gateway, token, conversation, dice, hits)
            if fault:
                failures.append(f"seed {seed}, {number}: {fault}")
        if await fingerprint(gateway) != before:
            failures.append(f"seed {seed}: a hand-made request changed something")
        if by_browser:
            told = await with_browser(gateway, token, conversation, by_browser, dice, hits)
            failures += [f"seed {seed}: {fault}" for fault in told]
    return Figure(n, span(seed, 1), failures, dict(sorted(hits.items())))


async def furnish(gateway: Rig, visitor_id: str) -> str:
    """Give the visitor something worth reading."""
    now = gateway.services.clock.now()
    conversation = Conversation(new_id(now), "demo", visitor_id, SECRET, "fr", now, now)
    async with gateway.services.store.transaction() as tx:
        await tx.conversations.add(conversation)
        position = await tx.conversations.take_position(conversation.id, now)
        await tx.messages.add(Message(new_id(now), conversation.id, position, Role.USER, None, SECRET, now))
    return conversation.id


async def fingerprint(gateway: Rig) -> str:
    """Sum up everything that an act could change: the store without who is here, and what the AI was asked.

    A page of ours that a foreign one opens is at home, and follows its stream: who is here changes by that.
    """
    counted: dict[str, int] = {"asked": len(gateway.assistant.questions)}
    async with gateway.services.store.transaction() as tx:
        for name, table in metadata.tables.items():
            if name in {"sessions", "visitors", "events", "streams", "presence", "presence_streams"}:
                continue
            rows = await tx.events._connection.rows(select(func.count().label("count")).select_from(table))
            counted[name] = rows[0]["count"]
    return json.dumps(counted, sort_keys=True)


async def by_hand(gateway: Rig, token: str, conversation: str, dice: random.Random, hits: Counter[str]) -> str:
    """Send a visitor's own token from a foreign page, or to a name that is not ours (DNS rebinding)."""
    method, path, body = dice.choice((
        ("GET", f"/v1/conversations/{conversation}", ""),
        ("GET", f"/v1/conversations/{conversation}/messages", ""),
        ("POST", f"/v1/conversations/{conversation}/messages", '{"text":"transmets"}'),
        ("POST", f"/v1/conversations/{conversation}/escalate", ""),
        ("DELETE", f"/v1/conversations/{conversation}", ""),
        ("POST", "/v1/events/ticket", ""),
        ("GET", "/v1/events", ""),
    ))  # fmt: skip
    headers = [f"Authorization: Bearer {token}"]
    kind = dice.choice(("origin", "host"))
    hits[f"foreign {kind}"] += 1
    host = ""
    if kind == "origin":
        headers.append(f"Origin: {dice.choice(ORIGINS)}")
    else:
        host = dice.choice(HOSTS).format(port=gateway.port)
    stream = await open_raw(
        gateway.port, path, *headers, method=method, body=body, host=host if kind == "host" else None
    )
    try:
        status = await stream.head()
        if status not in {400, 403}:
            return f"{method} {path} with {kind} {host or headers[-1]} was answered {status}"
        async with asyncio.timeout(READ_S):
            told = (await stream.reader.read(4_096)).decode("utf-8", "replace")
    finally:
        stream.cut()
    return "it told the secret" if SECRET in told else ""


async def with_browser(
    gateway: Rig, token: str, conversation: str, n: int, dice: random.Random, hits: Counter[str]
) -> list[str]:
    """Let a foreign page try, in a browser in which the visitor is at home."""
    base = f"http://127.0.0.1:{gateway.port}"
    faults: list[str] = []
    async with browsing() as browser:
        context = await browser.new_context()
        await context.route(f"{EVIL}/**", lambda route: route.fulfill(content_type="text/html", body="<body></body>"))
        home = await context.new_page()
        await home.goto(f"{base}/status")
        kept = json.dumps({"token": token, "visitor_id": "x", "expires_at": "2999-01-01T00:00:00Z"})
        await home.evaluate(f"localStorage.setItem('passeur.session.127.0.0.1:{gateway.port}.pk_demo', {kept!r})")
        page = await context.new_page()
        await page.goto(f"{EVIL}/")
        before = await fingerprint(gateway)
        for _ in range(n):
            kind = dice.choice(KINDS)
            hits[f"browser: {kind}"] += 1
            found = await attack(page, base, conversation, kind, dice)
            if found not in ALLOWED:
                faults.append(f"{kind} read {found[:200]!r}")
            if page.url != f"{EVIL}/":
                await page.goto(f"{EVIL}/")
            now = await fingerprint(gateway)
            if now != before:
                faults.append(f"{kind} changed {before} to {now}")
                before = now
        await context.close()
    return faults


async def attack(page: Page, base: str, conversation: str, kind: str, dice: random.Random) -> str:
    """Do one thing and tell what could be read."""
    ids = {"conversation": conversation, "guess": f"{dice.getrandbits(256):064x}"}
    return str(await page.evaluate(ATTACKS, [base, ids, kind, dice.random(), ATTACK_MS]))
