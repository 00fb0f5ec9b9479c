"""Two real gateways behind a real nginx with its default buffering, PostgreSQL and Redis; one is killed.

Issue «Event streams that lose nothing», shown by: two gateways behind nginx, one killed while answers stream. The
bench form with 200 answers is `python -m tests.torture P=P13_GATEWAYS`.
"""

from __future__ import annotations

import pytest

from tests import services
from tests.e2e.fleet import Follower, fleet, kill_while_streaming
from tests.simulator.script import Script

pytestmark = [pytest.mark.service(name) for name in ("postgresql", "redis", "nginx")]
PIECES = tuple(f"piece {number} " for number in range(60))
SLOW = Script(chunks=PIECES, pace_s=0.25)
VISITORS = 20


async def test_a_killed_gateway_costs_no_answer_and_no_second_bill(tmp_path, prepared):
    try:
        async with fleet(tmp_path, prepared, SLOW) as (made, http, simulator):
            outcome = await kill_while_streaming(made, http, simulator, VISITORS, "".join(PIECES), 90)
            assert outcome.faults == []
            assert outcome.bills == VISITORS
            assert outcome.cut > 0
            assert "everything adds up" in await made.command("ai_server", "budgets", "audit")
            await a_visitor_and_staff_still_meet(made, http, simulator)
    except services.ServiceMissing as missing:
        pytest.skip(str(missing))


async def a_visitor_and_staff_still_meet(made, http, simulator):
    """The killed gateway comes back; a visitor on one and staff on the other talk."""
    simulator.default = Script()
    await made.start_gateway("gateway-1", http)
    await made.wait_gateways(http)
    told = await made.command("gateway", "staff", "add", "ana", "--name", "Ana", "--role", "admin")
    password = next(line.split()[-1] for line in told.splitlines() if line.startswith("password:"))
    urls = [f"http://127.0.0.1:{port}" for port in made.ports.values()]
    visitor, ana = Follower(urls[0], http), Follower(urls[1], http)
    await visitor.arrive()
    session = await ana.call("POST", "/v1/staff/sessions", {"login": "ana", "password": password})
    ana.token = session["token"]
    ticket = await visitor.call("POST", f"/v1/conversations/{visitor.conversation}/escalate", None)
    headers = {"Authorization": f"Bearer {visitor.token}"}
    async with http.get(f"{urls[0]}/v1/events", headers=headers) as stream:
        await ana.call("POST", f"/v1/tickets/{ticket['id']}/reply", {"text": "Bonjour, je suis Ana"})
        async for line in stream.content:
            if b"message.created" in line:
                break
        assert b"Bonjour, je suis Ana" in await stream.content.readline() + await stream.content.readline()
