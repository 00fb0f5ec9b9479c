"""The simulator's server: routes, scripts, bills."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from aiohttp import web

from tests.simulator.anthropic_wire import AnthropicWire
from tests.simulator.conduct import abort, send_stream
from tests.simulator.gemini_wire import GeminiWire
from tests.simulator.invoice import Line, Used, price
from tests.simulator.mistral_wire import MistralWire
from tests.simulator.openai_wire import OpenAIWire
from tests.simulator.plan import Plan, Wire
from tests.simulator.prompt import PrefixCache, Prompt, count
from tests.simulator.responses_wire import ResponsesWire
from tests.simulator.script import Script

OPENAI_FAMILIES = ("openai", "groq", "deepseek", "xai", "openrouter", "ollama", "compatible")
WIRES: dict[str, Wire] = {
    **dict.fromkeys(OPENAI_FAMILIES, OpenAIWire()),
    "perplexity": ResponsesWire(),
    "mistral": MistralWire(),
    "anthropic": AnthropicWire(),
    "gemini": GeminiWire(),
}
BODY_LIMIT = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Received:
    """One request as it arrived."""

    family: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Simulator:
    """Holds scripts, what was received, and the invoice. Use it in process, or over its control interface."""

    def __init__(self, *, caching: bool = False, now: Any = None) -> None:
        """`caching`: apply the providers' prefix-cache rules. `now`: the hour that prices depend on."""
        self.caching = caching
        self.default = Script()
        self.counting = Script()
        """What token counters do: they take no script of the queue, because nothing is billed for them."""
        self.received: list[Received] = []
        self.lines: list[Line] = []
        self.down: set[str] = set()
        self.dimension: dict[str, int] = {}
        self._scripts: deque[Script] = deque()
        self._cache = PrefixCache()
        self._now = now or (lambda: datetime.now(UTC))
        self._runner: web.AppRunner | None = None
        self.url = ""

    def script(self, *scripts: Script) -> None:
        """Queue scripts for the next calls."""
        self._scripts.extend(scripts)

    def reset(self) -> None:
        """Forget everything but the default script."""
        self.received.clear()
        self.lines.clear()
        self.down.clear()
        self.counting = Script()
        self._scripts.clear()
        self._cache = PrefixCache()

    @property
    def total_nanousd(self) -> int:
        """Sum the invoice."""
        return sum(line.cost_nanousd for line in self.lines)

    async def start(self, port: int = 0) -> Simulator:
        """Listen on loopback; port 0 takes a free one."""
        app = web.Application(client_max_size=BODY_LIMIT)
        self._route(app)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.5)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        port = self._runner.addresses[0][1]
        self.url = f"http://127.0.0.1:{port}"
        return self

    async def stop(self) -> None:
        """Close the listener and its connections."""
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def _route(self, app: web.Application) -> None:
        post = app.router.add_post
        post("/_sim/scripts", self._add_scripts)
        post("/_sim/default", self._set_default)
        post("/_sim/reset", self._reset)
        post("/_sim/down", self._set_down)
        app.router.add_get("/_sim/invoice", self._show_invoice)
        post("/mistral/v1/chat/completions", self._chat)
        post("/mistral/v1/embeddings", self._embed)
        post("/perplexity/v1/responses", self._chat)
        post("/{family}/v1/chat/completions", self._chat)
        post("/{family}/v1/embeddings", self._embed)
        post("/anthropic/v1/messages", self._chat)
        post("/anthropic/v1/messages/count_tokens", self._count)
        post("/gemini/{path:.*}/models/{model}:{verb}", self._gemini)

    # ------------------------------------------------------------ calls

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        return await self._answer(request, body, body["model"], stream=bool(body.get("stream")))

    async def _gemini(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        verb, model = request.match_info["verb"], request.match_info["model"]
        if verb == "countTokens":
            return await self._count(request)
        if verb in {"batchEmbedContents", "embedContent", "predict"}:
            return await self._gemini_embed(request, body, model, verb)
        return await self._answer(request, body, model, stream=verb == "streamGenerateContent")

    async def _answer(
        self, request: web.Request, body: dict[str, Any], model: str, *, stream: bool
    ) -> web.StreamResponse:
        family, wire, script = self._accept(request, body)
        if script.latency_s:
            await asyncio.sleep(script.latency_s)
        if (refused := self._refused(request, family, wire, script)) is not None:
            return refused
        plan = self._plan(family, model, wire.prompt(body), script)
        self._bill(request, plan, stream=stream)
        if script.drop:
            abort(request)
            return web.Response()
        if not stream or script.error_in_200:
            if script.pace_s:
                await asyncio.sleep(script.pace_s * len(script.chunks))
            answer = wire.error(502, "upstream") if script.error_in_200 and family != "openai" else wire.whole(plan)
            return web.json_response(answer)
        return await send_stream(request, wire.frames(plan), script, wire.error_frame(script.error_status))

    def _accept(
        self, request: web.Request, body: dict[str, Any], script: Script | None = None
    ) -> tuple[str, Wire, Script]:
        family = request.match_info.get("family") or request.path.split("/")[1]
        if family not in WIRES:
            raise web.HTTPNotFound
        self.received.append(Received(family, request.path_qs, dict(request.headers), body))
        if script is None:
            script = self._scripts.popleft() if self._scripts else self.default
        return family, WIRES[family], script

    def _refused(self, request: web.Request, family: str, wire: Wire, script: Script) -> web.Response | None:
        status = 503 if family in self.down else script.status
        if status is None:
            return None
        key = request.headers.get("Authorization", "").removeprefix("Bearer ")
        key = key or request.headers.get("x-api-key", "") or request.headers.get("x-goog-api-key", "")
        text = script.error_text.replace("{key}", key)
        return web.json_response(wire.error(status, text), status=status)

    def _plan(self, family: str, model: str, prompt: Prompt, script: Script) -> Plan:
        read, written = (0, 0)
        if self.caching:
            now = self._now().timestamp()
            read, written = self._cache.use(family, model, prompt, now)
        total = prompt.tokens if script.prompt_tokens is None else script.prompt_tokens
        cached = read if script.cached_tokens is None else script.cached_tokens
        write = written if script.cache_write_tokens is None else script.cache_write_tokens
        said = script.chunks if script.error_after is None else script.chunks[: script.error_after]
        calls = "".join(call.name + call.arguments for call in script.calls)
        output = count("".join(said) + calls) if script.output_tokens is None else script.output_tokens
        used = Used(
            input=total - cached - write,
            cached=cached,
            cache_write=write,
            output=output,
            reasoning=script.reasoning_tokens,
            tool_use=script.tool_use_tokens,
        )
        return Plan(family, model, len(self.lines), script, used, price(family, model, used, self._now()))

    def _bill(self, request: web.Request, plan: Plan, *, stream: bool) -> None:
        script = plan.script
        faults = (script.error_after, script.stall_after, script.cut_after, script.cut_at_byte)
        broken = script.drop or (stream and any(fault is not None for fault in faults)) or script.error_in_200
        sent = not broken and script.usage not in {"missing", "zero", "inconsistent"}
        self.lines.append(
            Line(
                family=plan.family,
                model=plan.model,
                request_id=request.headers.get("X-Client-Request-Id", ""),
                used=plan.used,
                at=self._now(),
                usage_sent=sent,
                outcome="broken" if broken else "whole",
            )
        )

    async def _count(self, request: web.Request) -> web.Response:
        body = await request.json()
        family, wire, script = self._accept(request, body, self.counting)
        if script.latency_s:
            await asyncio.sleep(script.latency_s)
        if (refused := self._refused(request, family, wire, script)) is not None:
            return refused
        tokens = wire.prompt(body).tokens
        return web.json_response({"totalTokens": tokens} if family == "gemini" else {"input_tokens": tokens})

    # ------------------------------------------------------------ embeddings

    async def _embed(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        given = body["input"]
        texts = [given] if isinstance(given, str) else given
        answer = await self._embedded(request, body, body["model"], texts)
        if isinstance(answer, web.Response):
            return answer
        rows, used = answer
        data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]
        said = {"prompt_tokens": used.input, "total_tokens": used.input, "completion_tokens": 0}
        whole: dict[str, Any] = {"id": "emb", "object": "list", "model": body["model"], "data": data}
        return web.json_response({**whole, "usage": said})

    async def _gemini_embed(
        self, request: web.Request, body: dict[str, Any], model: str, verb: str
    ) -> web.StreamResponse:
        if verb == "predict":
            texts = [each["content"] for each in body["instances"]]
        else:
            asked = body["requests"] if verb == "batchEmbedContents" else [body]
            texts = ["".join(part["text"] for part in each["content"]["parts"]) for each in asked]
        answer = await self._embedded(request, body, model, texts)
        if isinstance(answer, web.Response):
            return answer
        rows, used = answer
        if verb == "predict":
            share = [count(text) for text in texts]
            predictions = [
                {"embeddings": {"values": row, "statistics": {"token_count": tokens, "truncated": False}}}
                for row, tokens in zip(rows, share, strict=True)
            ]
            return web.json_response({"predictions": predictions})
        embeddings = [{"values": row} for row in rows]
        whole: dict[str, Any] = (
            {"embeddings": embeddings} if verb == "batchEmbedContents" else {"embedding": embeddings[0]}
        )
        return web.json_response({**whole, "usageMetadata": {"promptTokenCount": used.input}})

    async def _embedded(
        self, request: web.Request, body: dict[str, Any], model: str, texts: list[str]
    ) -> web.Response | tuple[list[list[float]], Used]:
        family, wire, script = self._accept(request, body)
        if script.latency_s:
            await asyncio.sleep(script.latency_s)
        if (refused := self._refused(request, family, wire, script)) is not None:
            return refused
        used = Used(input=sum(count(text) for text in texts))
        plan = Plan(family, model, len(self.lines), script, used, price(family, model, used, self._now()))
        self._bill(request, plan, stream=False)
        if script.drop:
            abort(request)
            return web.Response()
        size = self.dimension.get(model, 64)
        return [vector(text, size) for text in texts], used

    # ------------------------------------------------------------ control

    async def _add_scripts(self, request: web.Request) -> web.Response:
        data = await request.json()
        try:
            self.script(*(Script.from_json(each) for each in (data if isinstance(data, list) else [data])))
        except (ValueError, TypeError) as exc:
            return web.json_response({"error": str(exc)}, status=400)
        return web.json_response({"queued": len(self._scripts)})

    async def _set_default(self, request: web.Request) -> web.Response:
        try:
            self.default = Script.from_json(await request.json())
        except (ValueError, TypeError) as exc:
            return web.json_response({"error": str(exc)}, status=400)
        return web.json_response({})

    async def _reset(self, request: web.Request) -> web.Response:
        self.reset()
        return web.json_response({})

    async def _set_down(self, request: web.Request) -> web.Response:
        data = await request.json()
        (self.down.add if data["down"] else self.down.discard)(data["family"])
        return web.json_response({"down": sorted(self.down)})

    async def _show_invoice(self, request: web.Request) -> web.Response:
        lines = [line.to_json() for line in self.lines]
        return web.json_response({"total_nanousd": self.total_nanousd, "lines": lines})


def vector(text: str, size: int) -> list[float]:
    """Make a vector that depends on the words, so that like texts are close."""
    row = [0.0] * size
    for word in text.casefold().split():
        digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        row[int.from_bytes(digest[:4], "big") % size] += 1.0 if digest[4] % 2 else -1.0
    return row if any(row) else [1.0, *row[1:]]


@contextlib.asynccontextmanager
async def running(**options: Any) -> Any:
    """Run a simulator for a while."""
    simulator = await Simulator(**options).start()
    try:
        yield simulator
    finally:
        await simulator.stop()


def failing(times: int, script: Script) -> Iterable[Script]:
    """Repeat a script, each a fresh copy."""
    return [replace(script) for _ in range(times)]
