"""What is shipped for several gateways fits the code: settings exist, images have no privileges and no registry."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from ai_server import settings as ai_settings
from gateway import settings as gateway_settings
from scripts import images

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))
DOCKERFILES = ("Dockerfile.ai", "Dockerfile.gateway")


def filled(value: str) -> str:
    """Fill variables in as compose does: their default, or a word."""
    return re.sub(r"\$\{\w+(?::([-?])([^}]*))?\}", lambda match: match[2] if match[1] == "-" else "word", value)


def variables(service: str, prefix: str) -> dict[str, str]:
    given = COMPOSE["services"][service]["environment"]
    return {name.removeprefix(prefix).lower(): filled(value) for name, value in given.items()}


@pytest.mark.parametrize("service", ["gateway-1", "gateway-2"])
def test_the_gateways_of_the_compose_file_have_settings_that_are_taken(service):
    read = gateway_settings.read(variables(service, gateway_settings.PREFIX), projects_dir=ROOT / "projects")
    assert read.settings.database_url is not None
    assert read.settings.redis_url is not None


def test_the_ai_server_of_the_compose_file_has_settings_that_are_taken():
    assert ai_settings.read(variables("ai", ai_settings.PREFIX)).metrics_address == ""


def test_our_containers_have_a_read_only_root_and_no_privileges():
    for name in ("ai", "gateway-1", "gateway-2"):
        service = COMPOSE["services"][name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]


def test_the_ai_servers_socket_lies_in_a_volume_that_the_gateways_share():
    for name in ("ai", "gateway-1", "gateway-2"):
        assert "ai-socket:/run/passeur" in COMPOSE["services"][name]["volumes"]
    for name, variable in zip(DOCKERFILES, ("PASSEUR_AI_ADDRESS", "PASSEUR_GATEWAY_AI_ADDRESS"), strict=True):
        assert f"{variable}=unix:/run/passeur/ai.sock" in (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", DOCKERFILES)
def test_an_image_names_no_registry_and_runs_as_nobody_special(name):
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    said = [line for line in lines if line and not line.startswith("#")]
    assert said[:2] == ["ARG BASE", "FROM ${BASE}"]
    assert "USER 10001:10001" in said
    assert not re.search(r"https?://", "\n".join(lines))


def test_nginx_passes_to_every_gateway_and_leaves_buffering_alone():
    site = (ROOT / "deploy" / "nginx.conf").read_text(encoding="utf-8")
    assert set(re.findall(r"server (gateway-\d+):8080", site)) == {
        name for name in COMPOSE["services"] if "way" in name
    }
    assert "proxy_buffering" not in site


@pytest.mark.parametrize("version", ["3.11.2", "3.12.4", "3.13.1"])
def test_the_packages_of_an_image_are_chosen_for_the_python_of_its_base(version):
    """Found with Debian's 3.11.2, which needs a package that 3.11.7 does not."""
    entries = re.split(r"\n(?=\S)", images.locked_for(version).strip())
    names = [entry.partition("==")[0] for entry in entries]
    assert len(set(names)) == len(names)
    assert {"asyncpg", "redis", "numpy", "anthropic", "pillow"} <= set(names)
    assert ("async-timeout" in names) is (version == "3.11.2")
    assert "pywin32" not in names
    assert all("--hash=sha256:" in entry and not entry.endswith("\\") for entry in entries)


def test_every_metric_stands_in_the_operators_page():
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    sources = [file.read_text("utf-8") for folder in ("ai_server", "gateway") for file in (ROOT / folder).rglob("*.py")]
    named = {
        name for text in sources for name in re.findall(r'"((?:passeur_(?:ai|gateway|ledger)|gen_ai)_[a-z_]+)"', text)
    }
    labels = {"gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model", "gen_ai_token_type"}
    assert len(named) > 20
    assert sorted(name for name in named - labels if f"`{name}" not in page) == []
