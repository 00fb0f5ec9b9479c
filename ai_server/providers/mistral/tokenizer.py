"""Mistral has no counter to ask and its tokenizer would have to be downloaded: the upper bound serves."""

from __future__ import annotations

from ai_server.providers.counting import UpperBoundTokenizer


class MistralTokenizer(UpperBoundTokenizer):
    """Bounds by bytes."""
