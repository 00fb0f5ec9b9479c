"""Event-stream clients that others wrote: httpx-sse, and npm's `eventsource` under Node (issue 6)."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import httpx
import pytest
from httpx_sse import aconnect_sse

from tests.integration.gateway.test_streams import publish
from tests.waiting import eventually

VENDOR = Path(__file__).with_name("vendor")
WITHIN_S = 60
FOLLOWER = """
import { EventSource } from "eventsource";
const [address, token, count] = process.argv.slice(2);
const source = new EventSource(address, {
  fetch: (input, init) => fetch(input, { ...init, headers: { ...init.headers, Authorization: `Bearer ${token}` } }),
});
let heard = 0;
source.addEventListener("read", (event) => {
  console.log(JSON.stringify({ id: event.lastEventId, n: JSON.parse(event.data).n }));
  if (++heard === Number(count)) source.close();
});
source.addEventListener("resync", () => console.log(JSON.stringify({ resync: true })));
"""


async def httpx_numbers(url, token, count, last_id=None):
    """Read so many events as httpx-sse understands them; tells their numbers and the last id."""
    headers = {"Authorization": f"Bearer {token}"} | ({} if last_id is None else {"Last-Event-ID": last_id})
    numbers = []
    async with (
        httpx.AsyncClient(timeout=WITHIN_S) as client,
        aconnect_sse(client, "GET", f"{url}/v1/events?channels=support", headers=headers) as source,
    ):
        assert source.response.status_code == 200
        async for event in source.aiter_sse():
            if event.event == "read":
                numbers.append(json.loads(event.data)["n"])
                last_id = event.id
            if len(numbers) == count:
                return numbers, last_id
    raise AssertionError(f"the stream ended after {numbers}")


async def test_httpx_sse_reads_leaves_and_resumes_exactly(browser, services, url):
    first = asyncio.create_task(httpx_numbers(url, browser.token, 3))
    await eventually(lambda: services.hub.readers() == 1)
    await publish(services, browser.visitor_id, 3, pad="é\u2028\r\n: x")
    numbers, last_id = await first
    await publish(services, browser.visitor_id, 4, start=3)
    assert numbers == [0, 1, 2]
    assert (await httpx_numbers(url, browser.token, 4, last_id))[0] == [3, 4, 5, 6]


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
async def test_npms_eventsource_comes_back_by_itself_and_misses_nothing(browser, services, url, tmp_path):
    shutil.copytree(VENDOR, tmp_path / "node_modules")
    script = tmp_path / "follow.mjs"
    script.write_text(FOLLOWER, "utf-8")
    pipe = asyncio.subprocess.PIPE
    address = f"{url}/v1/events?channels=support"
    node = await asyncio.create_subprocess_exec(
        "node", str(script), address, browser.token, "9", cwd=tmp_path, stdout=pipe, stderr=pipe
    )
    try:
        async with asyncio.timeout(WITHIN_S):
            await eventually(lambda: services.hub.readers() == 1)
            await publish(services, browser.visitor_id, 5)
            services.hub.close()  # the server lets everybody go; they come back after `retry`
            await publish(services, browser.visitor_id, 4, start=5)
            told, complaint = await node.communicate()
    finally:
        if node.returncode is None:
            node.kill()
            await node.communicate()
    assert complaint == b""
    heard = [json.loads(line) for line in told.decode().splitlines()]
    assert [each["n"] for each in heard] == list(range(9))
    assert len({each["id"] for each in heard}) == 9
