"""A browser's part in tests: calls over a real socket, each answer held against `/openapi.json`."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from tests.sse_parser import Event, SseParser

READ_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Any
    body: Any


@dataclass(slots=True)
class Documented:
    """The gateway's own description, as a judge of its answers."""

    document: dict[str, Any]
    registry: Any = field(init=False)

    def __post_init__(self):
        self.registry = Registry().with_resource("urn:api", DRAFT202012.create_resource(self.document))

    def check(self, method: str, path: str, answer: Answer) -> None:
        operation = self._operation(method, path)
        if operation is None:
            return
        assert str(answer.status) in operation["responses"], f"{method} {path} → {answer.status} is not documented"
        content = operation["responses"][str(answer.status)].get("content", {})
        media_type = answer.headers.get("Content-Type", "").partition(";")[0]
        if answer.status == 204:
            return
        assert media_type in content, f"{method} {path} → {media_type} is not documented"
        reference = content[media_type]["schema"].get("$ref")
        if reference:
            schema = {"$ref": f"urn:api{reference}"}
            Draft202012Validator(schema, registry=self.registry).validate(answer.body)

    def _operation(self, method: str, path: str) -> dict[str, Any] | None:
        bare = path.partition("?")[0]
        for template, operations in self.document["paths"].items():
            pattern = re.sub(r"{\w+}", "[^/]+", template)
            if re.fullmatch(pattern, bare):
                return operations.get(method.lower())
        return None


class Browser:
    """One visitor's browser. `open_session` first, except for what needs none."""

    def __init__(self, session: aiohttp.ClientSession, url: str, documented: Documented):
        self.http = session
        self.url = url
        self.documented = documented
        self.token = ""
        self.visitor_id = ""
        self.language = "fr"

    async def call(self, method: str, path: str, body: Any = None, **options: Any) -> Answer:
        headers = {"Accept-Language": self.language, **options.pop("headers", {})}
        if self.token:
            headers.setdefault("Authorization", f"Bearer {self.token}")
        if body is not None:
            options["json"] = body
        async with self.http.request(method, self.url + path, headers=headers, **options) as response:
            text = await response.text()
            is_json = "json" in response.headers.get("Content-Type", "")
            answer = Answer(
                response.status, response.headers, await response.json(content_type=None) if is_json and text else text
            )
        self.documented.check(method, path, answer)
        return answer

    async def good(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        answer = await self.call(method, path, body, **options)
        assert answer.status < 300, answer.body
        return answer.body

    async def open_session(self, public_key: str = "pk_demo", **options: Any) -> dict[str, Any]:
        session = await self.good("POST", "/v1/sessions", {"public_key": public_key}, **options)
        self.token, self.visitor_id = session["token"], session["visitor_id"]
        return session

    async def open_conversation(self) -> str:
        return (await self.good("POST", "/v1/conversations", {}))["id"]

    async def say(self, conversation: str, text: str, **options: Any) -> Any:
        return await self.good("POST", f"/v1/conversations/{conversation}/messages", {"text": text}, **options)

    @asynccontextmanager
    async def events(self, query: str = "", cursor: str | None = None, path: str = "/v1/events"):
        headers = {"Authorization": f"Bearer {self.token}", "Accept-Language": self.language}
        if cursor is not None:
            headers["Last-Event-ID"] = cursor
        async with self.http.get(f"{self.url}{path}{query}", headers=headers) as response:
            assert response.status == 200, await response.text()
            yield Reading(response)

    @asynccontextmanager
    async def turn(self, conversation: str, text: str, **headers: str):
        path = f"{self.url}/v1/conversations/{conversation}/messages"
        sent = {
            "Authorization": f"Bearer {self.token}",
            "Accept": "text/event-stream",
            "Accept-Language": self.language,
        }
        async with self.http.post(path, json={"text": text}, headers={**sent, **headers}) as response:
            assert response.status == 200, await response.text()
            yield Reading(response)


class Reading:
    """An open event stream, read by the strict parser."""

    def __init__(self, response: aiohttp.ClientResponse):
        self.response = response
        self.parser = SseParser()
        self.pending: list[Event] = []
        self.seen: list[Event] = []
        self.size = 0

    async def opened(self) -> str:
        """Wait until the gateway has told where the stream stands."""
        while not self.parser.last_event_id:
            await self._more()
        return self.parser.last_event_id

    async def next(self) -> Event:
        while not self.pending:
            await self._more()
        self.seen.append(self.pending[0])
        return self.pending.pop(0)

    async def until(self, wanted) -> list[Event]:
        found = []
        while True:
            found.append(await self.next())
            if wanted(found[-1]):
                return found

    async def rest(self) -> list[Event]:
        """Read to the end of the response."""
        while True:
            try:
                await self._more()
            except EOFError:
                events, self.pending = self.pending, []
                return events

    async def _more(self):
        async with _within():
            chunk = await self.response.content.readany()
        if not chunk:
            raise EOFError("the stream ended")
        self.size += len(chunk)
        self.pending += self.parser.feed(chunk)


def _within():
    import asyncio

    return asyncio.timeout(READ_TIMEOUT_S)


def is_done(event: Event) -> bool:
    return event.type == "turn.step" and '"step":"done"' in event.data
