"""What the simulator counts and caches: the text of a request in the order in which a provider caches it."""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

CHARACTERS_A_TOKEN = 4
IMAGE_TOKENS = 1_000
BLOCK = 16
"""Tokens of one block of the prefix index."""
LOOK_BACK = 20
"""Blocks before a breakpoint in which Claude looks for an earlier entry
(https://platform.claude.com/docs/en/build-with-claude/prompt-caching).
"""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request's text, its images, where its blocks end, and where it asked for cache breakpoints (in bytes)."""

    text: str
    images: int = 0
    ends: tuple[int, ...] = ()
    breakpoints: tuple[int, ...] = ()

    @property
    def tokens(self) -> int:
        """Count what the request is billed as input."""
        return count(self.text) + self.images * IMAGE_TOKENS


def count(text: str) -> int:
    """Count tokens as this simulator does: four bytes each, rounded up."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // CHARACTERS_A_TOKEN)


class PromptBuilder:
    """Collects a prompt piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._images = 0
        self._ends: list[int] = []
        self._breakpoints: list[int] = []

    def add(self, piece: Any, *, breakpoint_after: bool = False) -> None:
        """Add a text, or anything as its JSON."""
        text = piece if isinstance(piece, str) else json.dumps(piece, ensure_ascii=False, sort_keys=True)
        self._pieces.append(text)
        self._length += len(text.encode("utf-8", "surrogatepass"))
        self._ends.append(self._length)
        if breakpoint_after:
            self._breakpoints.append(self._length)

    def image(self, data: str) -> None:
        """Add an image; its content is part of the prefix, its size is not part of the count."""
        self._images += 1
        self.add(hashlib.sha256(data.encode()).hexdigest()[:8])

    def done(self) -> Prompt:
        """Give the prompt."""
        return Prompt("".join(self._pieces), self._images, tuple(self._ends), tuple(self._breakpoints))


@dataclass(frozen=True, slots=True)
class CacheRules:
    """How a provider caches prefixes, by its public documents."""

    minimum: int
    step: int
    explicit: bool = False
    ttl_s: float = 300.0


RULES: dict[str, CacheRules] = {
    # https://platform.openai.com/docs/guides/prompt-caching: from 1,024 tokens, in steps of 128
    "openai": CacheRules(1024, 128),
    # https://ai.google.dev/gemini-api/docs/caching: implicit, from 2,048 tokens on Flash models
    "gemini": CacheRules(2048, 1),
    # https://docs.mistral.ai, prompt caching: blocks; no minimum published beyond a block
    "mistral": CacheRules(64, 64),
    # https://platform.claude.com/docs/en/build-with-claude/prompt-caching: at breakpoints, from 1,024 tokens
    "anthropic": CacheRules(1024, 1, explicit=True),
    # https://api-docs.deepseek.com/guides/kv_cache: units of 64 tokens
    "deepseek": CacheRules(64, 64),
    "xai": CacheRules(64, 64),
    "groq": CacheRules(128, 128),
}
ENTRIES_LIMIT = 200_000


class PrefixCache:
    """Remembers prefixes by the hash of their blocks."""

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[str, str, int, bytes], float] = OrderedDict()

    def use(self, family: str, model: str, prompt: Prompt, now: float) -> tuple[int, int]:
        """Tell how many tokens of the prompt are read from the cache and how many are written to it, and keep it."""
        rules = RULES.get(family)
        if rules is None:
            return 0, 0
        data = prompt.text.encode("utf-8", "surrogatepass")
        least = rules.minimum * CHARACTERS_A_TOKEN
        if rules.explicit:
            writes = [end for end in prompt.breakpoints if end >= least]
            looked = [end for end in prompt.ends if any(_within_reach(prompt.ends, end, mark) for mark in writes)]
        else:
            step = max(rules.step, BLOCK) * CHARACTERS_A_TOKEN
            looked = writes = list(range(step, len(data) + 1, step))
        keys = dict(zip(looked, self._keys(family, model, data, looked), strict=True))
        hits = [end for end, key in keys.items() if now - self._seen.get(key, -1e9) <= rules.ttl_s]
        read = max((end for end in hits if end >= least), default=0)
        for end in {*writes, *hits}:
            self._seen[keys[end]] = now
            self._seen.move_to_end(keys[end])
        while len(self._seen) > ENTRIES_LIMIT:
            self._seen.popitem(last=False)
        written = max(0, max(writes, default=0) - read) if rules.explicit else 0
        return read // CHARACTERS_A_TOKEN, written // CHARACTERS_A_TOKEN

    @staticmethod
    def _keys(family: str, model: str, data: bytes, ends: list[int]) -> list[tuple[str, str, int, bytes]]:
        digest = hashlib.blake2b(digest_size=12)
        keys, start = [], 0
        for end in ends:
            digest.update(data[start:end])
            start = end
            keys.append((family, model, end, digest.digest()))
        return keys


def _within_reach(ends: tuple[int, ...], end: int, mark: int) -> bool:
    """Say whether an earlier entry is found from a breakpoint: up to so many blocks before it."""
    return end <= mark and ends.index(mark) - ends.index(end) <= LOOK_BACK
