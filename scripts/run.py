"""Starts both processes on the embedded default, indexes what a project declares, and says where its chat page is.

What `make run` does for a newcomer; a service manager starts `python -m ai_server` and `python -m gateway` itself.
The processes write their logs to `<data>/logs/`. Ctrl-C stops both, once answers that are being written had their time;
a second Ctrl-C ends them at once.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn
from urllib.parse import quote

ROOT: Final = Path(__file__).resolve().parent.parent
DATA: Final = Path(os.environ.get("PASSEUR_DATA_DIR") or ROOT / "var")
PROJECTS: Final = Path(os.environ.get("PASSEUR_PROJECTS_DIR") or ROOT / "projects")
GATEWAY: Final = os.environ.get("PASSEUR_GATEWAY_ADDRESS") or "127.0.0.1:8080"
AI_SERVER: Final = os.environ.get("PASSEUR_AI_ADDRESS") or "127.0.0.1:8106"
DEFAULT: Final = "demo"
READY_WITHIN_S: Final = 120
STOP_WITHIN_S: Final = 60
"""Past twice the grace period of the settings' defaults."""
POLL_S: Final = 0.1
SAY_EVERY_S: Final = 10
TAIL_LINES: Final = 15
LONGEST_LOG: Final = 10 * 1024 * 1024
"""Bytes of a log from which the next start puts it aside as `.log.1`."""
WRONG_SETTINGS: Final = 2
LOOK_S: Final = 1.0
AGAIN_AT_MOST: Final = 5
"""So often a process that ends after all was up is started again."""


class Stopped(Exception):
    """A process ended that should have gone on; carries its name and exit code."""


class Process:
    """One of the two, and where its log of this run begins."""

    def __init__(self, module: str) -> None:
        """Start it in a session of its own, so that Ctrl-C reaches this script alone."""
        self.log = DATA / "logs" / f"{module}.log"
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with suppress(PermissionError):
            self.log.parent.chmod(0o700)  # an earlier release left it open to all
        if self.log.exists() and self.log.stat().st_size > LONGEST_LOG:
            self.log.replace(self.log.with_suffix(".log.1"))
        with self.log.open("ab") as stream:
            self.begins = stream.tell()
            self.child = subprocess.Popen(
                [sys.executable, "-m", module], cwd=ROOT, stdout=stream, stderr=stream, start_new_session=True
            )

    def tail(self) -> str:
        """Give the last lines of this run."""
        with self.log.open("rb") as stream:
            stream.seek(self.begins)
            lines = stream.read().decode("utf-8", "replace").splitlines()
        return "\n".join(lines[-TAIL_LINES:])


Processes = dict[str, Process]


def say(text: str) -> None:
    """Tell the person at the terminal."""
    print(f"» {text}", flush=True)


# ---------------------------------------------------------------- before anything runs


def chosen(project: str) -> str:
    """Give the project that is meant: the only one there is, where nobody made a choice and `demo` is gone."""
    there = sorted(each.parent.name for each in PROJECTS.glob("*/gateway.toml"))
    if project == DEFAULT and len(there) == 1:
        return there[0]
    if project not in there:
        listed = ", ".join(there) or "none"
        say(f"no project `{project}` in {PROJECTS} (there are: {listed}); docs/projects.md says how to make one")
        sys.exit(WRONG_SETTINGS)
    return project


def chat_page(project: str) -> str:
    """Give the address of a project's chat page."""
    key = ""
    with suppress(OSError, ValueError, KeyError, IndexError, TypeError):  # the gateway names the fault when it starts
        key = str(tomllib.loads((PROJECTS / project / "gateway.toml").read_text("utf-8"))["public_keys"][0]["key"])
    return f"http://{GATEWAY}/chat?key={quote(key)}" if key else f"http://{GATEWAY}/chat"


def check_free() -> None:
    """End the script where somebody listens on our addresses already."""
    for address, variable in ((GATEWAY, "PASSEUR_GATEWAY_ADDRESS"), (AI_SERVER, "PASSEUR_AI_ADDRESS")):
        host, _, port = address.rpartition(":")
        if not port.isdigit() or not listens(host.strip("[]"), int(port)):
            continue
        who = f"Passeur runs already: http://{address}/chat" if ours(address) else f"something listens on {address}"
        say(f"{who}. Stop it first, or give this one its own addresses and folder ({variable}, PASSEUR_DATA_DIR, …)")
        sys.exit(1)


def listens(host: str, port: int) -> bool:
    """Whether somebody takes connections there."""
    try:
        with socket.create_connection((host, port), timeout=2):
            return True
    except OSError:
        return False


def ours(address: str) -> bool:
    """Whether it is a gateway of ours that listens there."""
    return address == GATEWAY and ask("/healthz")[0] == 200  # noqa: PLR2004 - HTTP


def keep_client(name: str, scopes: str, token_file: Path) -> None:
    """Let `name` call the AI server for every project there is or will be; its token, once made, stays."""
    command = [sys.executable, "-m", "ai_server", "clients", "add", name, "--scopes", scopes, "--projects", "*"]
    done = subprocess.run([*command, "--token-file", str(token_file), "--keep"], cwd=ROOT, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)


