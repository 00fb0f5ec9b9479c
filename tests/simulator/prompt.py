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


@dataclass(frozen=True, slots=True)
class Prompt:
    """A request's text, its images, and where it asked for cache breakpoints (in characters)."""

    text: str
    images: int = 0
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
        self._breakpoints: list[int] = []

    def add(self, piece: Any, *, breakpoint_after: bool = False) -> None:
        """Add a text, or anything as its JSON."""
        text = piece if isinstance(piece, str) else json.dumps(piece, ensure_ascii=False, sort_keys=True)
        self._pieces.append(text)
        self._length += len(text)
        if breakpoint_after:
            self._breakpoints.append(self._length)

    def image(self, data: str) -> None:
        """Add an image; its content is part of the prefix, its size is not part of the count."""
        self._images += 1
        self.add(hashlib.sha256(data.encode()).hexdigest()[:8])

    def done(self) -> Prompt:
        """Give the prompt."""
        return Prompt("".join(self._pieces), self._images, tuple(self._breakpoints))


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
        if rules.explicit:
            ends = [count(prompt.text[:position]) for position in prompt.breakpoints]
            ends = [end for end in ends if end >= rules.minimum]
        else:
            whole = count(prompt.text) // max(rules.step, BLOCK) * max(rules.step, BLOCK)
            ends = list(range(max(rules.step, BLOCK), whole + 1, max(rules.step, BLOCK)))
        keys = self._keys(family, model, prompt.text, ends)
        hits = [end for end, key in zip(ends, keys, strict=True) if now - self._seen.get(key, -1e9) <= rules.ttl_s]
        read = max((end for end in hits if end >= rules.minimum), default=0)
        for key in keys:
            self._seen[key] = now
            self._seen.move_to_end(key)
        while len(self._seen) > ENTRIES_LIMIT:
            self._seen.popitem(last=False)
        written = max(ends, default=0) - read if rules.explicit else 0
        return read, max(0, written)

    @staticmethod
    def _keys(family: str, model: str, text: str, ends: list[int]) -> list[tuple[str, str, int, bytes]]:
        data = text.encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(digest_size=12)
        keys, start = [], 0
        for end in ends:
            digest.update(data[start : end * CHARACTERS_A_TOKEN])
            start = end * CHARACTERS_A_TOKEN
            keys.append((family, model, end, digest.digest()))
        return keys
