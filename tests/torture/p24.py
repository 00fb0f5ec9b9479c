"""P24: no SSRF. Only configured origins; the address that is dialled is checked, whatever led to it."""

from __future__ import annotations

import ipaddress
import random
from collections import Counter

from ai_server.connectors.client import SafeClient
from ai_server.connectors.contract import ConnectorSpec, Endpoint
from shared.errors import ProviderError
from tests.data.forbidden_urls import FORBIDDEN
from tests.fakes.hostile_network import CountedSockets, HostileResolver
from tests.torture import workload
from tests.torture.figure import Figure, span

PROMISE = "no socket is made to an address that is neither public nor listed, in whatever form or by whatever name"
FULL = 20_000
SHORT = 600
PUBLIC = ("93.184.216.34", "1.1.1.1", "2606:4700:4700::1111")
LISTED = (ipaddress.ip_network("10.20.0.0/16"),)
"""One private network is listed, so that the list itself is under test."""


async def run(n: int, seed: int) -> Figure:
    """Try every address of the corpus first, then random ones: plain, in disguise, and by names that change."""
    workload.quiet()
    failures: list[str] = []
    hits: Counter[str] = Counter()
    for trial in range(seed, seed + n):
        dice = random.Random(trial)
        place = trial - seed
        kind = "corpus" if place < len(FORBIDDEN) else dice.choice(["random", "rebinding", "mixed"])
        hits[kind] += 1
        failures += [f"seed {trial} ({kind}): {fault}" for fault in await _TRIALS[kind](dice, place)]
    return Figure(n, span(seed, n), failures, dict(sorted(hits.items())))


async def _fetch(url: str, resolver: HostileResolver | None = None) -> tuple[list[str], str]:
    """Ask for an address; gives the addresses that sockets were wanted for, and how it ended."""
    sockets = CountedSockets()
    spec = ConnectorSpec("openapi", "x", "X", url, (Endpoint("e", {"en": "e"}),), networks=LISTED, timeout_s=2.0)
    try:
        client = SafeClient(spec, {}, resolver=resolver or HostileResolver(), make_socket=sockets)
    except ValueError:
        return [], "no address"
    try:
        await client.json("", {})
    except ProviderError as error:
        return sockets.addresses, error.error_class
    finally:
        await client.close()
    return sockets.addresses, "answered"


async def _corpus(dice: random.Random, place: int) -> list[str]:
    url = FORBIDDEN[place]
    dialled, ending = await _fetch(url)
    if dialled or ending not in {"no address", "forbidden_address"}:
        return [f"{url}: dialled {dialled}, {ending}"]
    return []


async def _random(dice: random.Random, place: int) -> list[str]:
    """Draw any IPv4 address, written in any form; the standard library says whether it is public."""
    address = ipaddress.IPv4Address(dice.getrandbits(32) if dice.random() < 0.5 else _near_private(dice))
    text = dice.choice([str(address), f"[::ffff:{address}]", f"0x{int(address):08x}", str(int(address))])
    dialled, ending = await _fetch(f"http://{text}/")
    allowed = (address.is_global and not address.is_multicast) or any(address in each for each in LISTED)
    if dialled and not allowed:
        return [f"{text} ({address}): a socket was made"]
    if allowed and text == str(address) and not dialled and not _is_refused_beyond(address):
        return [f"{address} is public or listed and was refused: {ending}"]
    return []


async def _rebinding(dice: random.Random, place: int) -> list[str]:
    """A name that was public a moment ago leads to something private now."""
    private = str(ipaddress.IPv4Address(_near_private(dice, listed=False)))
    resolver = HostileResolver([dice.choice(PUBLIC)], [private], [private])
    await _fetch("http://rebind.example/", resolver)
    dialled, ending = await _fetch("http://rebind.example/", resolver)
    return [f"rebound to {private}: dialled {dialled}, {ending}"] if dialled or ending != "forbidden_address" else []


async def _mixed(dice: random.Random, place: int) -> list[str]:
    """A name with public and private addresses, in any order: only the public ones are dialled."""
    public = dice.sample(PUBLIC, dice.randint(0, 3))
    private = [str(ipaddress.IPv4Address(_near_private(dice, listed=False))) for _ in range(dice.randint(1, 3))]
    answers = dice.sample(public + private, len(public) + len(private))
    dialled, _ = await _fetch("http://both.example/", HostileResolver(answers))
    wrong = set(dialled) - set(public)
    return [f"{answers}: dialled {sorted(wrong)}"] if wrong else []


def _near_private(dice: random.Random, *, listed: bool = True) -> int:
    networks = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "127.0.0.0/8", "169.254.0.0/16", "100.64.0.0/10"]
    while True:
        network = ipaddress.ip_network(dice.choice(networks))
        drawn = network.network_address + dice.randrange(network.num_addresses)
        if listed or not any(drawn in each for each in LISTED):
            return int(drawn)


def _is_refused_beyond(address: ipaddress.IPv4Address) -> bool:
    """Say where we refuse more than the standard library calls private, on purpose."""
    beyond = ("0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "240.0.0.0/4")
    return any(address in ipaddress.ip_network(each) for each in beyond)


_TRIALS = {"corpus": _corpus, "random": _random, "rebinding": _rebinding, "mixed": _mixed}
