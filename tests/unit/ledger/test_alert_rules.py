"""The alert rules hold by Prometheus's own tool, and name only metrics that there are."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from ai_server.ledger.metrics import LedgerMetrics

ROOT = Path(__file__).parents[3]
NAME = re.compile(r"passeur_\w+")


def known():
    registry = CollectorRegistry()
    LedgerMetrics(registry)
    families = list(registry.collect())
    return {family.name for family in families} | {
        f"{family.name}_total" for family in families if family.type == "counter"
    }


def test_every_metric_of_the_rules_exists():
    named = set(NAME.findall((ROOT / "deploy" / "alerts.yml").read_text()))
    assert named
    assert named - known() == set()


def test_every_metric_of_money_is_in_the_documentation():
    table = (ROOT / "docs" / "budgets.md").read_text()
    gauges_and_counters = known() - {name.removesuffix("_total") for name in known() if name.endswith("_total")}
    assert {name for name in gauges_and_counters if f"`{name}`" not in table} == set()


@pytest.mark.service("prometheus")
@pytest.mark.parametrize("words", [("check", "rules", "alerts.yml"), ("test", "rules", "alerts_test.yml")])
def test_the_rules_pass_promtool(words):
    *command, file = words
    tool = shutil.which("promtool")
    done = subprocess.run([tool, *command, ROOT / "deploy" / file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
