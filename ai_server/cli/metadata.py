"""Metadata as it is typed on a command line."""

from __future__ import annotations

from shared.pb.passeur.v1 import common_pb2


def defaults_of(meta: str) -> dict[str, common_pb2.Values]:
    """Read `key=value,value key=value`.

    Raises:
        ValueError: a part without `=`.
    """
    found: dict[str, common_pb2.Values] = {}
    for part in meta.split():
        key, equals, values = part.partition("=")
        if not (key and equals and values):
            raise ValueError(f"--meta: `{part}` is not key=value")
        found[key] = common_pb2.Values(values=values.split(","))
    return found
