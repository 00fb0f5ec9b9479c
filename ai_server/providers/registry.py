"""The only place that names providers. It imports one when it is configured, and checks what its factory made.

To add a provider: a folder beside `embedded` with a factory, and one line in `ENTRIES`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Final, Literal

from ai_server.providers.contract import EmbeddingProvider, GenerationProvider, Pricing, Thinking, Tokenizer
from shared.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic import SecretStr

    from ai_server.providers.catalog import Catalog
    from shared.clock import Clock

Purpose = Literal["generation", "embedding"]
ModelKey = tuple[str, str]
EMBEDDED: Final = "embedded"
EXTRACTIVE: Final = "extractive"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model as a project chose it."""

    provider: str
    model: str
    thinking: Thinking = Thinking.LOW


LAST_RESORT: Final = ModelChoice(EMBEDDED, EXTRACTIVE)
"""Every chain ends in it, so that nobody is left without an answer while documents are readable."""


@dataclass(frozen=True, slots=True)
class ProviderOptions:
    """What a factory is given. `options` holds the settings `PASSEUR_AI_<PROVIDER>_<OPTION>` that were set, by
    option name in lower case; secrets come wrapped.
    """

    provider: str
    model: str
    purpose: Purpose
    clock: Clock
    options: Mapping[str, str | SecretStr] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ProviderBundle:
    """What a factory makes for one model; `generation` or `embedding` is there as the purpose asked."""

    generation: GenerationProvider | None
    embedding: EmbeddingProvider | None
    tokenizer: Tokenizer
    pricing: Pricing


@dataclass(frozen=True, slots=True)
class Entry:
    """One provider: where its factory is (`module:function`), and the options it reads.

    The function takes `(ProviderOptions, Catalog)` and returns a `ProviderBundle`. It raises `SettingsError` for
    options that are missing or wrong, a model that the catalogue does not have, or one that is metered without a
    price. `extra` names the pip extra that its imports need, or is empty.
    """

    factory: str
    options: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    extra: str = ""


NETWORK: Final = ("base_url", "stall_s")
"""Options of every provider over the network: another address, and the longest silence inside an answer."""

ENTRIES: Final[Mapping[str, Entry]] = {
    EMBEDDED: Entry(factory="ai_server.providers.embedded.factory:build"),
    "gemini": Entry(
        factory="ai_server.providers.gemini.factory:build",
        options=("base_url", "stall_s", "project", "location"),
        secrets=("api_key", "access_token"),
    ),
    "mistral": Entry(factory="ai_server.providers.mistral.factory:build", options=NETWORK, secrets=("api_key",)),
    "anthropic": Entry(
        factory="ai_server.providers.anthropic.factory:build",
        options=NETWORK,
        secrets=("api_key",),
        extra="anthropic",
    ),
    **dict.fromkeys(
        ("openai", "groq", "deepseek", "xai", "openrouter", "perplexity", "ollama", "openai_compatible"),
        Entry(
            factory="ai_server.providers.openai_compatible.factory:build",
            options=(*NETWORK, "dimension"),
            secrets=("api_key",),
            extra="openai",
        ),
    ),
}


class ProviderSet:
    """The bundles of an installation, made once and shared by every project that chose them."""

    def __init__(self, catalogue: Catalog, bundles: Mapping[tuple[ModelKey, Purpose], ProviderBundle]) -> None:
        """Hold what `build` made."""
        self.catalogue = catalogue
        self._bundles = bundles

    def generation(self, choice: ModelChoice) -> ProviderBundle:
        """Find the bundle that generates with this model; it was built, or `build` would have refused."""
        return self._bundles[(choice.provider, choice.model), "generation"]

    def embedding(self, choice: ModelChoice) -> ProviderBundle:
        """Find the bundle that embeds with this model."""
        return self._bundles[(choice.provider, choice.model), "embedding"]

    def bundles(self) -> Mapping[tuple[ModelKey, Purpose], ProviderBundle]:
        """List all."""
        return self._bundles

    async def close(self) -> None:
        """Close every provider; idempotent."""
        for bundle in self._bundles.values():
            for each in (bundle.generation, bundle.embedding):
                if each is not None:
                    await each.close()


def build(
    generation: Iterable[ModelChoice],
    embedding: Iterable[ModelChoice],
    options: Mapping[str, Mapping[str, str | SecretStr]],
    catalogue: Catalog,
    clock: Clock,
) -> ProviderSet:
    """Make every chosen bundle, and the last resort, without any network call.

    Raises:
        SettingsError: every unknown provider, missing extra or option, unknown model and missing price, at once.
    """
    wanted: dict[tuple[ModelKey, Purpose], None] = {
        ((each.provider, each.model), "generation"): None for each in (*generation, LAST_RESORT)
    }
    wanted |= {((each.provider, each.model), "embedding"): None for each in embedding}
    bundles: dict[tuple[ModelKey, Purpose], ProviderBundle] = {}
    faults: list[str] = []
    for (provider, model), purpose in wanted:
        try:
            asked = ProviderOptions(provider, model, purpose, clock, options.get(provider, {}))
            bundles[(provider, model), purpose] = _bundle(asked, catalogue)
        except SettingsError as error:
            faults += [each for each in error.faults if each not in faults]
    if faults:
        raise SettingsError(faults)
    return ProviderSet(catalogue, bundles)


def _bundle(asked: ProviderOptions, catalogue: Catalog) -> ProviderBundle:
    entry = ENTRIES.get(asked.provider)
    if entry is None:
        known = ", ".join(sorted(ENTRIES))
        raise SettingsError([f"provider `{asked.provider}` is not known: choose one of {known}"])
    module_name, _, function = entry.factory.partition(":")
    try:
        factory = getattr(import_module(module_name), function)
        bundle = factory(asked, catalogue)
    except ModuleNotFoundError as exc:
        if not entry.extra:
            raise
        command = f"pip install '.[{entry.extra}]' in Passeur's folder"
        raise SettingsError([f"provider `{asked.provider}` needs `{exc.name}`: install it with {command}"]) from exc
    return _checked(asked, bundle)


def _checked(asked: ProviderOptions, bundle: ProviderBundle) -> ProviderBundle:
    """Refuse a factory that did not keep the contract."""
    where = f"provider `{asked.provider}`, model `{asked.model}`"
    faults: list[str] = []
    offered = bundle.generation if asked.purpose == "generation" else bundle.embedding
    wanted = GenerationProvider if asked.purpose == "generation" else EmbeddingProvider
    if offered is None:
        faults.append(f"{where} does not do {asked.purpose}: choose another model")
    elif not isinstance(offered, wanted):
        faults.append(f"{where} breaks the contract {wanted.__name__}")
    if not isinstance(bundle.tokenizer, Tokenizer):
        faults.append(f"{where} breaks the contract Tokenizer")
    if not isinstance(bundle.pricing, Pricing):
        faults.append(f"{where} breaks the contract Pricing")
    elif bundle.pricing.metered and bundle.pricing.ceiling(1_000_000, 1_000_000) <= 0:
        faults.append(f"{where} is metered but its price row gives no amount: correct the catalogue")
    if faults:
        raise SettingsError(faults)
    return bundle
