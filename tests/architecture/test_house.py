"""What no reader should have to check by hand about the house itself."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = [*ROOT.glob("ai_server/**/*.py"), *ROOT.glob("gateway/**/*.py"), *ROOT.glob("shared/*.py")]
LONGEST_FUNCTION = 70


def tracked() -> list[Path]:
    """Every text file under version control."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    return [ROOT / name for name in listed.decode().split("\0") if name and (ROOT / name).is_file()]


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


def test_locks_hold_hashes_for_every_package_and_no_registry_address():
    for lock in (ROOT / "requirements").glob("*.lock"):
        text = lock.read_text(encoding="utf-8")
        assert "://" not in text, lock.name
        pins = re.findall(r"^[a-z0-9].*==.*", text, flags=re.MULTILINE)
        assert pins, lock.name
        assert all(pin.rstrip().endswith("\\") for pin in pins), f"{lock.name}: a pin without a hash"


def test_no_committed_file_names_a_machine_path():
    # Joined here so that this file does not find itself.
    forbidden = ["/" + "work/", "/root" + "/", "/home" + "/user"]
    found = []
    for path in tracked():
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {word}" for word in forbidden if word in text]
    assert found == []


def test_no_function_is_longer_than_a_page():
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in CODE
        if "migrations" not in path.parts  # a list of tables reads best as one
        for node in functions(path)
        if (node.end_lineno or 0) - node.lineno + 1 > LONGEST_FUNCTION
    ]
    assert long == []


def test_no_sleep_stands_in_a_test():
    """A wait is on an event or a manual clock; polling helpers name their bound."""
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in (ROOT / "tests").glob("unit/**/*.py")
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"\btime\.sleep\(", line)
    ]
    assert found == []


@pytest.mark.parametrize("folder", ["utils", "helpers", "manager", "common", "misc"])
def test_no_room_is_named_after_nothing(folder):
    assert not [path for path in CODE if folder in (path.stem, *path.parts)]
