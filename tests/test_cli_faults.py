"""The command ``streamcite`` where its use, a format, its input or its output is wrong; and how it ends."""

import io
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import click
import pytest

import streamcite
from streamcite.cli import input as cli_input
from streamcite.cli import output as cli_output
from streamcite.cli.input import json_deltas
from tests.markers import SENTENCE
from tests.processes import COMMAND, ENVIRONMENT, PATIENCE, failure, receive, run, running, send, shell


@pytest.fixture
def answer(tmp_path: Path) -> Path:
    path = tmp_path / "answer.txt"
    path.write_text(SENTENCE, "utf-8")
    return path


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([""], "'': No such file or directory"),
        (["--format", ""], "Invalid value for '--format': '' is neither openai nor chatgpt nor a file (see "),
        (["missing.txt"], "missing.txt: No such file or directory"),
        (["."], ".: Is a directory"),
        (["/proc/self/mem"], "/proc/self/mem: Input/output error"),
        (["a\nb\x1b[31m"], "a b\\x1b[31m: No such file or directory"),
        (["a", "b"], "Got unexpected extra argument (b)"),
        (["--malformed", "hide"], "Invalid value for '--malformed': 'hide' is not one of 'drop', 'keep'"),
        (["--input", "xml"], "Invalid value for '--input': 'xml' is not one of 'text', 'jsonl'"),
        (["--max-marker", "7"], "Invalid value for '--max-marker': 7 is not in the range x>=8"),
        (["--max-marker", "x"], "Invalid value for '--max-marker': 'x' is not a valid integer"),
        (["--max-payload", "9"], "Invalid value for '--max-payload': 9 is less than --max-marker, which is 4096 (see "),
        (["--max-payload", "9", "--max-marker", "10"], "Invalid value for '--max-payload': 9 is less than "),
        (["--max-payload"], "Option '--max-payload' requires an argument"),
    ],
    ids=str,
)
def test_bad_use(args: list[str], message: str) -> None:
    done = run("clean", *args, stdin=b"not read")
    assert failure(done).startswith(message)
    assert done.stdout == b""


def test_a_bad_option_or_command() -> None:
    assert re.fullmatch(
        r"No such option:? '?--foo'?.*\(see 'streamcite clean --help'\)", failure(run("clean", "--foo"))
    )
    assert re.fullmatch(r"No such command 'tidy'.*\(see 'streamcite --help'\)", failure(run("tidy")))
    assert failure(run()) == "Missing command (see 'streamcite --help')"


def test_a_file_that_cannot_be_opened(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.fspath(path))
        assert failure(run("clean", path)) == f"{path}: No such device or address"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "'{0}' is neither openai nor chatgpt nor a file"),
        (b"", "{0}: line 1, column 1: not JSON: Expecting value"),
        (b'{\n "start": "[["\n', "{0}: line 3, column 1: not JSON: Expecting ',' delimiter"),
        (b"\xff{}", "{0}: not UTF-8"),
        (b"[" * 100_000, "{0}: nested too deeply"),
        (b"[1]", "{0}: must be a JSON object with the fields of a citation format"),
        (b'{"strat": "[["}', "{0}: strat: is not a field of a citation format; its fields are "),
        (b'{"start": ""}', "{0}: start: must be a non-empty string without whitespace, not ''"),
        (b'{"families": "cite"}', "{0}: families: must be a sequence of names, not the string 'cite'"),
        (b'{"source_id": "("}', "{0}: source_id: '(' is not a regular expression: "),
        (b'{"display": {}}', "{0}: display: is not a field of a citation format; its fields are "),
        (b" " * 2**20 + b"{}", "{0}: larger than 1048576 bytes"),
    ],
    ids=lambda value: value[:20] if isinstance(value, bytes) else "",
)
def test_a_bad_format(tmp_path: Path, content: bytes | None, message: str) -> None:
    path = tmp_path / "format.json"
    if content is not None:
        path.write_bytes(content)
    said = failure(run("clean", "--format", path, stdin=b"not read"))
    assert said.startswith("Invalid value for '--format': " + message.format(path))


