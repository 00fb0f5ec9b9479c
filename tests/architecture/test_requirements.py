"""Every behaviour that people rely on has a test, and every test that is named is there."""

import ast
from pathlib import Path

import pytest

from tests.requirements import BEHAVIOURS

TESTS = Path(__file__).resolve().parents[1]


def functions(file: str) -> set[str]:
    path = TESTS / file
    if not path.is_file():
        return set()
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))}


@pytest.mark.parametrize("behaviour", BEHAVIOURS, ids=lambda each: each.key)
def test_a_behaviour_has_the_tests_it_names(behaviour):
    assert behaviour.sentence
    assert behaviour.source
    assert behaviour.tests, "a behaviour without a test is a wish"
    missing = [each for each in behaviour.tests if each.partition("::")[2] not in functions(each.partition("::")[0])]
    assert missing == []


def test_no_key_stands_twice():
    keys = [each.key for each in BEHAVIOURS]
    assert sorted(set(keys)) == sorted(keys)
