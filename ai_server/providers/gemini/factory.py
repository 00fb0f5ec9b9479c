"""Makes a bundle for one of Gemini's models, in the Developer API or in Vertex AI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ai_server.providers.counting import UpperBoundTokenizer
from ai_server.providers.gemini.client import DEVELOPER_URL, GLOBAL, VERTEX_URL, Connection
from ai_server.providers.gemini.embedding import GeminiEmbedding
from ai_server.providers.gemini.generation import GeminiGeneration
from ai_server.providers.gemini.pricing import GeminiPricing
from ai_server.providers.gemini.tokenizer import GeminiTokenizer
from ai_server.providers.options import OptionReader
from ai_server.providers.registry import ProviderBundle
from shared.env import variable

if TYPE_CHECKING:
    from ai_server.providers.catalog import Catalog
    from ai_server.providers.registry import ProviderOptions


def build(asked: ProviderOptions, catalog: Catalog) -> ProviderBundle:
    """Make generation or embedding, as asked. A project makes it Vertex AI; a key is then not needed.

    Raises:
        SettingsError: options that are missing or wrong, a model without a row, a location without a price.
    """
    options = OptionReader(asked)
    row = options.row(catalog)
    given_key = options.text("api_key")
    project = options.text("project") or ("" if given_key else variable("GOOGLE_CLOUD_PROJECT"))
    if project and given_key:
        options.faults.append(
            f"set {options.variable('api_key')} or {options.variable('project')}, not both: a key is for the "
            "Developer API, a project for Vertex AI"
        )
    location = options.text("location") or variable("GOOGLE_CLOUD_LOCATION") or GLOBAL
    if project and row is not None and location not in row.locations:
        priced = ", ".join(sorted(row.locations)) or "none"
        options.faults.append(f"gemini: no price is known for {row.id} in {location!r}; priced locations: {priced}")
    key = options.secret("api_key", required=not project)
    token = options.secret("access_token", required=False)
    base_url = options.address("base_url", VERTEX_URL if project else DEVELOPER_URL, secret=token if project else key)
    stall_s = options.stall_s()
    options.finish()
    assert row is not None
    connection = Connection(asked.model, row, base_url, key, project, location, token, stall_s)
    pricing = GeminiPricing(row, asked.clock)
    if asked.purpose == "embedding":
        return ProviderBundle(None, GeminiEmbedding(connection, row.dimension or 0), UpperBoundTokenizer(), pricing)
    generation = GeminiGeneration(connection)
    return ProviderBundle(generation, None, GeminiTokenizer(generation, vertex=connection.vertex), pricing)
