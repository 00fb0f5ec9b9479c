"""OpenAI's chat format with the dialects of those who took it over."""

from __future__ import annotations

from typing import Any

from tests.simulator.plan import Frame, Plan, pieces, sse
from tests.simulator.prompt import Prompt, PromptBuilder

FINISH = {"stop": "stop", "length": "length", "refused": "content_filter", "null_last": "stop"}


class OpenAIWire:
    """Everyone at `/chat/completions`."""

    def prompt(self, body: dict[str, Any]) -> Prompt:
        built = PromptBuilder()
        for tool in body.get("tools") or []:
            built.add(tool)
        for message in body["messages"]:
            built.add(f"<|{message['role']}|>")
            content = message.get("content")
            for part in content if isinstance(content, list) else [{"type": "text", "text": content or ""}]:
                if part["type"] == "text":
                    built.add(part["text"])
                else:
                    built.image(part["image_url"]["url"])
            for call in message.get("tool_calls") or []:
                built.add(call["function"])
        return built.done()

    def frames(self, plan: Plan) -> list[Frame]:
        script = plan.script
        found: list[Frame] = []
        if script.empty_choices:
            found.append(Frame("other", self._chunk(plan, [])))
        if script.thoughts:
            found.append(self._delta(plan, {"reasoning_content": script.thoughts, "content": None}))
        cumulative = script.usage == "cumulative"
        for index, text in enumerate(script.chunks):
            extra = {"usage": usage(plan, part=(index + 1) / len(script.chunks))} if cumulative else {}
            found.append(Frame("text", self._chunk(plan, [_choice({"role": "assistant", "content": text})], **extra)))
        for position, call in enumerate(script.calls):
            head = {"index": position, "id": call.call_id, "type": "function"}
            first, *rest = pieces(call.arguments, call.fragments)
            opened = {**head, "function": {"name": call.name, "arguments": first}}
            found.append(self._delta(plan, {"tool_calls": [opened]}))
            for piece in rest:
                more = {"index": position, "function": {"arguments": piece}}
                found.append(self._delta(plan, {"tool_calls": [more]}))
        return [*found, *self._ending(plan, cumulative=cumulative)]

    def _ending(self, plan: Plan, *, cumulative: bool) -> list[Frame]:
        script = plan.script
        reason = "tool_calls" if script.calls else FINISH[script.finish]
        said = usage(plan)
        last: dict[str, Any] = {}
        if cumulative and said:
            last = {"usage": said}
        if plan.family == "groq" and said:
            last = {"x_groq": {"id": "req_1", "usage": said}}
        found = [Frame("other", self._chunk(plan, [_choice({}, reason)], **last))]
        if plan.family == "openrouter" or script.finish == "null_last":
            found.append(Frame("other", self._chunk(plan, [_choice({"content": ""})], usage=said)))
        elif said and not last:
            copies = 2 if script.usage == "duplicated" else 1
            found += [Frame("other", self._chunk(plan, [], usage=said))] * copies
        return [*found, Frame("other", sse("[DONE]"))]

    def whole(self, plan: Plan) -> dict[str, Any]:
        script = plan.script
        if script.error_in_200:
            return {"id": "x", "object": "chat.completion", "choices": None, "error": {"message": "no", "code": 502}}
        message: dict[str, Any] = {"role": "assistant", "content": plan.text or None}
        if script.calls:
            message["tool_calls"] = [
                {"id": each.call_id, "type": "function", "function": {"name": each.name, "arguments": each.arguments}}
                for each in script.calls
            ]
        reason = "tool_calls" if script.calls else FINISH[script.finish]
        answer = {
            "id": f"chatcmpl-{plan.number}",
            "object": "chat.completion",
            "created": 1,
            "model": plan.model,
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        }
        if said := usage(plan):
            answer["usage"] = said
        if script.service_tier:
            answer["service_tier"] = script.service_tier
        return answer

    def error(self, status: int, text: str) -> dict[str, Any]:
        return {"error": {"message": text or "simulated", "type": "simulated_error", "code": str(status)}}

    def error_frame(self, status: int) -> bytes:
        return sse({"error": {"message": "Overloaded", "code": status}})

    def _delta(self, plan: Plan, delta: dict[str, Any]) -> Frame:
        return Frame("other", self._chunk(plan, [_choice(delta)]))

    def _chunk(self, plan: Plan, choices: list[dict[str, Any]], **extra: Any) -> bytes:
        tier = {"service_tier": plan.script.service_tier} if plan.script.service_tier else {}
        head = {"id": f"chatcmpl-{plan.number}", "object": "chat.completion.chunk", "created": 1, "model": plan.model}
        return sse({**head, "choices": choices, **tier, **{key: value for key, value in extra.items() if value}})


def _choice(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    return {"index": 0, "delta": delta, "finish_reason": reason}


def usage(plan: Plan, part: float = 1.0) -> dict[str, Any] | None:
    """Say the usage as the family does; `part` of the output for a cumulative report."""
    used, mode = plan.used, plan.script.usage
    if mode == "missing":
        return None
    if mode == "zero":
        return {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    output, reasoning = int(used.output * part), used.reasoning
    completion = output if plan.family == "xai" else output + reasoning
    said: dict[str, Any] = {
        "prompt_tokens": used.prompt,
        "completion_tokens": completion,
        "total_tokens": used.prompt + output + reasoning,
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }
    if plan.family == "deepseek":
        said |= {"prompt_cache_hit_tokens": used.cached, "prompt_cache_miss_tokens": used.input}
    else:
        said["prompt_tokens_details"] = {"cached_tokens": used.cached, "cache_write_tokens": used.cache_write}
    if mode == "inconsistent":
        said["prompt_tokens_details"] = {"cached_tokens": used.prompt + 1}
        said["prompt_cache_hit_tokens"] = used.prompt + 1
    if plan.family == "openrouter":
        said["cost"] = plan.cost_nanousd / 10**9
    return said
