"""What an operator set for a provider: every fault named at once, before anything is opened."""

from __future__ import annotations

import pytest
from pydantic import SecretStr

from ai_server.providers import catalog, registry
from ai_server.providers.options import is_near
from ai_server.providers.registry import ModelChoice
from shared.errors import SettingsError
from tests.fakes.clock import ManualClock

CATALOG = catalog.load()
KEY = SecretStr("sk-1234567890abcdef")


def faults(provider: str, model: str, purpose: str = "generation", **options: object) -> str:
    choice = [ModelChoice(provider, model)]
    chosen = (choice, []) if purpose == "generation" else ([], choice)
    with pytest.raises(SettingsError) as raised:
        registry.build(*chosen, options={provider: options}, catalogue=CATALOG, clock=ManualClock())  # type: ignore[dict-item]
    return "\n".join(raised.value.faults)


def builds(provider: str, model: str, **options: object) -> bool:
    made = registry.build(
        [ModelChoice(provider, model)],
        [],
        options={provider: options},
        catalogue=CATALOG,
        clock=ManualClock(),  # type: ignore[dict-item]
    )
    return made.generation(ModelChoice(provider, model)).generation is not None


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("gemini", "gemini-3.5-flash-lite"),
        ("mistral", "mistral-small-2603"),
        ("anthropic", "claude-haiku-5-5"),
        ("openai", "gpt-6-luna"),
        ("xai", "grok-4.7"),
    ],
)
def test_a_missing_key_is_named_by_its_variable(provider: str, model: str) -> None:
    assert f"set PASSEUR_AI_{provider.upper()}_API_KEY" in faults(provider, model)
    assert builds(provider, model, api_key=KEY)


def test_all_faults_come_at_once() -> None:
    said = faults("openai", "no-such-model", base_url="ftp://x", stall_s="soon")
    for part in ("no-such-model", "API_KEY", "BASE_URL", "STALL_S"):
        assert part in said


@pytest.mark.parametrize("key", ["a b c d e f g h", "clé-secrète", "tab\tkey12345", "new\nline1234"])
def test_a_key_that_was_copied_badly_is_refused_without_showing_it(key: str) -> None:
    said = faults("openai", "gpt-6-luna", api_key=SecretStr(key))
    assert "copy it again" in said
    assert key not in said


@pytest.mark.parametrize(
    "url",
    ["api.openai.com/v1", "https://user:pass@host/v1", "file:///etc/passwd", "https://", "http://api.example.org/v1"],
)
def test_an_address_that_would_leak_the_key_is_refused(url: str) -> None:
    assert "PASSEUR_AI_OPENAI_BASE_URL" in faults("openai", "gpt-6-luna", api_key=KEY, base_url=url)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8000/v1", "http://10.1.2.3/v1", "http://ollama:11434/v1", "http://[::1]/v1"]
)
def test_free_models_are_taken_from_our_own_network(url: str) -> None:
    assert builds("openai_compatible", "anything", base_url=url)


@pytest.mark.parametrize("url", ["https://api.example.org/v1", "http://93.184.216.34/v1", "https://ollama.com/v1"])
def test_a_paid_service_is_not_taken_as_free(url: str) -> None:
    assert "not on this machine or its network" in faults("openai_compatible", "anything", base_url=url)
    assert "not on this machine or its network" in faults("ollama", "anything", base_url=url)


def test_any_other_server_needs_its_address() -> None:
    assert "PASSEUR_AI_OPENAI_COMPATIBLE_BASE_URL" in faults("openai_compatible", "anything")


def test_a_location_without_a_price_is_refused() -> None:
    said = faults("gemini", "gemini-3.5-flash-lite", project="p", location="europe-west1")
    assert "no price is known for gemini-3.5-flash-lite in 'europe-west1'; priced locations: global" in said
    assert builds("gemini", "gemini-3.5-flash-lite", project="p", location="global")
    assert builds("gemini", "gemini-3.5-flash-lite", project="p")


def test_the_cloud_project_of_the_environment_makes_it_vertex(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "from-environment")
    assert builds("gemini", "gemini-3.5-flash-lite")
    monkeypatch.setenv("GOOGLE_CLOUD_LOCATION", "us-central1")
    assert "us-central1" in faults("gemini", "gemini-3.5-flash-lite")


def test_a_key_and_a_project_together_are_refused() -> None:
    assert "not both" in faults("gemini", "gemini-3.5-flash-lite", project="p", api_key=KEY)


@pytest.mark.parametrize("purpose", ["generation", "embedding"])
def test_a_model_for_something_else_is_refused(purpose: str) -> None:
    model = "mistral-embed" if purpose == "generation" else "mistral-small-2603"
    assert f"does not do {purpose}" in faults("mistral", model, purpose, api_key=KEY)


@pytest.mark.parametrize("dimension", ["", "none", "0", "99999"])
def test_an_unknown_embedding_model_needs_its_dimension(dimension: str) -> None:
    said = faults("ollama", "nomic-embed-text", "embedding", dimension=dimension)
    assert "PASSEUR_AI_OLLAMA_DIMENSION" in said


def test_an_unknown_provider_is_named_with_those_that_are_known() -> None:
    assert "choose one of" in faults("skynet", "t-800")


@pytest.mark.parametrize(
    ("host", "near"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("192.168.1.4", True),
        ("host.internal", True),
        ("nas.local", True),
        ("8.8.8.8", False),
        ("example.org", False),
        ("localhost.example.org", False),
        ("2001:4860:4860::8888", False),
    ],
)
def test_near_is_this_machine_or_its_network(host: str, near: bool) -> None:  # noqa: FBT001 - a column of the table
    assert is_near(host) is near