def test_a_directory_as_format(tmp_path: Path) -> None:
    assert f"{tmp_path}: Is a directory" in failure(run("parse", "--format", tmp_path))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'"open', "line 3, column 1: not JSON: Unterminated string starting at"),
        (b'"a" "b"', "line 3, column 5: not JSON: Extra data"),
        (b"naked", "line 3, column 1: not JSON: Expecting value"),
        (b'{"delta": "x"}', "line 3: must be a JSON string, not an object"),
        (b'["x"]', "line 3: must be a JSON string, not an array"),
        (b"1", "line 3: must be a JSON string, not a number"),
        (b"-1.5e3", "line 3: must be a JSON string, not a number"),
        (b"true", "line 3: must be a JSON string, not a boolean"),
        (b"null", "line 3: must be a JSON string, not null"),
        (b"1" * 5000, "line 3: must be a JSON string, not something else"),
        (b"[" * 100_000, "line 3: must be a JSON string, not something else"),
    ],
    ids=lambda value: value[:15] if isinstance(value, bytes) else "",
)
def test_a_bad_json_line(line: bytes, message: str) -> None:
    done = run("clean", "--input", "jsonl", stdin=b'"before"\n\n' + line + b'\n"behind"\n')
    assert failure(done) == f"standard input: {message}"
    assert done.stdout == b"before"


def test_a_bad_json_line_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(b"1\n")
    assert failure(run("clean", "--input", "jsonl", path)) == f"{path}: line 1: must be a JSON string, not a number"


def test_a_json_line_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli_input, "MAX_LINE", 1000)

    def endless() -> Iterator[str]:
        yield '"short"\n"'
        while True:
            yield "x" * 100

    deltas = json_deltas(endless(), "-")
    assert next(deltas) == "short"
    with pytest.raises(click.ClickException, match=r"^standard input: line 2: longer than 1000 code points"):
        next(deltas)


def test_a_closed_standard_input(tmp_path: Path) -> None:
    assert failure(shell("streamcite clean <&-", cwd=tmp_path)) == "standard input is closed"


COMPLETION = "_STREAMCITE_COMPLETE=bash_complete COMP_WORDS='streamcite cl' COMP_CWORD=1 streamcite"
HELP = ["", " parse", " clean", " prompt", " material", " demo"]
PRINTS = [
    *(pytest.param(f"streamcite{command} --help", marks=pytest.mark.slow) for command in HELP),
    "streamcite --version",
    "streamcite demo --list",
    "streamcite parse answer.txt",
    "streamcite clean answer.txt",
    "streamcite prompt --material tool",
    COMPLETION,
]


@pytest.mark.parametrize("command", PRINTS)
def test_whatever_prints_ends_as_documented_where_it_cannot(answer: Path, command: str) -> None:
    assert shell(command, cwd=answer.parent).stdout
    assert failure(shell(f"{command} >/dev/full", cwd=answer.parent)) == "standard output: No space left on device"
    assert failure(shell(f"{command} >&-", cwd=answer.parent)) == "standard output is closed"
    # The command begins when nobody can read what it prints any more.
    unread = "exec 3> >(:); wait $!; "
    done = shell(f"{unread}{command} >&3", cwd=answer.parent)
    assert (done.returncode, done.stderr) == (141, b"")


def test_without_standard_error_there_is_nobody_to_tell(answer: Path) -> None:
    done = shell("streamcite clean missing.txt 2>&-; echo $?", cwd=answer.parent)
    assert (done.stdout, done.stderr) == (b"2\n", b"")


def test_input_that_cannot_be_waited_for_is_not_taken_to_have_ended() -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    done = subprocess.run([COMMAND, "clean"], stdin=reading, capture_output=True, env=ENVIRONMENT, timeout=PATIENCE)
    os.close(reading)
    os.close(writing)
    assert failure(done) == "standard input: Resource temporarily unavailable"


