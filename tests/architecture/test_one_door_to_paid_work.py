"""No provider can be reached without a reservation: only the meter makes permits, and one file hands them on."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SERVER = Path(__file__).parents[2] / "ai_server"
PROVIDERS = tuple(path.parent for path in SERVER.glob("providers/*/__init__.py"))
PAID = {"generate", "embed"}
CALL_SITES = {
    ("providers/metered.py", "self.provider.generate(request, call.permit)"),
    ("providers/metered_embedding.py", "self.provider.embed(texts, kind, call.permit)"),
    (
        "providers/fallback.py",
        "link.generator.generate(self.request, key=key, payer=self.payer, operation=self.operation)",
    ),
}
"""Answers, tool rounds, summaries and fallback attempts pass the third, which leads to the first; embeddings of queries
and documents the second. A new call site must be added here by someone who looked where its permit comes from.
"""


def calls(path):
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]


def name_of(call):
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def test_only_the_meter_makes_a_permit():
    makers = {
        path.relative_to(SERVER).as_posix()
        for path in SERVER.rglob("*.py")
        for call in calls(path)
        if name_of(call) == "Permit" or (name_of(call) == "replace" and "permit" in ast.unparse(call))
    }
    assert makers == {"ledger/meter.py"}


def test_every_paid_call_site_is_known():
    found = {
        (path.relative_to(SERVER).as_posix(), ast.unparse(call))
        for path in SERVER.rglob("*.py")
        if not any(path.is_relative_to(folder) for folder in PROVIDERS)
        for call in calls(path)
        if isinstance(call.func, ast.Attribute) and call.func.attr in PAID
    }
    assert found == CALL_SITES


@pytest.mark.parametrize("folder", PROVIDERS, ids=lambda folder: folder.name)
def test_every_provider_asks_for_a_permit(folder):
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in PAID:
                assert "permit" in {each.arg for each in [*node.args.args, *node.args.kwonlyargs]}, path
