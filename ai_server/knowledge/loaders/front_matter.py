"""Front matter between `---` (YAML) or `+++` (TOML) lines, and metadata files. Every value becomes text.

A bare date, `yes`, `1.10` or `null` stays what was written: YAML's own types would skip or change it.
"""

from __future__ import annotations

import re
import tomllib
from datetime import date, datetime, time
from typing import TYPE_CHECKING, Final

import yaml

from ai_server.knowledge.loaders.model import Rejected

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

BYTES_LIMIT: Final = 64 * 1024
"""Most characters of front matter."""
VALUES_LIMIT: Final = 1_000
"""Most values in it, after aliases are followed."""
_DEPTH_LIMIT: Final = 8
_FENCES: Final = {"---": ("---", "..."), "+++": ("+++",)}
_LOOKS_LIKE_KEY: Final = re.compile(r"^[A-Za-z_][\w.-]*\s*(:(\s|$)|=)")


def divide(text: str) -> tuple[Mapping[str, tuple[str, ...]], str]:
    """Cut decoded text into metadata and body. A BOM, CRLF ends and leading blank lines are allowed.

    Raises:
        Rejected: the front matter is broken, not closed or too large. Reading on without it could give a document
            rights that its author did not mean.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").lstrip("\n").split("\n")
    fence = lines[0].rstrip()
    if fence not in _FENCES:
        return {}, "\n".join(lines)
    end = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() in _FENCES[fence]), None)
    if end is None:
        if len(lines) > 1 and _LOOKS_LIKE_KEY.match(lines[1]):
            raise Rejected(f"the front matter is not closed: end it with a line `{fence}`")
        return {}, "\n".join(lines)
    source = "\n".join(lines[1:end])
    body = "\n".join(lines[end + 1 :])
    if fence == "---" and not any(_LOOKS_LIKE_KEY.match(line) for line in lines[1:end]) and source.strip():
        return {}, "\n".join(lines)  # Prose between two rules, not front matter.
    return (parse_toml(source) if fence == "+++" else parse_yaml(source)), body


def parse_yaml(source: str) -> Mapping[str, tuple[str, ...]]:
    """Read YAML metadata as text values.

    Raises:
        Rejected: not YAML, not a mapping, or too large.
    """
    _check_size(source)
    try:
        # The base loader knows no types, so that nothing is changed, and no tags, so that nothing is constructed.
        data = yaml.load(source, Loader=yaml.BaseLoader)  # noqa: S506
    except (yaml.YAMLError, ValueError, RecursionError) as exc:
        mark = getattr(exc, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        problem = getattr(exc, "problem", None) or str(exc)
        raise Rejected(f"the front matter is not YAML{where}: {problem}") from exc
    if data is None or data == "":
        return {}
    if not isinstance(data, dict):
        raise Rejected("the front matter is not a list of `key: value` lines")
    return _flatten(data)


def parse_toml(source: str) -> Mapping[str, tuple[str, ...]]:
    """Read TOML metadata as text values.

    Raises:
        Rejected: not TOML, or too large.
    """
    _check_size(source)
    try:
        return _flatten(tomllib.loads(source, parse_float=str))
    except (tomllib.TOMLDecodeError, RecursionError) as exc:
        raise Rejected(f"the front matter is not TOML: {exc}") from exc


def _check_size(source: str) -> None:
    if len(source) > BYTES_LIMIT:
        raise Rejected(f"the front matter is longer than {BYTES_LIMIT:,} characters: shorten it")


def _flatten(data: Mapping[str, object]) -> Mapping[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for count, (key, value) in enumerate(_walk("", data, 0)):
        if count >= VALUES_LIMIT:
            raise Rejected(f"the front matter has more than {VALUES_LIMIT:,} values: shorten it")
        if value:
            found.setdefault(key, []).append(value)
    return {key: tuple(dict.fromkeys(values)) for key, values in found.items()}


def _walk(key: str, value: object, depth: int) -> Iterator[tuple[str, str]]:
    if depth > _DEPTH_LIMIT:
        raise Rejected(f"the front matter is nested deeper than {_DEPTH_LIMIT} levels: flatten it")
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _walk(f"{key}.{name}" if key else str(name), item, depth + 1)
    elif isinstance(value, list):
        for item in value:
            yield from _walk(key, item, depth + 1)
    else:
        yield key, _as_text(value)


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    return str(value).strip()
