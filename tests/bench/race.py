"""One budget, 5,000 racing attempts, 10 % of them cancelled and 5 % failed by the provider: ours and LiteLLM's proxy.

What was spent is read from the provider's own invoice, for both sides alike: a call that was cancelled on the way is
billed by a real provider, too. LiteLLM's budgets belong to keys, and keys belong to a database that its proxy reaches
through Prisma. Without one, a key's budget can still be given by a hook (`custom_auth`); the proxy then checks and
reserves it by its own code, in memory. The same race is run against a budget of the deployment (`max_budget`).
"""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import aiohttp
import grpc

from shared.money import NANO_PER_USD
from shared.pb.passeur.v1 import assistant_pb2, assistant_pb2_grpc, budgets_pb2, budgets_pb2_grpc
from tests.bench import _rig
from tests.bench.measure import Measure

WHAT = (
    "5,000 attempts, 64 at once, on a budget for half of them; 10 % cancelled on the way, 5 % failed by the provider; "
    "spent is what the provider's invoice says"
)
ATTEMPTS = 5_000
AT_ONCE = 64
LATENCY_S = 0.02
WORDS = 150
CAP = 400
INPUT_NANOUSD, OUTPUT_NANOUSD = 100, 500
"""What one token costs, as the catalogue says; LiteLLM is told the same."""

SEED = 1
SETTLE_S = 8.0
"""After the last attempt: calls of cancelled callers are drained for up to 5 s."""

ROUTER = {"disable_cooldowns": True}
"""A deployment whose calls fail now and then would rest for a while: then the race would measure the rest."""

HOOK = """
from litellm.proxy._types import UserAPIKeyAuth

async def user_api_key_auth(request, api_key):
    return UserAPIKeyAuth(api_key=api_key, token="race", max_budget={limit!r}, spend=0.0)
"""

Send = Callable[[], Awaitable[str]]


@dataclass(frozen=True)
class Outcome:
    """What a race came to."""

    spent: int
    limit: int
    answers: Counter[str]

    def measures(self, name: str, *, ours: bool) -> list[Measure]:
        """Write it as figures."""
        told = ", ".join(f"{count} {word}" for word, count in sorted(self.answers.items()))
        over = max(0, self.spent - self.limit)
        use = min(self.spent, self.limit) / self.limit
        goal = ("goal 0; ", "goal 0.97; ") if ours else ("", "")
        return [
            Measure(f"{name}: overspend", over, "nanodollars", note=f"{goal[0]}{over / self.limit:.2%} of the budget"),
            Measure(f"{name}: use of the budget", use, "of the limit", note=goal[1] + told),
        ]


async def race(made: _rig.Rig, limit: int, send: Send) -> Outcome:
    """Let all attempts loose, and read the invoice when the last call must have ended."""
    dice = random.Random(SEED)
    await prepare(made, dice)
    door = asyncio.Semaphore(AT_ONCE)
    answers: Counter[str] = Counter()

    async def attempt(cut_after: float | None) -> None:
        async with door:
            try:
                async with asyncio.timeout(cut_after):
                    answers[await send()] += 1
            except TimeoutError:
                answers["cancelled"] += 1

    cuts = [dice.random() * 2 * LATENCY_S if dice.random() < 0.1 else None for _ in range(ATTEMPTS)]
    await asyncio.gather(*(attempt(each) for each in cuts))
    await asyncio.sleep(SETTLE_S)
    return Outcome(await invoice(made), limit, answers)


async def prepare(made: _rig.Rig, dice: random.Random) -> None:
    """Give the provider its manners: an empty invoice, and every twentieth call fails unbilled."""
    async with aiohttp.ClientSession(made.simulator_url) as session:
        (await session.post("/_sim/reset")).raise_for_status()
        script = {"chunks": ["word "] * WORDS, "latency_s": LATENCY_S, "output_tokens": WORDS}
        (await session.post("/_sim/default", json=script)).raise_for_status()
        scripts = [{**script, "status": 503} if dice.random() < 0.05 else script for _ in range(ATTEMPTS)]
        (await session.post("/_sim/scripts", json=scripts)).raise_for_status()


async def invoice(made: _rig.Rig) -> int:
    """Price what the provider counted."""
    async with aiohttp.ClientSession(made.simulator_url) as session, session.get("/_sim/invoice") as response:
        lines = (await response.json())["lines"]
    return sum(
        each["used"]["input"] * INPUT_NANOUSD + (each["used"]["output"] + each["used"]["reasoning"]) * OUTPUT_NANOUSD
        for each in lines
    )


