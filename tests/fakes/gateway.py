"""A real gateway whose AI server is scripted: `python -m tests.fakes.gateway --port 8080`, for working on the pages.

What you ask decides what happens: «lent» streams slowly, «rien» finds nothing, «panne» fails, «bonjour» greets,
«long» answers at length, anything else is answered with citations.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from aiohttp import web

from gateway.app import build_app
from gateway.assistant.contract import Citation, Outcome, Passage, Question, Result, Step, TurnEvent
from gateway.attachments.contract import Darkroom
from gateway.attachments.darkroom import ChildDarkroom
from gateway.events.exchange import Exchange
from gateway.events.hub import Hub
from gateway.events.relay import Relay
from gateway.identity.origins import HostGuard
from gateway.identity.projects import Project, Projects, PublicKey
from gateway.identity.sessions import SessionService, digest
from gateway.pending.service import Clarifications
from gateway.storage.contract import Store
from gateway.storage.postgres import open_postgres
from gateway.storage.sqlite import open_sqlite
from gateway.storage.staff import StaffMember, StaffRole
from gateway.turns.service import TurnService
from gateway.web.frames import HttpEncoder
from gateway.web.services import Limits, LimitSettings, Services
from gateway.web.support import open_support
from shared.clock import Clock, SystemClock
from shared.errors import ProviderOverloaded
from tests.fakes.assistant import Pause, ScriptedAssistant, answering, ending

OPERATOR_TOKEN = "op_of-the-tests"
STATIC = Path(__file__).resolve().parents[2] / "gateway" / "static"
DEMO = Project(
    id="demo",
    name="Passeur",
    languages=("fr", "en", "es"),
    default_language="fr",
    public_keys=(PublicKey("pk_demo", frozenset({"https://listed.example"})),),
    anonymous_contexts=({"scope": ("docs",), "audience": ("public",)},),
    expose_model=True,
    expose_cost=True,
)
ANSWER = (
    "Passeur répond à partir de **vos documents** et cite ses sources. "
    "Quand il ne sait pas, il le dit :\n\n- il demande de reformuler deux fois ;\n- puis il propose une personne."
)
PASSAGES = {
    "chunk-1": Passage(
        "chunk-1",
        "Ce que fait Passeur",
        "https://docs.example/passeur",
        "Répondre",
        "Passeur répond à partir de vos documents et cite ses sources. Il ne devine pas.",
        "fr",
    ),
    "chunk-2": Passage(
        "chunk-2",
        "Quand il ne sait pas",
        None,
        "Reformuler",
        "Il demande de reformuler deux fois, puis propose une personne.",
        "fr",
    ),
}
CITATIONS = (
    Citation("c1", "chunk-1", "Ce que fait Passeur", "https://docs.example/passeur", "cite ses sources", 67),
    Citation("c2", "chunk-2", "Quand il ne sait pas", None, "reformuler deux fois", len(ANSWER)),
)


def demo_script(question: Question) -> Sequence[TurnEvent | Pause | ProviderOverloaded]:
    """Decide by what was asked."""
    asked = question.text.casefold()
    if "rien" in asked or "nothing" in asked:
        return ending(Outcome.INSUFFICIENT_CONTEXT, language=question.language_hint)
    if "panne" in asked:
        error = ProviderOverloaded("mistral", "is overloaded", started=False, error_class="overloaded")
        return [Step("intent"), Step("retrieve"), Step("generate"), Pause(0.5), error]
    if asked.startswith(("bonjour", "hello", "hola")):
        return [Step("intent"), Result(Outcome.ANSWERED, "Bonjour ! Que cherchez-vous ?", "fr", greeting=True)]
    if "long" in asked:
        return answering((ANSWER + "\n\n") * 12, pace_s=0.01, words=2)
    return answering(ANSWER, citations=CITATIONS, pace_s=0.25 if "lent" in asked or "slow" in asked else 0.03)


@dataclass(frozen=True)
class Shared:
    """What a gateway shares with others."""

    database_url: str
    exchange: Exchange


@asynccontextmanager
async def open_services(
    folder: Path,
    assistant: ScriptedAssistant,
    *,
    clock: Clock | None = None,
    limits: LimitSettings | None = None,
    projects: Sequence[Project] = (DEMO,),
    static: Path = STATIC,
    darkroom: Darkroom | None = None,
    shared: Shared | None = None,
) -> AsyncIterator[Services]:
    """Open a gateway's services on a private folder, or on what it shares with other gateways."""
    clock = clock or SystemClock()
    known = Projects(projects)
    hub = Hub(HttpEncoder(known), clock)
    relay = None if shared is None else Relay(hub, shared.exchange, clock)
    if shared is None:
        store: Store = await open_sqlite(folder, clock, hub)
    else:
        store = await open_postgres(shared.database_url, clock, relay or hub)
    hub.bind(store)
    if relay is not None:
        relay.bind(store)
    pending = Clarifications(clock)
    support = open_support(
        store, relay or hub, assistant, darkroom or ChildDarkroom(), clock=clock, folder=folder / "attachments",
        pending=pending,
        operator_token_hash=digest(OPERATOR_TOKEN),
    )  # fmt: skip
    turns = TurnService(
        store, assistant, relay or hub.texts, clock,
        desk=support.tickets, enclosures=support.attachments, pending=pending,
    )  # fmt: skip
    support.meet(turns)
    services = Services(
        store=store,
        sessions=SessionService(store, clock),
        turns=turns,
        hub=hub,
        relay=relay,
        assistant=assistant,
        projects=known,
        limits=Limits(limits or LimitSettings(), clock),
        hosts=HostGuard({"127.0.0.1", "localhost"}),
        clock=clock,
        static=static,
        support=support,
        pending=pending,
    )
    try:
        yield services
    finally:
        await turns.close(grace_s=0)
        await support.close()
        await assistant.close()
        if relay is not None:
            await relay.close()
        await store.close()


