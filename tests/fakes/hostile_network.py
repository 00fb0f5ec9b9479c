"""A name service that lies, and sockets that are only counted (P24)."""

from __future__ import annotations

import socket

from aiohttp.abc import AbstractResolver

from tests.data.forbidden_urls import RESOLVES


class HostileResolver(AbstractResolver):
    """Leads every name where the corpus says, and reads numbers as the C library does."""

    def __init__(self, *answers: list[str]) -> None:
        self._answers = list(answers)

    async def resolve(self, host, port=0, family=socket.AF_INET):
        return [
            {"hostname": host, "host": text, "port": port, "family": self._family(text), "proto": 0, "flags": 0}
            for text in self._answer(host)
        ]

    def _answer(self, host):
        if self._answers:
            return self._answers.pop(0)
        name = host.lower()
        if name in RESOLVES or f"{name}." in RESOLVES:
            return [RESOLVES.get(name) or RESOLVES[f"{name}."]]
        try:
            return [socket.inet_ntoa(socket.inet_aton(host.rstrip(".")))]
        except OSError as fault:
            raise OSError(f"no such name {host}") from fault

    @staticmethod
    def _family(text):
        return socket.AF_INET6 if ":" in text else socket.AF_INET

    async def close(self):
        pass


class CountedSockets:
    """Stands for opening sockets and never opens anything; keeps the addresses that were wanted."""

    def __init__(self) -> None:
        self.addresses: list[str] = []

    @property
    def count(self) -> int:
        return len(self.addresses)

    def __call__(self, info):
        self.addresses.append(info[4][0])
        raise OSError("tests open no socket here")
