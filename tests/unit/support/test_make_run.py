"""`make run`: what it refuses before anything is started, and what it keeps."""

from __future__ import annotations

import socket
import stat
import subprocess
import sys

import pytest

from scripts import run
from shared.private import private_folder


@pytest.fixture
def projects(tmp_path, monkeypatch):
    for name, key in (("demo", "pk_demo"), ("velo", "pk_velo")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "gateway.toml").write_text(f'[[public_keys]]\nkey = "{key}"\n')
    monkeypatch.setattr(run, "PROJECTS", tmp_path)
    return tmp_path


def test_the_chat_page_of_a_project_is_told_with_its_key(projects, capsys):
    assert run.chat_page("velo").endswith("/chat?key=pk_velo")
    (projects / "velo" / "gateway.toml").write_text("not toml [")
    assert run.chat_page("velo").endswith("/chat")
    assert run.chosen("velo") == "velo"
    with pytest.raises(SystemExit) as ended:
        run.chosen("vélo")
    assert ended.value.code == 2
    assert "no project `vélo`" in (said := capsys.readouterr().out)
    assert "demo, velo" in said
    (projects / "demo" / "gateway.toml").unlink()
    assert run.chosen("demo") == "velo", "the only one there is"


def test_a_port_that_somebody_has_ends_it_before_anything_is_started(monkeypatch, capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        monkeypatch.setattr(run, "AI_SERVER", address)
        monkeypatch.setattr(run, "GATEWAY", "127.0.0.1:1")
        with pytest.raises(SystemExit) as ended:
            run.check_free()
    assert ended.value.code == 1
    assert f"something listens on {address}" in capsys.readouterr().out
    run.check_free()


def test_the_log_of_an_earlier_run_is_kept_and_only_this_ones_end_is_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "DATA", tmp_path)
    (tmp_path / "logs").mkdir(0o755)
    monkeypatch.setattr(run, "LONGEST_LOG", 200)
    for expected in ("no_such_module_of_ours", "no_such_module_of_ours"):
        process = run.Process(expected)
        process.child.wait(60)
        assert process.tail().count("No module named") == 1
    assert process.log.read_text().count("No module named") == 2
    assert stat.S_IMODE(process.log.parent.stat().st_mode) == 0o700
    process.log.write_text("x" * 300)
    assert run.Process("no_such_module_of_ours").child.wait(60) == 1
    assert process.log.with_suffix(".log.1").read_text() == "x" * 300


def test_what_ends_is_started_again_and_not_for_ever(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run, "DATA", tmp_path)
    monkeypatch.setattr(run, "LOOK_S", 0.01)
    processes = {"no_such_module_of_ours": run.Process("no_such_module_of_ours")}
    monkeypatch.setattr(run, "AGAIN_AT_MOST", 2)
    with pytest.raises(run.Stopped) as ended:
        run.keep_up(processes)
    assert ended.value.args == ("no_such_module_of_ours", 1)
    said = capsys.readouterr().out
    assert said.count("starting no_such_module_of_ours again") == 2
    assert said.count("No module named") == 2, "each end is shown with its last lines"


def test_a_second_request_to_end_does_not_wait(monkeypatch, capsys):
    class Busy:
        """A child that goes on whatever it is asked."""

        killed = False

        def poll(self):
            return None

        def send_signal(self, number):
            pass

        def wait(self, timeout=None):
            if timeout is not None:
                raise KeyboardInterrupt

        def kill(self):
            self.killed = True

    process = run.Process.__new__(run.Process)
    process.child = Busy()
    run.stop({"gateway": process})
    assert process.child.killed
    assert "at once" in capsys.readouterr().out


def test_a_data_folder_is_its_owners_alone(tmp_path):
    folder = tmp_path / "data" / "gateway"
    folder.mkdir(parents=True)
    (folder / "gateway.sqlite").touch(0o644)
    folder.chmod(0o755)
    private_folder(folder)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "gateway.sqlite").stat().st_mode) == 0o600
    private_folder(tmp_path / "data" / "ai")
    assert stat.S_IMODE((tmp_path / "data" / "ai").stat().st_mode) == 0o700


def test_a_reader_that_leaves_gets_no_trace(tmp_path):
    """`documents explain … | head`."""
    reading = subprocess.Popen(["true"], stdin=subprocess.PIPE)
    reading.wait(60)
    environment = {"PASSEUR_DATA_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"}
    (tmp_path / "ai").mkdir()
    record = '[one]\ntoken_sha256 = "' + "0" * 64 + '"\nprojects = []\nscopes = []\n'
    (tmp_path / "ai" / "clients.toml").write_text(record)
    command = [sys.executable, "-m", "ai_server", "clients", "list"]
    done = subprocess.run(
        command, cwd=run.ROOT, env=environment, stdout=reading.stdin, stderr=subprocess.PIPE, timeout=120, check=False
    )
    reading.stdin.close()
    assert done.stderr == b""
