"""Host and Origin; PROMISES.md P32."""

import pytest

from gateway.identity.origins import HostGuard, check_origin
from shared.errors import Forbidden, ForbiddenOrigin

GUARD = HostGuard({"127.0.0.1", "localhost", "::1", "Chat.example"})


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost", "[::1]:8080", "chat.example", "CHAT.EXAMPLE:443"])
def test_our_own_hosts_pass_with_any_port(host):
    GUARD.check(host)


@pytest.mark.parametrize(
    "host", [None, "", "evil.example", "127.0.0.1.evil.example", "evil.example:8080", "[::2]", "[",
             "localhost.evil.example:80", "chat.example.", "user@localhost.evil.example", "127.0.0.1@evil.example",
             "127.0.0.1:8080.evil.example", "localhost:80:80", "evil@localhost", "localhost/x", "localhost ",
             "[::1", "::1", "localhost:808080"]
)  # fmt: skip
def test_another_host_is_refused(host):
    """DNS rebinding makes a browser send the attacker's name as Host."""
    with pytest.raises(Forbidden):
        GUARD.check(host)


@pytest.mark.parametrize("origin", [None, "https://listed.example", "HTTPS://LISTED.example", "http://localhost:8080"])
def test_no_origin_our_own_and_listed_ones_pass(origin):
    check_origin(origin, "localhost:8080", frozenset({"https://listed.example"}))


@pytest.mark.parametrize(
    "origin", ["null", "", "https://evil.example", "http://listed.example", "https://listed.example.evil.example",
               "https://listed.example:444", "file://", "http://localhost:8081", "javascript://localhost:8080",
               "localhost:8080"]
)  # fmt: skip
def test_any_other_origin_is_refused(origin):
    with pytest.raises(ForbiddenOrigin):
        check_origin(origin, "localhost:8080", frozenset({"https://listed.example"}))