async def one_cost(made: _rig.Rig, send: Send) -> int:
    """Make one call and tell what it costs, so that the budget can be set to half of all."""
    await send()
    found = await invoice(made)
    assert found > 0, "the first call did not reach the provider"
    return found


async def run() -> list[Measure]:
    """Race ours, then LiteLLM both ways, each on a rig of its own."""
    async with _rig.rig() as made:
        found = await raced_ours(made)
    for name, deployment in (("LiteLLM, key's budget", False), ("LiteLLM, deployment's budget", True)):
        async with _rig.rig() as made:
            found += await raced_litellm(made, name, deployment=deployment)
    return found


async def raced_ours(made: _rig.Rig) -> list[Measure]:
    """Race our server, and compare its ledger with the invoice."""
    await made.simulator(latency=LATENCY_S, chunks=WORDS)
    server = await _rig.our_server(made, "answer,admin")
    metadata = (("authorization", f"Bearer {server.token}"),)
    async with grpc.aio.insecure_channel(server.address) as channel:
        stub = assistant_pb2_grpc.AssistantServiceStub(channel)
        money = budgets_pb2_grpc.BudgetsServiceStub(channel)

        async def send() -> str:
            call = stub.Answer(_request(), metadata=metadata, timeout=60)
            try:
                answer = await call
            finally:
                call.cancel()
            return "answered" if answer.result.provider == "openai" else "went without the model"

        async def balance() -> budgets_pb2.BudgetBalance:
            scope = budgets_pb2.BudgetScope(project_id=_rig.PROJECT)
            asked = budgets_pb2.GetBudgetRequest(scope=scope, period=budgets_pb2.BUDGET_PERIOD_MONTHLY)
            return (await money.GetBudget(asked, metadata=metadata)).balance

        await prepare(made, random.Random(SEED))
        cost = await one_cost(made, send)
        before = (await balance()).settled_nanousd
        limit = cost * ATTEMPTS // 2
        budget = budgets_pb2.Budget(
            scope=budgets_pb2.BudgetScope(project_id=_rig.PROJECT),
            period=budgets_pb2.BUDGET_PERIOD_MONTHLY,
            limit_nanousd=before + limit,
            time_zone="UTC",
        )
        await money.SetBudget(budgets_pb2.SetBudgetRequest(budget=budget), metadata=metadata)
        outcome = await race(made, limit, send)
        after = await balance()
    kept = after.settled_nanousd - before
    return [
        *outcome.measures("ours", ours=True),
        Measure("ours: ledger less invoice", kept - outcome.spent, "nanodollars", note="never below 0"),
        Measure("ours: holds left open", after.open_hold_nanousd, "nanodollars", note="goal 0"),
    ]


def _request() -> assistant_pb2.AnswerRequest:
    return assistant_pb2.AnswerRequest(
        input=assistant_pb2.AnswerInput(
            project_id=_rig.PROJECT, assistant="chat", user="bench", question="Go on.", max_output_token_count=CAP
        )
    )


async def raced_litellm(made: _rig.Rig, name: str, *, deployment: bool) -> list[Measure]:
    """Race LiteLLM's proxy with a budget of the key or of the deployment."""
    await made.simulator(latency=LATENCY_S, chunks=WORDS)
    body = {
        "model": _rig.MODEL,
        "messages": [{"role": "user", "content": "Go on."}],
        "max_completion_tokens": CAP,
    }
    headers = {"Authorization": f"Bearer {_rig.KEY}"}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), headers=headers) as session:

        async def ask(url: str) -> str:
            async with session.post(f"{url}/v1/chat/completions", json=body) as response:
                told = await response.text()
            if response.status == 200:
                return "answered"
            return "refused" if "udget" in told else f"status {response.status}"

        await prepare(made, random.Random(SEED))
        cost = await one_cost(made, lambda: ask(f"{made.simulator_url}/openai"))
        limit = cost * ATTEMPTS // 2
        dollars = limit / NANO_PER_USD
        prices = {"input_cost_per_token": INPUT_NANOUSD / 1e9, "output_cost_per_token": OUTPUT_NANOUSD / 1e9}
        if deployment:
            extra = _rig.Extra({**prices, "max_budget": dollars, "budget_duration": "30d"}, router=ROUTER)
        else:
            extra = _rig.Extra(
                prices,
                router=ROUTER,
                general={"custom_auth": "race_hook.user_api_key_auth", "custom_auth_run_common_checks": True},
                files={"race_hook.py": HOOK.format(limit=dollars)},
            )
        proxy = await _rig.litellm_proxy(made, extra)
        outcome = await race(made, limit, lambda: ask(proxy.url))
    return outcome.measures(f"{name} ({proxy.version})", ours=False)
