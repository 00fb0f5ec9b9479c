"""P24: addresses that no connector may reach without being told to, in every way we know to write them.

The forms come from OWASP's SSRF pages and from public reports; the addresses are those of this machine, of private
networks and of clouds' metadata services. `RESOLVES` says where names of the corpus lead, as a hostile DNS would.
"""

from __future__ import annotations

import ipaddress
from typing import Final

PRIVATE_V4: Final = [
    "127.0.0.1", "127.0.0.2", "127.127.127.127", "127.255.255.254", "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255",
    "172.16.0.1", "172.31.255.255", "192.168.0.1", "192.168.1.254", "169.254.169.254", "169.254.170.2", "100.64.0.1",
    "100.100.100.200", "192.0.0.1", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.7", "203.0.113.9",
    "224.0.0.1",    "239.255.255.250", "240.0.0.1", "255.255.255.255", "192.88.99.1",
]  # fmt: skip
PRIVATE_V6: Final = [
    "::1", "::", "fe80::1", "fe80::1%25lo", "fc00::1", "fd00:ec2::254", "fdff::1", "fec0::1", "ff02::1", "ff05::2",
    "2001:db8::1", "100::1", "0:0:0:0:0:0:0:1", "0000:0000:0000:0000:0000:0000:0000:0001", "2001::1", "2001:10::1",
]  # fmt: skip
WRITTEN: Final = [
    "http://0x7f000001/", "http://0x7f.0x0.0x0.0x1/", "http://0x7f.1/", "http://0177.0.0.1/", "http://0177.1/",
    "http://017700000001/", "http://2130706433/", "http://127.1/", "http://127.0.1/", "http://0/", "http://0x0/",
    "http://3232235521/", "http://0xc0a80001/", "http://0300.0250.0.1/", "http://192.168.1/", "http://10.1/",
    "http://0xa9fea9fe/", "http://2852039166/", "http://0251.0376.0251.0376/", "http://169.254.43518/",
    "http://00000177.0.0.1/", "http://0x7F000001/", "http://127.000.000.001/", "http://167772161/",
    "http://①②⑦.⓪.⓪.①/", "http://１２７.０.０.１/", "http://127。0。0。1/", "http://127.0.0.1./", "http://[::ffff:7f00:1]/",
    "http://[::FFFF:127.0.0.1]/", "http://[0:0:0:0:0:ffff:127.0.0.1]/", "http://[::ffff:0:127.0.0.1]/",
]  # fmt: skip
RESOLVES: Final = {
    "localhost": "127.0.0.1",
    "localhost.": "127.0.0.1",
    "LOCALHOST": "127.0.0.1",
    "localhost.localdomain": "127.0.0.1",
    "ip6-localhost": "::1",
    "localtest.example": "127.0.0.1",
    "127.0.0.1.nip.example": "127.0.0.1",
    "metadata.example": "169.254.169.254",
    "metadata.google.internal": "169.254.169.254",
    "intranet.example": "10.0.0.5",
    "router.example": "192.168.1.1",
    "v6.example": "fd00::5",
    "mapped.example": "::ffff:10.0.0.1",
    "nat64.example": "64:ff9b::7f00:1",
    "link.example": "fe80::1",
    "carrier.example": "100.64.0.9",
    "zero.example": "0.0.0.0",
}
SCHEMES: Final = [
    "file:///etc/passwd", "gopher://127.0.0.1:6379/_INFO", "ftp://127.0.0.1/", "dict://127.0.0.1:11211/stat",
    "ldap://127.0.0.1/", "unix:///var/run/docker.sock",
    "http+unix://%2Fvar%2Frun%2Fdocker.sock/", "jar:http://127.0.0.1!/",
    "data:text/plain,x", "javascript:alert(1)", "//127.0.0.1/", "http:///127.0.0.1/", "ws://127.0.0.1/", "tftp://127.0.0.1/x",
    "sftp://127.0.0.1/", "netdoc:///etc/passwd", "phar:///x", "blob:http://127.0.0.1/x",
]  # fmt: skip
DISGUISED: Final = [
    "http://public.example@127.0.0.1/", "http://user:pass@127.0.0.1/", "http://127.0.0.1#@public.example/",
    "http://127.0.0.1?@public.example/", "https://127.0.0.1:443@169.254.169.254/", "http://public.example:80@10.0.0.1/",
]  # fmt: skip


def _forms(text: str) -> list[str]:
    """Write an IPv4 address plainly and inside the IPv6 forms that carry one."""
    address = ipaddress.IPv4Address(text)
    high, low = int(address) >> 16, int(address) & 0xFFFF
    return [
        f"http://{text}/",
        f"https://{text}:8443/x?y=z",
        f"http://[::ffff:{text}]/",
        f"http://[::{text}]/",
        f"http://[64:ff9b::{text}]/",
        f"http://[2002:{high:x}:{low:x}::1]/",
    ]


FORBIDDEN: Final = list(
    dict.fromkeys(
        [
            *(url for text in PRIVATE_V4 for url in _forms(text)),
            *(f"http://[{text}]/" for text in PRIVATE_V6),
            *WRITTEN,
            *(f"http://{name}/" for name in RESOLVES),
            *SCHEMES,
            *DISGUISED,
        ]
    )
)
