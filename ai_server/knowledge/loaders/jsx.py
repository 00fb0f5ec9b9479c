"""Takes JSX out of MDX and leaves what a reader of the page would read."""

from __future__ import annotations

import re
from typing import Final

_FENCE: Final = re.compile(r"^\s*(`{3,}|~{3,})")
_STATEMENT: Final = re.compile(r"^(import|export)\s")
_TAG_START: Final = re.compile(r"</?[A-Za-z][\w.:-]*|<>|</>")
_SPOKEN: Final = re.compile(
    r"""\b(?:title|description|label|alt|caption)\s*=\s*(?:"([^"]*)"|'([^']*)'|\{"([^"]*)"\})"""
)
_LITERAL: Final = re.compile(r"""^\s*(?:"([^"]*)"|'([^']*)'|`([^`$]*)`)\s*$""", re.DOTALL)
_SCAN_LIMIT: Final = 20_000
"""Most characters of one tag or expression; a longer one is taken for text."""


def strip(source: str) -> str:
    """Remove imports, exports, tags and expressions outside code; keep titles, labels and literal strings."""
    out: list[str] = []
    prose: list[str] = []
    fence = ""
    indent = 0
    statement = False
    for line in source.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            # Fences inside JSX are indented; Markdown would take that for code within code.
            out.append(line[min(indent, len(line) - len(line.lstrip())) :])
            if mark and mark.group(1).startswith(fence) and line.strip() == mark.group(1):
                fence = ""
        elif mark:
            out += [_strip_prose("\n".join(prose)), line.lstrip()]
            prose, fence, indent = [], mark.group(1), len(line) - len(line.lstrip())
        else:
            statement = bool(line.strip()) and (statement or _STATEMENT.match(line) is not None)
            if not statement:
                prose.append(line)
    return "\n".join([*out, _strip_prose("\n".join(prose))])


def _strip_prose(text: str) -> str:
    out: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        if character == "\\":
            end = position + 2  # What is escaped is text, a brace or a bracket too.
            out.append(text[position:end])
        elif character == "`":
            end = _code_end(text, position)
            out.append(text[position:end])
        elif character == "<" and (tag := _TAG_START.match(text, position)):
            end = _tag_end(text, tag.end())
            if end is None:
                out.append(character)
                end = position + 1
            else:
                out.append(_said(text[position:end]))
        elif character == "{" and (end := _brace_end(text, position)) is not None:
            literal = _LITERAL.match(text[position + 1 : end - 1])
            out.append(next((part for part in literal.groups() if part is not None), "") if literal else "")
        else:
            out.append(character)
            end = position + 1
        position = end
    return "".join(out)


def _code_end(text: str, start: int) -> int:
    run = len(text[start:]) - len(text[start:].lstrip("`")) if text[start + 1 : start + 2] == "`" else 1
    close = text.find("`" * run, start + run)
    return start + run if close < 0 else close + run


def _said(tag: str) -> str:
    words = [next((part for part in found if part.strip()), "") for found in _SPOKEN.findall(tag)]
    words = [word for word in words if word]
    return "\n\n" + ": ".join(words) + "\n\n" if words else ""


def _tag_end(text: str, position: int) -> int | None:
    quote = ""
    limit = min(len(text), position + _SCAN_LIMIT)
    while position < limit:
        character = text[position]
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character == "{":
            end = _brace_end(text, position)
            if end is None:
                return None
            position = end
            continue
        elif character == ">":
            return position + 1
        elif character == "<":
            return None
        position += 1
    return None


def _brace_end(text: str, position: int) -> int | None:
    depth = 0
    for offset in range(position, min(len(text), position + _SCAN_LIMIT)):
        if text[offset] == "{":
            depth += 1
        elif text[offset] == "}":
            depth -= 1
            if depth == 0:
                return offset + 1
    return None
