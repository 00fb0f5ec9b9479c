"""Staff who can sign in to the gateway of the folder above."""

from __future__ import annotations

import pytest

from gateway.identity import passwords
from tests.fakes.gateway import PASSWORD, staff_member


@pytest.fixture(autouse=True)
def quick_passwords(monkeypatch):
    """What a password costs is tested in tests/unit/support; here it would only be waited for."""
    monkeypatch.setattr(passwords, "COST", 2**4)


@pytest.fixture
async def new_staff(services, new_browser):
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
