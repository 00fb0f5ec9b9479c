"""Makes `.venv` and keeps it equal to a lock file. Standard library only: it runs before anything is installed.

`python3 scripts/environment.py core` installs what the product needs, `dev` adds every extra and the tools.
Nothing is done when the environment already carries the lock's digest.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOCKS = ROOT / "requirements"
OLDEST, NEWEST = (3, 11), (3, 13)
# What `dev` installed satisfies `core` too.
SATISFIED_BY = {"core": ("core", "dev"), "dev": ("dev",)}


def say(text: str) -> None:
    """Tell the person at the terminal what takes time."""
    print(f"» {text}", flush=True)


def stamp(name: str) -> Path:
    """The file that remembers which lock the environment was made from."""
    return VENV / f".installed-{name}"


def digest(name: str) -> str:
    """What the lock says today."""
    return hashlib.sha256((LOCKS / f"{name}.lock").read_bytes()).hexdigest()


def is_current(name: str) -> bool:
    """Whether the environment satisfies the lock."""
    return any(
        stamp(each).exists() and stamp(each).read_text(encoding="utf-8") == digest(each) for each in SATISFIED_BY[name]
    )


def interpreter() -> str:
    """A Python of a version that the locks are made for; this one first."""
    if OLDEST <= sys.version_info[:2] <= NEWEST:
        return sys.executable
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        found = shutil.which(f"python3.{minor}")
        if found:
            return found
    sys.exit(f"Passeur needs Python 3.11, 3.12 or 3.13; this is {sys.version.split()[0]}. Install one and run again.")


def make_venv() -> None:
    """Create the environment; Debian keeps ensurepip in a package of its own."""
    if PYTHON.exists():
        return
    say("creating .venv")
    made = subprocess.run([interpreter(), "-m", "venv", str(VENV)], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        shutil.rmtree(VENV, ignore_errors=True)
        sys.exit(f"{made.stdout}{made.stderr}\nOn Debian and Ubuntu: apt-get install python3-venv, then run again.")


def install(name: str) -> None:
    """Install the lock with uv, or with pip where uv cannot reach the registry that pip is set up for."""
    lock = str(LOCKS / f"{name}.lock")
    say(f"installing the packages of requirements/{name}.lock")
    pip = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r"]
    fast = subprocess.run([*pip, str(LOCKS / "installer.lock")], check=False).returncode == 0
    if fast:
        uv = [str(VENV / "bin" / "uv"), "pip", "install", "--quiet", "--python", str(PYTHON), "--require-hashes"]
        fast = subprocess.run([*uv, "-r", lock], check=False).returncode == 0
    if not fast:
        say("uv did not manage; pip takes a little longer")
        subprocess.run([*pip, lock], check=True)
    stamp(name).write_text(digest(name), encoding="utf-8")


def main() -> None:
    """Make the environment named on the command line."""
    name = sys.argv[1] if len(sys.argv) > 1 else "core"
    if name not in SATISFIED_BY:
        sys.exit(f"{name!r} is not a lock: core or dev")
    if not is_current(name):
        make_venv()
        install(name)


if __name__ == "__main__":
    main()
