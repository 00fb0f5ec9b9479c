"""Starts both processes on the embedded default, indexes `samples/`, and says where the chat page is.

What `make run` does for a newcomer; a service manager starts `python -m ai_server` and `python -m gateway` itself.
The processes write their logs to `<data>/logs/`; Ctrl-C stops both.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("PASSEUR_DATA_DIR") or ROOT / "var")
GATEWAY = os.environ.get("PASSEUR_GATEWAY_ADDRESS") or "127.0.0.1:8080"
PROJECT = "demo"
READY_WITHIN_S = 120
STOP_WITHIN_S = 30
POLL_S = 0.1
TAIL_LINES = 15
WRONG_SETTINGS = 2


class Stopped(Exception):
    """A process ended that should have gone on; carries its name and exit code."""


def say(text: str) -> None:
    """Tell the person at the terminal."""
    print(f"» {text}", flush=True)


def add_client(name: str, scopes: str, token_file: Path) -> None:
    """Let `name` call the AI server; its token is made once."""
    command = [sys.executable, "-m", "ai_server", "clients", "add", name, "--scopes", scopes, "--projects", PROJECT]
    done = subprocess.run([*command, "--token-file", str(token_file), "--keep"], cwd=ROOT, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)


def start(module: str) -> subprocess.Popen[bytes]:
    """Start one process in a session of its own, so that Ctrl-C reaches this script alone."""
    log = DATA / "logs" / f"{module}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as stream:
        return subprocess.Popen(
            [sys.executable, "-m", module], cwd=ROOT, stdout=stream, stderr=stream, start_new_session=True
        )


def check_alive(processes: dict[str, subprocess.Popen[bytes]]) -> None:
    """Raise for the first process that has ended."""
    for name, process in processes.items():
        code = process.poll()
        if code is not None:
            raise Stopped(name, code)


def status(path: str) -> int:
    """Ask the gateway; 0 when it does not answer."""
    try:
        with urllib.request.urlopen(f"http://{GATEWAY}{path}", timeout=5) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code
    except (urllib.error.URLError, OSError):
        return 0


def wait_ready(processes: dict[str, subprocess.Popen[bytes]]) -> None:
    """Wait until a question would be answered."""
    deadline = time.monotonic() + READY_WITHIN_S
    while status("/readyz") != 200:  # noqa: PLR2004 - HTTP
        check_alive(processes)
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(POLL_S)


def ingest() -> bool:
    """Index what the project declares; the command prints a line for each file."""
    command = [sys.executable, "-m", "ai_server", "ingest", "--project", PROJECT]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def stop(processes: dict[str, subprocess.Popen[bytes]]) -> None:
    """Ask both to end, the gateway first, and insist only past the bound."""
    for process in reversed(processes.values()):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    for name, process in processes.items():
        try:
            process.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            say(f"{name} did not end within {STOP_WITHIN_S} s: killing it")
            process.kill()


def report(name: str, code: int) -> int:
    """Show the end of the log of a process that ended."""
    log = DATA / "logs" / f"{name}.log"
    say(f"{name} ended with exit code {code}; its last lines ({log}):")
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    print("\n".join(lines[-TAIL_LINES:]), flush=True)
    return code or 1


def serve(processes: dict[str, subprocess.Popen[bytes]]) -> int:
    """Bring both up and stay until Ctrl-C or until one of them ends."""
    began = time.monotonic()
    processes["ai_server"] = start("ai_server")
    processes["gateway"] = start("gateway")
    wait_ready(processes)
    if not ingest():
        say("some documents were not indexed; see the lines above")
    say(f"ready after {time.monotonic() - began:.1f} s: http://{GATEWAY}/chat  (Ctrl-C stops both)")
    while True:
        check_alive(processes)
        time.sleep(1)


def main() -> int:
    """Run until told to stop; the exit code is that of the process that failed."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    add_client("operator", "admin", DATA / "ai" / "operator.token")
    add_client("gateway", "answer", DATA / "gateway" / "ai.token")
    processes: dict[str, subprocess.Popen[bytes]] = {}
    try:
        return serve(processes)
    except Stopped as stopped:
        return report(*stopped.args)
    except TimeoutError:
        say(f"not ready after {READY_WITHIN_S} s; see {DATA / 'logs'} and http://{GATEWAY}/readyz")
        return 1
    except KeyboardInterrupt:
        say("stopping")
        return 0
    finally:
        stop(processes)


if __name__ == "__main__":
    sys.exit(main())
