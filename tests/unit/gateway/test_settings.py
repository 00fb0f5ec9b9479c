"""Settings and project files: every fault at once, by name."""

import shutil
from pathlib import Path

import pytest

from gateway import settings
from gateway.__main__ import main
from scripts import settings_page
from shared.errors import SettingsError

DEMO = Path(__file__).parents[3] / "projects"


def faults_of(variables, projects=DEMO):
    with pytest.raises(SettingsError) as refused:
        settings.read(variables, projects_dir=projects)
    return refused.value.faults


def test_the_shipped_project_and_no_variable_are_enough(tmp_path):
    read = settings.read({}, data_dir=tmp_path, projects_dir=DEMO)
    found = read.projects.by_public_key("pk_demo")
    assert found is not None
    assert found[0].anonymous_contexts == ({"scope": ("docs",), "audience": ("public",)},)
    assert read.settings.address == "127.0.0.1:8080"
    assert read.ai_token_file == tmp_path / "gateway" / "ai.token"


def test_every_wrong_setting_is_told_at_once():
    faults = faults_of(
        {
            "nope": "1",
            "grace_s": "soon",
            "address": "8080",
            "metrics_address": "0.0.0.0:9180",
            "trusted_proxies": "10.0.0.0/99",
            "ai_address": "ai.example:8106",
        }
    )
    for name in ("NOPE", "GRACE_S", "ADDRESS", "METRICS_ADDRESS", "TRUSTED_PROXIES", "AI_ADDRESS"):
        assert any(f"PASSEUR_GATEWAY_{name}" in fault for fault in faults), name


def test_an_empty_variable_is_the_default():
    assert settings.read({"address": ""}, projects_dir=DEMO).settings.address == "127.0.0.1:8080"


def test_three_tls_files_go_together(tmp_path):
    faults = faults_of({"ai_tls_ca": str(tmp_path / "missing.pem")})
    assert len(faults) == 3


def test_a_broken_project_file_names_file_and_field(tmp_path):
    shutil.copytree(DEMO / "demo", tmp_path / "demo")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "gateway.toml").write_text(
        'name = "x"\nlanguages = ["de"]\ndefault_language = "fr"\nsurprise = 1\n'
        '[[public_keys]]\nkey = "demo"\nallowed_origins = ["evil.example/path"]\n'
    )
    (tmp_path / "third").mkdir()
    (tmp_path / "third" / "gateway.toml").write_text("name = ")
    faults = faults_of({}, tmp_path)
    text = "\n".join(faults)
    for part in (
        "other/gateway.toml: surprise",
        "public_keys.0.key",
        "allowed_origins.0",
        "third/gateway.toml: cannot",
    ):
        assert part in text


def test_two_projects_cannot_share_a_public_key(tmp_path):
    for name in ("one", "two"):
        shutil.copytree(DEMO / "demo", tmp_path / name)
    assert any("pk_demo is in both" in fault for fault in faults_of({}, tmp_path))


def test_a_language_that_the_server_does_not_speak_is_refused(tmp_path):
    shutil.copytree(DEMO / "demo", tmp_path / "demo")
    path = tmp_path / "demo" / "gateway.toml"
    path.write_text(path.read_text().replace('languages = ["fr", "en", "es"]', 'languages = ["de"]'))
    faults = faults_of({}, tmp_path)
    assert any("languages: de" in fault for fault in faults)
    assert any("default_language: fr is not in languages" in fault for fault in faults)


def test_a_greeting_is_in_a_language_of_the_project_and_short(tmp_path):
    shutil.copytree(DEMO / "demo", tmp_path / "demo")
    path = tmp_path / "demo" / "gateway.toml"
    text = path.read_text().replace('"fr", "en", "es"]', '"fr", "en"]', 1)
    told = 'default_language = "fr"\ngreeting = { %s }'
    path.write_text(text.replace('default_language = "fr"', told % 'fr = "Bonjour !", es = "¡Hola!"', 1))
    assert any("greeting: es not among the project's languages" in fault for fault in faults_of({}, tmp_path))
    path.write_text(text.replace('default_language = "fr"', told % f'en = "{"x" * 201}"', 1))
    assert any("greeting.en" in fault for fault in faults_of({}, tmp_path))


def test_no_project_at_all_is_a_fault(tmp_path):
    assert any("holds no <project>/gateway.toml" in fault for fault in faults_of({}, tmp_path))


def test_what_several_gateways_share_is_checked():
    faults = "\n".join(faults_of({"database_url": "mysql://host/name", "redis_url": "http://host"}))
    assert "DATABASE_URL: must begin with postgresql://" in faults
    assert "REDIS_URL: must begin with redis://" in faults
    [fault] = faults_of({"redis_url": "redis://host"})
    assert "set DATABASE_URL too" in fault


def test_a_database_password_is_in_no_fault_and_no_print():
    secret = "hunter2-of-the-database"
    faults = faults_of({"database_url": f"mysql://user:{secret}@host/name", "grace_s": "soon"})
    assert secret not in "\n".join(faults)
    read = settings.read({"database_url": f"postgresql://user:{secret}@host/name"}, projects_dir=DEMO)
    assert secret not in repr(read)


def test_a_check_names_where_the_two_files_of_a_project_do_not_fit_together(tmp_path, monkeypatch, capsys):
    """Each process reads its own file alone, so only whoever asks is told."""
    shutil.copytree(DEMO / "demo", tmp_path / "projects" / "demo")
    monkeypatch.setenv("PASSEUR_PROJECTS_DIR", str(tmp_path / "projects"))
    monkeypatch.setenv("PASSEUR_DATA_DIR", str(tmp_path / "data"))
    assert main(["check"]) == 0
    file = tmp_path / "projects" / "demo" / "gateway.toml"
    file.write_text(file.read_text().replace('audience = ["public"]', 'audiense = ["public"]\nlanguage = ["de"]'))
    theirs = file.with_name("ai.toml")
    theirs.write_text(theirs.read_text().replace('languages = ["fr", "en", "es"]', 'languages = ["fr", "en", "de"]', 1))
    capsys.readouterr()
    assert main(["check"]) == 2
    said = capsys.readouterr().err
    for part in (
        "anonymous_contexts: `audiense` is not a key of ai.toml (audience, chatbot_only, language, scope)",
        "anonymous_contexts: names no value for the rights key `audience`",
        "language = `de` is not among fr, en, es of ai.toml",
        "languages: es not among the languages of ai.toml",
        "visitors' pages do not speak de",
    ):
        assert part in said, part


def test_a_data_folder_that_is_a_file_is_a_fault_and_not_a_trace(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("PASSEUR_DATA_DIR", str(tmp_path / "file"))
    monkeypatch.setenv("PASSEUR_PROJECTS_DIR", str(DEMO))
    for command in (["check"], ["serve"], ["staff", "list"]):
        assert main(command) == 2
        assert "PASSEUR_DATA_DIR" in capsys.readouterr().err


def test_the_page_of_settings_is_what_the_settings_say():
    assert settings_page.PAGE.read_text(encoding="utf-8") == settings_page.page(), "python scripts/settings_page.py"
