"""Mistral's chat format."""

from __future__ import annotations

from typing import Any

from tests.simulator.openai_wire import OpenAIWire
from tests.simulator.plan import Frame, Plan, pieces, sse
from tests.simulator.prompt import Prompt

FINISH = {"stop": "stop", "length": "length", "refused": "error", "null_last": "stop"}


class MistralWire:
    """Close to OpenAI's, with content lists and usage on the last chunk."""

    def prompt(self, body: dict[str, Any]) -> Prompt:
        return OpenAIWire().prompt(_plain(body))

    def frames(self, plan: Plan) -> list[Frame]:
        script = plan.script
        found: list[Frame] = []
        for index, text in enumerate(script.chunks):
            content: Any = text
            if script.list_content:
                content = [{"type": "text", "text": text}]
                if index == 0:
                    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": script.thoughts or "hm"}]}
                    content = [thinking, *content]
            extra = {"usage": usage(plan)} if script.usage == "cumulative" else {}
            found.append(Frame("text", self._chunk(plan, {"role": "assistant", "content": content}, **extra)))
        for position, call in enumerate(script.calls):
            for number, piece in enumerate(pieces(call.arguments, call.fragments)):
                function = {"name": call.name if number == 0 else "", "arguments": piece}
                made = {"id": call.call_id if number == 0 else "null", "index": position, "function": function}
                found.append(Frame("other", self._chunk(plan, {"content": "", "tool_calls": [made]})))
        reason = "tool_calls" if script.calls else FINISH[script.finish]
        said = usage(plan)
        if script.usage == "late" and said:
            found.append(Frame("other", self._chunk(plan, {"content": ""}, reason)))
            found.append(Frame("other", self._chunk(plan, {"content": ""}, usage=said)))
        else:
            copies = 2 if script.usage == "duplicated" else 1
            found += [Frame("other", self._chunk(plan, {"content": ""}, reason, usage=said))] * copies
        return [*found, Frame("other", sse("[DONE]"))]

    def whole(self, plan: Plan) -> dict[str, Any]:
        script = plan.script
        content: Any = plan.text
        if script.list_content:
            thinking = {"type": "thinking", "thinking": [{"type": "text", "text": script.thoughts or "hm"}]}
            content = [thinking, {"type": "text", "text": plan.text}]
        message: dict[str, Any] = {"role": "assistant", "content": content}
        if script.calls:
            message["tool_calls"] = [
                {"id": each.call_id, "function": {"name": each.name, "arguments": each.arguments}}
                for each in script.calls
            ]
        reason = "tool_calls" if script.calls else FINISH[script.finish]
        return {
            "id": f"cmpl-{plan.number}",
            "object": "chat.completion",
            "created": 1,
            "model": plan.model,
            "usage": usage(plan) or {},
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        }

    def error(self, status: int, text: str) -> dict[str, Any]:
        return {"object": "error", "message": text or "simulated", "type": "simulated", "code": str(status)}

    def error_frame(self, status: int) -> bytes:
        return sse({"object": "error", "message": "Service tier capacity exceeded", "code": str(status)})

    def _chunk(self, plan: Plan, delta: dict[str, Any], reason: str | None = None, **extra: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        head = {"id": f"cmpl-{plan.number}", "object": "chat.completion.chunk", "created": 1, "model": plan.model}
        return sse({**head, "choices": [choice], **{key: value for key, value in extra.items() if value}})


def usage(plan: Plan) -> dict[str, Any] | None:
    """Say the usage; cached tokens come under either of two names."""
    used, mode = plan.used, plan.script.usage
    if mode == "missing":
        return None
    if mode == "zero":
        return {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    completion = used.output + used.reasoning
    said: dict[str, Any] = {
        "prompt_tokens": used.prompt,
        "completion_tokens": completion,
        "total_tokens": used.prompt + completion,
    }
    cached = used.prompt + 1 if mode == "inconsistent" else used.cached
    if plan.number % 2:
        said["prompt_tokens_details"] = {"cached_tokens": cached}
    else:
        said["num_cached_tokens"] = cached
    return said


def _plain(body: dict[str, Any]) -> dict[str, Any]:
    """Write image parts as OpenAI does, so that one prompt builder serves."""
    messages = []
    for message in body["messages"]:
        content = message.get("content")
        if isinstance(content, list):
            content = [
                {"type": "image_url", "image_url": {"url": _url(part["image_url"])}} if "image_url" in part else part
                for part in content
            ]
        messages.append({**message, "content": content})
    return {**body, "messages": messages}


def _url(image: Any) -> str:
    return image if isinstance(image, str) else image["url"]