# ---------------------------------------------------------------- while they run


def check_alive(processes: Processes) -> None:
    """Raise for the first process that has ended."""
    for name, process in processes.items():
        code = process.child.poll()
        if code is not None:
            raise Stopped(name, code)


def ask(path: str) -> tuple[int, str]:
    """Ask the gateway; status 0 when it does not answer."""
    try:
        with urllib.request.urlopen(f"http://{GATEWAY}{path}", timeout=5) as response:
            return response.status, response.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode("utf-8", "replace")
    except (urllib.error.URLError, OSError):
        return 0, ""


def reasons(body: str) -> str:
    """Say why the gateway is not ready, as far as it tells."""
    with suppress(ValueError, KeyError, AttributeError, TypeError):
        told = [reason for each in json.loads(body)["dependencies"].values() for reason in each["reasons"]]
        return "; ".join(dict.fromkeys(told))
    return ""


def wait_ready(processes: Processes) -> None:
    """Wait until a question would be answered, saying now and then what is waited for."""
    began = time.monotonic()
    said = 0
    while True:
        code, body = ask("/readyz")
        check_alive(processes)
        if code == 200:  # noqa: PLR2004 - HTTP
            return
        waited = time.monotonic() - began
        if waited > READY_WITHIN_S:
            raise TimeoutError
        if waited // SAY_EVERY_S > said:
            said += 1
            say(f"still starting after {waited:.0f} s: {reasons(body) or 'the gateway does not answer yet'}")
        time.sleep(POLL_S)


def ingest(project: str) -> bool:
    """Index what the project declares; the command prints a line for each file."""
    command = [sys.executable, "-m", "ai_server", "ingest", "--project", project]
    return subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def tell_end(name: str, code: int, process: Process) -> None:
    """Show how a process ended."""
    say(f"{name} ended with exit code {code}; its last lines ({process.log}):")
    print(process.tail(), flush=True)


def keep_up(processes: Processes) -> NoReturn:
    """Start again what ends, as a service manager would; raise when that has happened too often."""
    again = 0
    while True:
        try:
            check_alive(processes)
        except Stopped as stopped:
            if again == AGAIN_AT_MOST:
                raise
            again += 1
            name, code = stopped.args
            tell_end(name, code, processes[name])
            say(f"starting {name} again; the other one went on")
            processes[name] = Process(name)
        time.sleep(LOOK_S)


def stop(processes: Processes) -> None:
    """Ask both to end, the gateway first, and insist past the bound or at a second Ctrl-C."""
    for process in reversed(processes.values()):
        if process.child.poll() is None:
            process.child.send_signal(signal.SIGTERM)
    try:
        for name, process in processes.items():
            try:
                process.child.wait(STOP_WITHIN_S)
            except subprocess.TimeoutExpired:
                say(f"{name} did not end within {STOP_WITHIN_S} s: killing it")
                process.child.kill()
    except KeyboardInterrupt:
        say("ending both at once")
        for process in processes.values():
            process.child.kill()
            process.child.wait()


def serve(processes: Processes, project: str, page: str) -> NoReturn:
    """Bring both up and stay until Ctrl-C, or until one of them ends again and again."""
    began = time.monotonic()
    say(f"starting the AI server and the gateway; their logs are in {DATA / 'logs'}")
    for module in ("ai_server", "gateway"):
        processes[module] = Process(module)
    wait_ready(processes)
    say(f"both are up; indexing the documents of project `{project}` (the first time takes longest)")
    if not ingest(project):
        say("some documents were not indexed; see the lines above")
    say(f"ready after {time.monotonic() - began:.1f} s: {page}  (Ctrl-C stops both)")
    keep_up(processes)


def main() -> int:
    """Run until told to stop; the exit code is that of the process that failed."""
    parser = argparse.ArgumentParser(description="Start both processes and say where the chat page is.")
    parser.add_argument("--project", default=DEFAULT, help="whose documents are indexed and whose page is told")
    project = chosen(parser.parse_args().project)
    os.umask(0o077)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    page = chat_page(project)
    check_free()
    keep_client("operator", "admin", DATA / "ai" / "operator.token")
    keep_client("gateway", "answer", DATA / "gateway" / "ai.token")
    processes: Processes = {}
    try:
        serve(processes, project, page)
    except Stopped as stopped:
        name, code = stopped.args
        tell_end(name, code, processes[name])
        return code or 1
    except TimeoutError:
        say(f"not ready after {READY_WITHIN_S} s; see {DATA / 'logs'} and http://{GATEWAY}/readyz")
        return 1
    except OSError as error:
        say(f"{error.filename or DATA}: {error.strerror}: PASSEUR_DATA_DIR must be a folder that can be written")
        return WRONG_SETTINGS
    except KeyboardInterrupt:
        say("stopping: answers that are being written may take some seconds to end; Ctrl-C again ends at once")
        return 0
    finally:
        stop(processes)


if __name__ == "__main__":
    sys.exit(main())
