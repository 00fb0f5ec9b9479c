"""Installs what the service tests need, where that is ours to do: as root on a Debian-like system.

Elsewhere it does nothing, and those tests are skipped with a reason. Nothing is started: the tests start private
instances on free ports.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

# The program that shows that a package is there, and the package.
PACKAGES = {
    "/usr/bin/chromium": "chromium",
    "/usr/lib/postgresql": "postgresql",
    "/usr/bin/redis-server": "redis-server",
    "/usr/sbin/nginx": "nginx-light",
    "/usr/bin/promtool": "prometheus",
}
LOCK_WAIT_S = 300


def main() -> None:
    """Install the missing ones; a failure is told and left to the tests to judge."""
    missing = [package for path, package in PACKAGES.items() if not Path(path).exists()]
    if not missing or os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    print("» installing for the service tests: " + ", ".join(missing), flush=True)
    # RUNLEVEL=1 keeps package scripts from starting daemons.
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    apt = ["apt-get", "-qq", "-o", f"DPkg::Lock::Timeout={LOCK_WAIT_S}"]
    for command in ([*apt, "update"], [*apt, "install", "-y", "--no-install-recommends", *missing]):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            print(f"» {' '.join(command[:1] + command[3:4])} failed; tests that need them are skipped\n{done.stderr}")
            return


if __name__ == "__main__":
    main()
