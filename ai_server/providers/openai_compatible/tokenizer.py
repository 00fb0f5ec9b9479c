"""Nobody in this family counts tokens before the call, so the upper bound serves."""

from __future__ import annotations

from ai_server.providers.counting import UpperBoundTokenizer


class OpenAICompatibleTokenizer(UpperBoundTokenizer):
    """Bounds by bytes."""
