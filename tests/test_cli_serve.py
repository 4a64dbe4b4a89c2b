"""``streamcite serve``: it says where it serves, what is wrong with its options, and ends when it is told to."""

import logging
import signal
import socket
import sys
import webbrowser
from pathlib import Path
from typing import Any

import pytest
from openai import APIError

from streamcite import cli
from streamcite.cli import serving
from streamcite.cli.output import OutputClosed
from streamcite.serve.app import build
from streamcite.serve.server import Server
from tests.http_peer import request
from tests.processes import finish, receive, running


def test_it_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("The handoff is on Monday.")
    with running("serve", tmp_path / "notes.txt") as process:
        url = b""
        while not url.endswith(b"\n"):
            url += receive(process.stdout, 1)
        assert b"notes.txt" in request(f"{url.decode().strip()}choices")[1]
        assert request(url.decode().strip())[1].startswith(b"<!doctype html>")
        process.send_signal(signal.SIGINT)
        assert finish(process) == (130, b"", b"\n")


def failed(args: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], key: str = "") -> str:
    """What the command says where it fails, in this process, since the client takes a second to load in another."""
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.setattr(sys, "argv", ["streamcite", "serve", *args])
    assert cli.main() == 2
    out, err = capfd.readouterr()
    (line,) = err.splitlines()
    assert out == ""
    return line.removeprefix("streamcite: ")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--base-url", "http://x/v1"], "--base-url needs --model"),
        (["--base-url", "", "--model", "m"], "--base-url: must be a URL, not ''"),
        (["--model", ""], "--model: must be a name, not ''"),
        (["--pace", "nan"], "--pace: nan is not a number of seconds from 0"),
        (["--model", "m"], "set OPENAI_API_KEY to the server's key"),
        (["none.txt"], "none.txt: there is no such file"),
        (["--port", "70000"], "Invalid value for '--port': 70000 is not in the range"),
        (["--host", "203.0.113.1"], "cannot listen on 203.0.113.1, port 0: "),
    ],
)
def test_bad_use_is_one_line(
    args: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert failed(args, monkeypatch, capfd).startswith(said)


@pytest.mark.parametrize(
    "url", ["nonsense", "localhost:8000", "ftp://x/v1", "http://", "http://x:99999", "http://[/v1"]
)
@pytest.mark.parametrize("by_option", [True, False])
def test_what_is_not_a_url_is_refused(
    url: str, by_option: bool, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    if not by_option:
        monkeypatch.setenv("OPENAI_BASE_URL", url)
    args = ["--model", "m", *(["--base-url", url] if by_option else [])]
    said = failed(args, monkeypatch, capfd, key="any")
    assert said.startswith(f"the model's server: {url!r} is not a URL such as http://localhost:8000/v1")


def test_a_port_that_is_taken(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = failed(["--port", str(port)], monkeypatch, capfd)
    assert said == f"cannot listen on 127.0.0.1, port {port}: Address already in use"


def test_the_page_is_opened(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    for opens in (False, True):
        serving._say("http://127.0.0.1:1/", opens=opens)
    assert opened == ["http://127.0.0.1:1/"]
    assert capfdbinary.readouterr().out == b"http://127.0.0.1:1/\n" * 2


def test_where_nobody_reads_what_it_says_it_ends_without_another_word(capfd: pytest.CaptureFixture[str]) -> None:
    def say() -> None:
        raise OutputClosed

    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(OutputClosed):
        Server(build(), ready=say).run(sockets=[listener])
    assert capfd.readouterr() == ("", "")


def test_the_demo_ends_with_the_command_that_opens_the_page() -> None:
    makefile = (Path(__file__).parents[1] / "Makefile").read_text("utf-8")
    recipe = makefile.partition("\ndemo:")[2].partition("\n\n")[0].splitlines()
    assert "streamcite serve --open" in recipe[-1]


def test_a_server_that_fails_is_one_line_and_any_other_failure_is_shown_whole(
    capfd: pytest.CaptureFixture[str],
) -> None:
    logger = logging.getLogger("streamcite.ui.resumable")
    asked: Any = None
    errors = [APIError("two\nlines", asked, body=None), KeyError("k")]
    with serving._failures_in_a_line():
        for error in errors:
            logger.error("a1: the answer broke off", exc_info=error)
    first, *others = capfd.readouterr().err.splitlines()
    assert first == "streamcite: a1: the answer broke off: two lines"
    assert others == ["a1: the answer broke off", "KeyError: 'k'"]
