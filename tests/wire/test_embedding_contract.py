"""What every embedding provider does alike."""

from __future__ import annotations

import numpy as np
import pytest

from ai_server.providers.contract import EmbeddingProvider
from shared.errors import ProviderCut, ProviderError
from tests.simulator.script import Script
from tests.simulator.server import Simulator
from tests.wire.subjects import EMBEDDERS, VERTEX_AI, Subject, permit_for

pytestmark = pytest.mark.asyncio(loop_scope="module")
every = pytest.mark.parametrize("subject", EMBEDDERS, ids=lambda each: each.name)


@every
async def test_vectors_come_in_order_at_unit_length_and_cost_what_the_invoice_says(
    subject: Subject, simulator: Simulator
) -> None:
    bundle = subject.bundle(simulator, "embedding")
    provider = bundle.embedding
    assert isinstance(provider, EmbeddingProvider)
    await provider.initialize()
    texts = ["the billing page", "how to install", "the billing page"][: provider.max_batch]
    made = await provider.embed(texts, "document", permit_for(bundle))
    assert made.vectors.shape == (len(texts), provider.dimension)
    assert made.vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(made.vectors, axis=1), 1.0, atol=1e-5)
    if len(texts) == 3:
        assert np.allclose(made.vectors[0], made.vectors[2])
        assert not np.allclose(made.vectors[0], made.vectors[1])
    assert made.usage is not None
    assert bundle.pricing.cost(made.usage) == simulator.total_nanousd
    counted = await bundle.tokenizer.count_texts(texts)
    assert counted.tokens >= made.usage.input
    await provider.close()


@every
async def test_an_embedding_that_fails_is_classified_and_sent_once(subject: Subject, simulator: Simulator) -> None:
    bundle = subject.bundle(simulator, "embedding")
    assert bundle.embedding is not None
    for script, started in ((Script(status=429), False), (Script(status=500), True), (Script(drop=True), True)):
        simulator.reset()
        simulator.script(script)
        with pytest.raises(ProviderError) as raised:
            await bundle.embedding.embed(["x"], "query", permit_for(bundle))
        assert (raised.value.provider, raised.value.started) == (subject.provider, started)
        assert len(simulator.received) == 1
    await bundle.embedding.close()


@every
async def test_vectors_of_another_length_are_not_taken(subject: Subject, simulator: Simulator) -> None:
    bundle = subject.bundle(simulator, "embedding")
    assert bundle.embedding is not None
    kept = simulator.dimension.get(bundle.embedding.model)
    simulator.dimension[bundle.embedding.model] = 7
    try:
        with pytest.raises(ProviderCut, match="cannot be read"):
            await bundle.embedding.embed(["x"], "query", permit_for(bundle))
    finally:
        if kept is None:
            del simulator.dimension[bundle.embedding.model]
        else:
            simulator.dimension[bundle.embedding.model] = kept
        await bundle.embedding.close()


async def test_questions_and_documents_are_told_apart_where_the_model_does(simulator: Simulator) -> None:
    bundle = VERTEX_AI.bundle(simulator, "embedding")
    assert bundle.embedding is not None
    for kind, task in (("query", "RETRIEVAL_QUERY"), ("document", "RETRIEVAL_DOCUMENT")):
        await bundle.embedding.embed(["x"], kind, permit_for(bundle))  # type: ignore[arg-type]
        assert task in str(simulator.received[-1].body)
    await bundle.embedding.close()