async def migrate(folder: Path) -> None:
    """Leave an empty store in a folder, to be copied: the migrations cost ten times what opening it does."""
    clock = SystemClock()
    await (await open_sqlite(folder, clock, Hub(HttpEncoder(Projects(())), clock))).close()


PASSWORD = "correct horse battery"


async def staff_member(
    services: Services, login: str, *, name: str = "", role: StaffRole = "agent", project: str = "demo"
) -> StaffMember:
    """Give someone an account, with `PASSWORD`."""
    member, _ = await services.support.staff.add(project, login, name=name or login, role=role, password=PASSWORD)
    return member


@asynccontextmanager
async def serving(services: Services, port: int = 0, *, cancels: bool = True) -> AsyncIterator[str]:
    """Serve them on loopback and tell the address. `cancels`: whether a handler ends with its client's connection."""
    runner = web.AppRunner(build_app(services), handler_cancellation=cancels, access_log=None, shutdown_timeout=2)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        services.hub.close()
        await runner.cleanup()


async def main(port: int, folder: Path) -> None:
    """Serve until interrupted."""
    assistant = ScriptedAssistant(demo_script, PASSAGES)
    generous = replace(LimitSettings(), messages=replace(LimitSettings().messages, burst=1000, per_minute=1000))
    async with open_services(folder, assistant, limits=generous) as services, serving(services, port) as url:
        await staff_member(services, "ana", name="Ana Ortiz", role="admin")
        await staff_member(services, "ben", name="Ben Adler")
        print(f"{url}/chat", flush=True)
        print(f"{url}/inbox (ana or ben, {PASSWORD})", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--data", type=Path, default=None)
    arguments = parser.parse_args()
    chosen = arguments.data or Path(tempfile.mkdtemp(prefix="passeur-gateway-"))
    with suppress(KeyboardInterrupt):
        asyncio.run(main(arguments.port, chosen))