def test_output_that_cannot_be_written_at_once_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    data = b"x" * 10**6  # far more than a pipe holds
    received = b""

    def wait(_: object, writable: list[io.FileIO], __: object) -> None:
        # This reader reads only when it is waited for: whoever tries again and again instead never ends.
        nonlocal received
        assert [file.fileno() for file in writable] == [writing]
        received += os.read(reading, len(data))

    monkeypatch.setattr(cli_output, "select", SimpleNamespace(select=wait))
    with os.fdopen(reading, "rb") as rest:
        with os.fdopen(writing, "w", encoding="utf-8") as stdout:
            with redirect_stdout(stdout):
                output = cli_output.Output()
            thread = threading.Thread(target=output.write, args=[data.decode()], daemon=True)
            thread.start()
            thread.join(PATIENCE)
            assert not thread.is_alive()
        assert received
        assert received + rest.read() == data


def test_output_to_a_slow_reader_of_a_file_that_does_not_block() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    text = b"line\n" * 30_000  # more than one pipe holds, and less than three and what the command has read
    with subprocess.Popen([COMMAND, "clean"], stdin=subprocess.PIPE, stdout=writing, env=ENVIRONMENT) as process:
        os.close(writing)
        send(process, text)
        assert receive(reading, len(text)) == text
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
    os.close(reading)


# How it ends


@pytest.mark.parametrize("command", ["parse", "clean"])
def test_a_closed_pipe_ends_it_quietly(command: str) -> None:
    with running(command) as process:
        assert process.stdout is not None
        send(process, b"first\n")
        receive(process.stdout, 6)
        process.stdout.close()
        process.stdout = None
        send(process, b"second\n")
        assert process.wait(PATIENCE) == 141
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_head(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("line\n" * 1_000_000, "utf-8")
    done = shell("streamcite clean long.txt | head -n 1; echo ${PIPESTATUS[*]}", cwd=tmp_path)
    assert (done.stdout, done.stderr) == (b"line\n141 0\n", b"")


@pytest.mark.parametrize("command", ["parse", "clean"])
def test_an_interrupt_ends_it_quietly(command: str) -> None:
    with running(command) as process:
        send(process, b"text")
        receive(process.stdout, 4)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert process.stderr is not None
        assert process.stderr.read().strip() == b""


def test_main_names_what_is_missing_by_the_extra_of_the_command(tmp_path: Path) -> None:
    # The package alone, as `pip install streamcite` would leave it if it had no other dependency.
    site = tmp_path / "site"
    site.mkdir()
    (site / "streamcite").symlink_to(Path(streamcite.__file__).parent)
    program = "import sys; from streamcite.cli import main; sys.exit(main())"

    def run_there(*args: str) -> subprocess.CompletedProcess[bytes]:
        python = [sys.executable, "-P", "-S", "-c", program, *args]
        return subprocess.run(python, capture_output=True, env={"PYTHONPATH": str(site)}, timeout=PATIENCE)

    told = 'is not installed; this command needs it: pip install "streamcite[cli]"'
    assert failure(run_there("clean")) == f"click {told}"
    for command, extra in (("ask", "ask"), ("relay", "cli,relay"), ("serve", "serve")):
        assert failure(run_there(command)) == f"click {told.replace('cli', extra)}"
    # With click, all but the demo works.
    spec = find_spec("click")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    (site / "click").symlink_to(spec.submodule_search_locations[0])
    assert run_there("clean", os.devnull).returncode == 0
    assert failure(run_there("demo")).endswith(told)
    program = f"import sys; sys.modules['starlette'] = None; {program}"
    done = subprocess.run([sys.executable, "-P", "-c", program, "serve"], capture_output=True, env=ENVIRONMENT)
    assert failure(done) == f"starlette {told.replace('cli', 'serve')}"
