"""Builds the two images with buildah, without a container engine and without asking a registry for a base.

The base is a minimal Debian made by debootstrap, or the image named in `PASSEUR_BASE`. Packages are fetched once with
this environment's pip, held against the lock's hashes, and installed from there. Both end up in buildah's local
storage as `passeur-ai` and `passeur-gateway`; `buildah push` takes them where you run them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from packaging.markers import Marker

ROOT = Path(__file__).resolve().parent.parent
WORK = Path(os.environ.get("PASSEUR_IMAGES_DIR") or ROOT / "var" / "images")
LOCK = ROOT / "requirements" / "images.lock"
BASE = "passeur-base"
RELEASE = "bookworm"
INCLUDED = "python3,python3-venv,ca-certificates"
IMAGES = ("ai", "gateway")
# Without privileges for overlay mounts and namespaces, as in CI.
STORAGE = {"STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot"}


def say(text: str) -> None:
    """Tell the person at the terminal what takes time."""
    print(f"» {text}", flush=True)


def run(*command: object, env: dict[str, str] | None = None) -> str:
    """Run a command to its end and return what it printed; a failure ends this script with its words."""
    words = [str(each) for each in command]
    done = subprocess.run(words, cwd=ROOT, env=os.environ | (env or {}), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"» {' '.join(words[:3])} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout.strip()


def buildah(*arguments: object) -> str:
    """Run buildah on its own storage settings."""
    return run("buildah", *arguments, env=STORAGE)


def check_tools() -> None:
    """Say what is missing and how to get it."""
    needed = ["buildah"] if os.environ.get("PASSEUR_BASE") else ["buildah", "debootstrap"]
    missing = [each for each in needed if shutil.which(each, path=f"{os.environ.get('PATH', '')}:/usr/sbin") is None]
    if missing:
        sys.exit(f"» make images needs {' and '.join(missing)} (Debian: apt-get install {' '.join(missing)})")
    if not os.environ.get("PASSEUR_BASE") and os.geteuid() != 0:
        sys.exit("» debootstrap needs root; or name a base with PASSEUR_BASE=image")


def base() -> str:
    """Name the base image, made first where none is given."""
    given = os.environ.get("PASSEUR_BASE")
    if given:
        return given
    if BASE in buildah("images", "--format", "{{.Name}}"):
        return f"localhost/{BASE}"
    root = WORK / "rootfs"
    if not (root / "usr" / "bin" / "python3").exists():
        say(f"making a minimal Debian in {root}")
        shutil.rmtree(root, ignore_errors=True)
        WORK.mkdir(parents=True, exist_ok=True)
        run("debootstrap", "--variant=minbase", f"--include={INCLUDED}", RELEASE, root)
    say("making the base image of it")
    container = buildah("from", "scratch")
    buildah("add", "--quiet", container, root, "/")
    buildah("commit", "--quiet", "--rm", container, BASE)
    return f"localhost/{BASE}"


def python_of(image: str) -> str:
    """Ask a base for its Python's version: which packages of the lock it needs depends on it."""
    container = buildah("from", "--pull-never", image)
    try:
        return buildah("run", container, "--", "python3", "-c", "import platform; print(platform.python_version())")
    finally:
        buildah("rm", container)


def locked_for(version: str) -> str:
    """Choose the lock's entries for a Python version, without their conditions."""
    environment = {"python_full_version": version, "python_version": ".".join(version.split(".")[:2])}
    chosen: list[str] = []
    wanted = False
    for line in LOCK.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith((" ", "#")):
            requirement, _, condition = line.removesuffix(" \\").partition(" ; ")
            wanted = not condition or Marker(condition).evaluate(environment)
            line = f"{requirement} \\"  # noqa: PLW2901 - the entry without its condition
        if wanted and not line.lstrip().startswith("#"):
            chosen.append(line)
    return "\n".join(chosen) + "\n"


def wheels(version: str) -> Path:
    """Fetch every locked package, checked against its hash; nothing is done again for the same lock."""
    folder, locked = WORK / f"wheels-{version}", locked_for(version)
    stamp = folder / "fetched.txt"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == locked:
        return folder
    say(f"fetching the locked packages for Python {version} into {folder}")
    folder.mkdir(parents=True, exist_ok=True)
    chosen = folder / "wanted.txt"
    chosen.write_text(locked, encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    target = ["--python-version", version, "--implementation", "cp", "--only-binary", ":all:"]
    run(*pip, *target, "--require-hashes", "--dest", folder, "--requirement", chosen)
    chosen.rename(stamp)
    return folder


def build(name: str, base_image: str, packages: Path) -> None:
    """Build one image."""
    say(f"building passeur-{name}")
    buildah(
        "build-using-dockerfile",
        "--quiet",
        "--pull-never",
        "--layers=false",
        "--build-arg",
        f"BASE={base_image}",
        "--build-arg",
        "PIP_OPTIONS=--no-index --find-links /wheels",
        "--volume",
        f"{packages}:/wheels:ro",
        "--file",
        f"Dockerfile.{name}",
        "--ignorefile",
        ".containerignore",
        "--tag",
        f"passeur-{name}",
        ".",
    )


def main() -> None:
    """Build what is named on the command line, or both."""
    check_tools()
    base_image = base()
    packages = wheels(python_of(base_image))
    for name in sys.argv[1:] or IMAGES:
        build(name, base_image, packages)
    say("done: passeur-ai and passeur-gateway are in buildah's storage (buildah images)")


if __name__ == "__main__":
    main()
