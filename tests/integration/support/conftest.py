"""The gateway of tests/integration/gateway, with staff who can sign in."""

from __future__ import annotations

import pytest

from gateway.identity import passwords
from tests.fakes.gateway import PASSWORD, staff_member
from tests.integration.gateway.conftest import (  # noqa: F401 - fixtures are found by name
    assistant,
    browser,
    conversation,
    limits,
    migrated,
    new_browser,
    services,
    url,
)


@pytest.fixture(autouse=True)
def quick_passwords(monkeypatch):
    """What a password costs is tested in tests/unit/support; here it would only be waited for."""
    monkeypatch.setattr(passwords, "COST", 2**4)


@pytest.fixture
async def new_staff(services, new_browser):  # noqa: F811
    """Make browsers in which one of the staff is signed in."""

    async def make(login, **options):
        member = await staff_member(services, login, **options)
        desk = await new_browser(with_session=False)
        session = await desk.good("POST", "/v1/staff/sessions", {"login": login, "password": PASSWORD})
        desk.token, desk.member = session["token"], member
        return desk

    return make


@pytest.fixture
async def ana(new_staff):
    return await new_staff("ana", name="Ana Ortiz", role="admin")


@pytest.fixture
async def ben(new_staff):
    return await new_staff("ben", name="Ben Adler")
