"""Generates `shared/pb` from `proto/`, with the one import prefix that makes it importable.

`python scripts/generate_proto.py` writes; with `--check` it writes elsewhere and fails when the committed
files differ.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "shared" / "pb"
PREFIX = re.compile(r"^(from|import) passeur\.", re.MULTILINE)
INIT = '"""Generated from proto/ by `make proto`: never edited by hand."""\n'


def generate(target: Path) -> None:
    """Write the generated modules, their stubs and their package files below `target`."""
    sources = sorted(str(path.relative_to(ROOT / "proto")) for path in (ROOT / "proto").rglob("*.proto"))
    include = Path(protoc.__file__).parent / "_proto"
    arguments = ["protoc", f"-I{ROOT / 'proto'}", f"-I{include}"]
    arguments += [f"--python_out={target}", f"--pyi_out={target}", f"--grpc_python_out={target}", *sources]
    if protoc.main(arguments) != 0:
        sys.exit("protoc failed: see its message above")
    for folder in (target, target / "passeur", target / "passeur" / "v1"):
        (folder / "__init__.py").write_text(INIT, encoding="utf-8")
    for path in target.rglob("*_pb2*.py*"):
        text = path.read_text(encoding="utf-8")
        path.write_text(PREFIX.sub(r"\1 shared.pb.passeur.", text), encoding="utf-8")


def contents(folder: Path) -> dict[str, str]:
    """Every generated file below `folder`, by relative path."""
    return {
        str(path.relative_to(folder)): path.read_text(encoding="utf-8")
        for path in folder.rglob("*.py*")
        if "__pycache__" not in path.parts
    }


def main() -> None:
    """Write, or check that what is committed is what would be written."""
    if "--check" not in sys.argv[1:]:
        TARGET.mkdir(parents=True, exist_ok=True)
        generate(TARGET)
        return
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder))
        fresh, committed = contents(Path(folder)), contents(TARGET)
    stale = sorted(name for name in fresh.keys() | committed.keys() if fresh.get(name) != committed.get(name))
    if stale:
        sys.exit("shared/pb is stale, run `make proto`: " + ", ".join(stale))


if __name__ == "__main__":
    main()
