"""``streamcite serve``: it says where it serves, what is wrong with its options, and ends when it is told to."""

import signal
import socket
import webbrowser
from pathlib import Path

import pytest

from streamcite.cli import serve
from tests.http_peer import request
from tests.processes import finish, receive, run, running


def test_it_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("The handoff is on Monday.")
    with running("serve", tmp_path / "notes.txt") as process:
        url = b""
        while not url.endswith(b"\n"):
            url += receive(process.stdout, 1)
        assert b"notes.txt" in request(f"{url.decode().strip()}choices")[1]
        assert request(url.decode().strip())[1].startswith(b"<!doctype html>")
        process.send_signal(signal.SIGINT)
        assert finish(process) == (130, b"", b"")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--base-url", "http://x/v1"], "--base-url needs --model"),
        (["--base-url", "", "--model", "m"], "--base-url: must be a URL, not ''"),
        (["--pace", "nan"], "--pace: nan is no number of seconds from 0"),
        (["--model", "m"], "set OPENAI_API_KEY to the server's key"),
        (["none.txt"], "none.txt: there is no such file"),
        (["--port", "70000"], "70000 is not in the range"),
        (["--host", "203.0.113.1"], "cannot listen on 203.0.113.1, port 0: "),
    ],
)
def test_bad_use_is_one_line(args: list[str], said: str) -> None:
    done = run("serve", *args)
    assert (done.returncode, done.stdout) == (2, b"")
    (line,) = done.stderr.decode().splitlines()
    assert said in line


def test_a_port_that_is_taken() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve", "--port", str(port))
    assert (done.returncode, done.stdout) == (2, b"")
    assert f"cannot listen on 127.0.0.1, port {port}: Address already in use" in done.stderr.decode()


def test_the_page_is_opened(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    for opens in (False, True):
        serve._say("http://127.0.0.1:1/", opens=opens)
    assert opened == ["http://127.0.0.1:1/"]
    assert capfdbinary.readouterr().out == b"http://127.0.0.1:1/\n" * 2
