"""The Responses format as Perplexity's Agent API speaks it; strict as it is: a field that it does not know is refused.

Events, null fields and the rounding of the cost are those of answers recorded on 2026-09-22 and 2026-09-25; fields and
terminal events as in https://docs.perplexity.ai/docs/agent-api/migrate-from-sonar/how-to.
"""

from __future__ import annotations

import json
from typing import Any

from aiohttp import web

from tests.simulator.plan import Frame, Plan, sse
from tests.simulator.prompt import Prompt, PromptBuilder

MODELS = frozenset({"perplexity/sonar"})
FIELDS = frozenset(
    {
        *("model", "models", "preset", "input", "instructions", "previous_response_id", "language_preference"),
        *("max_output_tokens", "max_steps", "max_tool_calls", "parallel_tool_calls", "tools", "tool_choice"),
        *("temperature", "top_p", "reasoning", "response_format", "truncation", "stream", "stream_options"),
        *("background", "store", "metadata", "include", "prompt_cache_key"),
    }
)
ITEM_FIELDS = {
    "message": frozenset({"type", "role", "content"}),
    "function_call": frozenset({"type", "call_id", "name", "arguments", "thought_signature"}),
    "function_call_output": frozenset({"type", "call_id", "name", "output", "thought_signature"}),
}
PART_FIELDS = {"input_text": frozenset({"type", "text"}), "input_image": frozenset({"type", "image_url"})}
TOOL_FIELDS = {"function": frozenset({"type", "name", "description", "parameters", "strict"})}
INCOMPLETE = {"length": "max_output_tokens", "refused": "content_filter"}


class ResponsesWire:
    """Perplexity at `/v1/responses`."""

    def prompt(self, body: dict[str, Any]) -> Prompt:
        self._known(body, FIELDS)
        if body["model"] not in MODELS:
            self._refuse(f"validation failed: model {body['model']!r} is not supported", "model")
        built = PromptBuilder()
        built.add(body.get("instructions") or "")
        for tool in body.get("tools") or []:
            self._known(tool, TOOL_FIELDS[tool["type"]])
            built.add(tool)
        given = body["input"]
        for item in [{"type": "message", "role": "user", "content": given}] if isinstance(given, str) else given:
            self._known(item, ITEM_FIELDS[item["type"]])
            self._add(built, item)
        return built.done()

    def _add(self, built: PromptBuilder, item: dict[str, Any]) -> None:
        if item["type"] != "message":
            built.add(item)
            return
        built.add(f"<|{item['role']}|>")
        content = item["content"]
        for part in [{"type": "input_text", "text": content}] if isinstance(content, str) else content:
            self._known(part, PART_FIELDS[part["type"]])
            if part["type"] == "input_text":
                built.add(part["text"])
            else:
                built.image(part["image_url"])

    def _known(self, given: dict[str, Any], known: frozenset[str]) -> None:
        for name in given.keys() - known:
            self._refuse(f'invalid request body: json: unknown field "{name}"', name)

    def _refuse(self, message: str, param: str) -> None:
        said = {"error": {"message": message, "type": "invalid_request", "code": 400, "param": param}}
        raise web.HTTPBadRequest(text=json.dumps(said), content_type="application/json")

    def frames(self, plan: Plan) -> list[Frame]:
        script = plan.script
        found: list[dict[str, Any]] = [{"type": "response.created", "response": _response(plan, "in_progress")}]
        early = usage(plan, part=0.5) if script.usage == "cumulative" else None
        found.append({"type": "response.in_progress", "response": _response(plan, "in_progress", usage=early)})
        if script.empty_choices or script.unknown_event:
            found.append({"type": "response.unknown", "response": None, "delta": None, "item": None})
        if script.thoughts:
            found.append({"type": "response.reasoning.started", "thought": script.thoughts})
            found.append({"type": "response.reasoning.stopped", "thought": None, "usage": None})
        place = {"item_id": f"msg_{plan.number}", "output_index": 0, "content_index": 0}
        if script.chunks:
            found.append({"type": "response.output_item.added", "output_index": 0, "item": _message(plan, None)})
            found += [{"type": "response.output_text.delta", "delta": text, **place} for text in script.chunks]
            found.append({"type": "response.output_text.done", "text": plan.text, **place})
        for index, item in enumerate(_output(plan)):
            found.append({"type": "response.output_item.done", "output_index": index, "item": item})
        end = _end(plan)
        found += [{"type": f"response.{end['status']}", "response": end}] * (2 if script.usage == "duplicated" else 1)
        return [
            Frame(
                "text" if each["type"] == "response.output_text.delta" else "other",
                sse({**each, "sequence_number": number}),
            )
            for number, each in enumerate(found)
        ]

    def whole(self, plan: Plan) -> dict[str, Any]:
        return _end(plan)

    def error(self, status: int, text: str) -> dict[str, Any]:
        return {"error": {"message": text or "simulated", "type": "simulated_error", "code": status}}

    def error_frame(self, status: int) -> bytes:
        told = {"code": status, "message": "Overloaded", "type": "simulated_error"}
        failed = {"object": "response", "status": "failed", "error": told, "output": [], "usage": None}
        return sse({"type": "response.failed", "response": failed, "sequence_number": 99})


def _response(plan: Plan, status: str, **more: Any) -> dict[str, Any]:
    return {
        "id": f"resp_{plan.number}",
        "object": "response",
        "created_at": 1,
        "model": plan.model,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "output": [],
        "reasoning": None,
        "service_tier": plan.script.service_tier or "default",
        "usage": None,
        **more,
    }


def _end(plan: Plan) -> dict[str, Any]:
    why = INCOMPLETE.get(plan.script.finish)
    details = {"reason": why} if why else None
    status = "incomplete" if why else "completed"
    return _response(plan, status, output=_output(plan), usage=usage(plan), incomplete_details=details)


def _output(plan: Plan) -> list[dict[str, Any]]:
    said = [{"type": "output_text", "text": plan.text, "annotations": []}]
    calls = [
        {
            "type": "function_call",
            "id": f"fc_{number}",
            "status": "completed",
            "call_id": each.call_id,
            "name": each.name,
            "arguments": each.arguments,
            "thought_signature": "c2lnbmVk",
        }
        for number, each in enumerate(plan.script.calls)
    ]
    return [*([_message(plan, said)] if plan.script.chunks else []), *calls]


def _message(plan: Plan, content: list[dict[str, Any]] | None) -> dict[str, Any]:
    place = {"type": "message", "id": f"msg_{plan.number}", "role": "assistant", "status": "completed"}
    return {**place, "content": content}


def usage(plan: Plan, part: float = 1.0) -> dict[str, Any] | None:
    """Say the usage; `part` of the output for an early report. The cost is rounded to five places, as it is there."""
    used, mode = plan.used, plan.script.usage
    if mode == "missing":
        return None
    if mode == "zero":
        return {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    output = int((used.output + used.reasoning) * part)
    cached = used.prompt + 1 if mode == "inconsistent" else used.cached
    return {
        "input_tokens": used.prompt,
        "input_tokens_details": {
            "cached_tokens": cached,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": used.cache_write,
        },
        "output_tokens": output,
        "output_tokens_details": {"reasoning_tokens": min(used.reasoning, output)},
        "total_tokens": used.prompt + output,
        "tool_calls_details": None,
        "cost": {"currency": "USD", "total_cost": round(plan.cost_nanousd / 10**9, 5)},
    }
