"""Anthropic's Messages format."""

from __future__ import annotations

from typing import Any

from tests.simulator.plan import Frame, Plan, pieces, sse
from tests.simulator.prompt import Prompt, PromptBuilder

FINISH = {"stop": "end_turn", "length": "max_tokens", "refused": "refusal", "null_last": "end_turn"}


class AnthropicWire:
    """Named events, cumulative usage in `message_delta`, breakpoints set by the caller."""

    def prompt(self, body: dict[str, Any]) -> Prompt:
        built = PromptBuilder()
        for tool in body.get("tools") or []:
            built.add(
                {key: value for key, value in tool.items() if key != "cache_control"}, breakpoint_after=_marked(tool)
            )
        system = body.get("system") or []
        for part in [{"text": system}] if isinstance(system, str) else system:
            built.add(part["text"], breakpoint_after=_marked(part))
        for message in body["messages"]:
            built.add(f"<|{message['role']}|>")
            content = message["content"]
            for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
                if part.get("type") == "image":
                    built.image(part["source"]["data"])
                elif part.get("type") == "text":
                    built.add(part["text"], breakpoint_after=_marked(part))
                else:
                    plain = {key: value for key, value in part.items() if key != "cache_control"}
                    built.add(plain, breakpoint_after=_marked(part))
        return built.done()

    def frames(self, plan: Plan) -> list[Frame]:
        script = plan.script
        start = {
            "id": f"msg_{plan.number}",
            "type": "message",
            "role": "assistant",
            "model": plan.model,
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {**_inputs(plan), "output_tokens": 1},
        }
        found = [_event("message_start", message=start), _event("ping")]
        if script.unknown_event:
            found.append(_event("brand_new_thing", content="not a block", delta=None, usage="none"))
        index = 0
        if script.thoughts:
            block = {"type": "thinking", "thinking": "", "signature": ""}
            found.append(_event("content_block_start", index=index, content_block=block))
            shown = {"type": "thinking_delta", "thinking": script.thoughts}
            signed = {"type": "signature_delta", "signature": "c2lnbmVk"}
            found += [_event("content_block_delta", index=index, delta=delta) for delta in (shown, signed)]
            found.append(_event("content_block_stop", index=index))
            index += 1
        if script.chunks:
            found.append(_event("content_block_start", index=index, content_block={"type": "text", "text": ""}))
            for text in script.chunks:
                delta = {"type": "text_delta", "text": text}
                found.append(_event("content_block_delta", kind="text", index=index, delta=delta))
            found.append(_event("content_block_stop", index=index))
            index += 1
        for number, call in enumerate(script.calls, start=index):
            block = {"type": "tool_use", "id": call.call_id, "name": call.name, "input": {}}
            found.append(_event("content_block_start", index=number, content_block=block))
            for piece in pieces(call.arguments, call.fragments):
                delta = {"type": "input_json_delta", "partial_json": piece}
                found.append(_event("content_block_delta", index=number, delta=delta))
            found.append(_event("content_block_stop", index=number))
        return [*found, *self._ending(plan)]

    def _ending(self, plan: Plan) -> list[Frame]:
        script = plan.script
        delta = {"stop_reason": "tool_use" if script.calls else FINISH[script.finish], "stop_sequence": None}
        said = usage(plan)
        found: list[Frame] = []
        if script.usage == "cumulative":
            early = {**(said or {}), "output_tokens": max(1, plan.used.output // 2)}
            found.append(_event("message_delta", delta={"stop_reason": None, "stop_sequence": None}, usage=early))
        ending = {"delta": delta} if said is None else {"delta": delta, "usage": said}
        found += [_event("message_delta", **ending)] * (2 if script.usage == "duplicated" else 1)
        return [*found, _event("message_stop")]

    def whole(self, plan: Plan) -> dict[str, Any]:
        script = plan.script
        content: list[dict[str, Any]] = []
        if script.thoughts:
            content.append({"type": "thinking", "thinking": script.thoughts, "signature": "c2lnbmVk"})
        if plan.text:
            content.append({"type": "text", "text": plan.text})
        content += [_tool_use(each) for each in script.calls]
        answer = {
            "id": f"msg_{plan.number}",
            "type": "message",
            "role": "assistant",
            "model": plan.model,
            "content": content,
            "stop_reason": "tool_use" if script.calls else FINISH[script.finish],
            "stop_sequence": None,
        }
        said = usage(plan)
        return answer if said is None else {**answer, "usage": said}

    def error(self, status: int, text: str) -> dict[str, Any]:
        return {"type": "error", "error": {"type": "simulated_error", "message": text or "simulated"}}

    def error_frame(self, status: int) -> bytes:
        kind = "overloaded_error" if status in {503, 529} else "api_error"
        return sse({"type": "error", "error": {"type": kind, "message": "Overloaded"}}, "error")


def _event(name: str, kind: Any = "other", **data: Any) -> Frame:
    return Frame(kind, sse({"type": name, **data}, name))


def _tool_use(call: Any) -> dict[str, Any]:
    import json

    return {"type": "tool_use", "id": call.call_id, "name": call.name, "input": json.loads(call.arguments)}


def _marked(part: dict[str, Any]) -> bool:
    return bool(part.get("cache_control"))


def _inputs(plan: Plan) -> dict[str, Any]:
    used = plan.used
    if plan.script.usage == "zero":
        return {"input_tokens": 0, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    return {
        "input_tokens": used.input,
        "cache_read_input_tokens": used.cached,
        "cache_creation_input_tokens": used.cache_write,
        "cache_creation": {"ephemeral_5m_input_tokens": used.cache_write, "ephemeral_1h_input_tokens": 0},
        "service_tier": plan.script.service_tier or "standard",
    }


def usage(plan: Plan) -> dict[str, Any] | None:
    """Say the usage at the end."""
    used, mode = plan.used, plan.script.usage
    if mode == "missing":
        return None
    if mode == "zero":
        return {**_inputs(plan), "output_tokens": 0}
    said = {**_inputs(plan), "output_tokens": used.output + used.reasoning}
    said["output_tokens_details"] = {"thinking_tokens": used.reasoning}
    if mode == "inconsistent":
        said["output_tokens_details"] = {"thinking_tokens": said["output_tokens"] + 1}
    return said
