"""Gemini's format, alike for the Developer API and Vertex AI."""

from __future__ import annotations

import json
from typing import Any

from tests.simulator.plan import Frame, Plan, sse
from tests.simulator.prompt import Prompt, PromptBuilder

FINISH = {"stop": "STOP", "length": "MAX_TOKENS", "refused": "SAFETY", "null_last": "STOP"}
STATUS_NAMES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}


class GeminiWire:
    """Each chunk is a whole response object; usage is cumulative."""

    def prompt(self, body: dict[str, Any]) -> Prompt:
        built = PromptBuilder()
        for tool in body.get("tools") or []:
            built.add(tool)
        system = body.get("systemInstruction") or {}
        for content in [system, *(body.get("contents") or [])]:
            built.add(f"<|{content.get('role', 'system')}|>")
            for part in content.get("parts") or []:
                if "text" in part:
                    built.add(part["text"])
                elif "inlineData" in part:
                    built.image(part["inlineData"]["data"])
                else:
                    built.add({key: value for key, value in part.items() if key != "thoughtSignature"})
        return built.done()

    def frames(self, plan: Plan) -> list[Frame]:
        script = plan.script
        found: list[Frame] = []
        if script.thoughts:
            found.append(Frame("other", self._chunk(plan, [{"text": script.thoughts, "thought": True}])))
        if script.empty_choices:
            found.append(Frame("other", sse({"candidates": [{"content": {"role": "model"}, "index": 0}]})))
        for index, text in enumerate(script.chunks):
            part = (index + 1) / len(script.chunks)
            extra = {"usageMetadata": usage(plan, part)} if script.usage == "cumulative" else {}
            found.append(Frame("text", self._chunk(plan, [{"text": text}], **extra)))
        if script.calls:
            found.append(Frame("other", self._chunk(plan, _calls(plan))))
        reason, said = FINISH[script.finish], usage(plan)
        if script.usage == "late":
            found.append(Frame("other", self._chunk(plan, None, reason)))
            found.append(Frame("other", sse({"candidates": [], "usageMetadata": said, "modelVersion": plan.model})))
        else:
            extra = {"usageMetadata": said} if said else {}
            copies = 2 if script.usage == "duplicated" else 1
            found += [Frame("other", self._chunk(plan, None, reason, **extra))] * copies
        return found

    def whole(self, plan: Plan) -> dict[str, Any]:
        script = plan.script
        parts: list[dict[str, Any]] = [{"text": script.thoughts, "thought": True}] if script.thoughts else []
        if plan.text:
            parts.append({"text": plan.text})
        parts += _calls(plan)
        content = {"role": "model", "parts": parts} if parts else {"role": "model"}
        answer: dict[str, Any] = {
            "candidates": [{"content": content, "finishReason": FINISH[script.finish], "index": 0}],
            "modelVersion": plan.model,
        }
        if said := usage(plan):
            answer["usageMetadata"] = said
        return answer

    def error(self, status: int, text: str) -> dict[str, Any]:
        name = STATUS_NAMES.get(status, "UNKNOWN")
        return {"error": {"code": status, "message": text or "simulated", "status": name}}

    def error_frame(self, status: int) -> bytes:
        code = 503 if status == 529 else status
        body = {
            "error": {"code": code, "message": "The model is overloaded.", "status": STATUS_NAMES.get(code, "UNKNOWN")}
        }
        return sse(body)

    def _chunk(self, plan: Plan, parts: list[dict[str, Any]] | None, reason: str | None = None, **extra: Any) -> bytes:
        content: dict[str, Any] = {"role": "model"}
        if parts:
            content["parts"] = parts
        candidate: dict[str, Any] = {"content": content, "index": 0}
        if reason:
            candidate["finishReason"] = reason
        return sse({"candidates": [candidate], "modelVersion": plan.model, "responseId": f"r{plan.number}", **extra})


def _calls(plan: Plan) -> list[dict[str, Any]]:
    return [
        {
            "functionCall": {"id": each.call_id, "name": each.name, "args": json.loads(each.arguments)},
            "thoughtSignature": "c2lnbmVk",
        }
        for each in plan.script.calls
    ]


def usage(plan: Plan, part: float = 1.0) -> dict[str, Any] | None:
    """Say the usage so far: thoughts beside candidates, tool prompts beside the prompt."""
    used, mode = plan.used, plan.script.usage
    if mode == "missing":
        return None
    if mode == "zero":
        return {"promptTokenCount": 0, "candidatesTokenCount": 0, "totalTokenCount": 0}
    output = int(used.output * part)
    said: dict[str, Any] = {
        "promptTokenCount": used.prompt,
        "candidatesTokenCount": output,
        "totalTokenCount": used.prompt + used.tool_use + output + used.reasoning,
    }
    if used.cached:
        said["cachedContentTokenCount"] = used.cached
    if used.reasoning:
        said["thoughtsTokenCount"] = used.reasoning
    if used.tool_use:
        said["toolUsePromptTokenCount"] = used.tool_use
    if mode == "inconsistent":
        said["cachedContentTokenCount"] = used.prompt + 1
    return said
