"""The command ``streamcite``: `parse` and `clean`, their options, and what a user can do wrong."""

import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamcite
from streamcite import CHATGPT, OPENAI, CitationFormat, ParserOptions, from_dict, parse
from streamcite.cli import input as cli_input
from streamcite.cli import output as cli_output
from streamcite.cli.input import Utf8, json_deltas
from streamcite.testing import recorded_answers
from tests.processes import COMMAND, ENVIRONMENT, PATIENCE, finish, receive, run, running, send, shell
from tests.reading import joined

MARKER = "\ue200cite\ue202turn0file1\ue202L8-L13\ue201"
ANSWER = f"Naïve 🚀.{MARKER} Next \ue200cite\ue202\ue201line.\n"
CLEAN = "Naïve 🚀. Next line.\n"
ASCII = CitationFormat(start="[[", delimiter="|", stop="]]")


def events(output: bytes) -> list[streamcite.Event]:
    """The events in what `parse` has printed, adjacent strings joined."""
    assert output.isascii()
    return joined(from_dict(json.loads(line)) for line in output.splitlines())


def failure(done: subprocess.CompletedProcess[bytes]) -> str:
    """The one line of a command that failed as it should, without its name."""
    assert done.returncode == 2
    line, end = done.stderr.decode().split("\n")
    assert (line.startswith("streamcite: "), end) == (True, "")
    return line.removeprefix("streamcite: ")


@pytest.fixture
def answer(tmp_path: Path) -> Path:
    path = tmp_path / "answer.txt"
    path.write_bytes(ANSWER.encode())
    return path


# What they print


@pytest.mark.parametrize("name", recorded_answers())
def test_a_recorded_answer(tmp_path: Path, name: str) -> None:
    text = recorded_answers()[name].text
    path = tmp_path / "answer.txt"
    path.write_bytes(text.encode())
    cleaned = run("clean", path)
    assert (cleaned.stdout.decode(), cleaned.stderr, cleaned.returncode) == (streamcite.clean(text), b"", 0)
    parsed = run("parse", path)
    assert (events(parsed.stdout), parsed.stderr, parsed.returncode) == (parse(text), b"", 0)


@pytest.mark.parametrize("args", [["clean"], ["clean", "-"], ["clean", "--input", "text", "-"]], ids=str)
def test_standard_input(args: list[str]) -> None:
    assert run(*args, stdin=ANSWER.encode()).stdout == CLEAN.encode()


def test_nothing_in_nothing_out() -> None:
    for command in ("parse", "clean"):
        done = run(command)
        assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)


def test_tidy_spacing() -> None:
    answer = f"Open {MARKER}. Till ({MARKER}) nine {MARKER}".encode()
    assert run("clean", stdin=answer).stdout == b"Open . Till () nine "
    assert run("clean", "--spacing", "exact", stdin=answer).stdout == b"Open . Till () nine "
    assert run("clean", "--spacing", "tidy", stdin=answer).stdout == b"Open. Till nine "


def test_json_lines_are_deltas() -> None:
    deltas = ["Na\u00efve", " 🚀.\ue200ci", "", MARKER[3:], "\u2028 \u0085Next\n"]
    # As a dump makes them, with and without escapes, and with what may stand round them.
    lines = "".join(json.dumps(delta, ensure_ascii=number % 2 == 0) + "\n" for number, delta in enumerate(deltas))
    for data in (lines, lines.replace("\n", "\r\n"), "\n \t\n" + lines, lines.removesuffix("\n")):
        done = run("clean", "--input", "jsonl", stdin=data.encode())
        assert (done.stdout.decode(), done.stderr) == ("Naïve 🚀. \u2028 \u0085Next\n".replace(". ", ".", 1), b"")
    done = run("parse", "--input", "jsonl", stdin=lines.encode())
    printed = [json.loads(line) for line in done.stdout.splitlines()]
    assert [event["text"] for event in printed if event["type"] == "text"] == ["Naïve", " 🚀.", deltas[-1]]
    assert events(done.stdout) == parse("".join(deltas))


@pytest.mark.parametrize(
    ("args", "text", "options"),
    [
        (["--malformed", "drop"], ANSWER, {"malformed": "drop"}),
        (["--malformed", "keep"], ANSWER, {"malformed": "keep"}),
        ([], "a\ue200cite\ue202turn0file1 b", {}),
        (["--no-repair"], "a\ue200cite\ue202turn0file1 b", {"repair": False}),
        (["--max-marker", "8"], ANSWER, {"max_marker": 8}),
        (
            ["--max-marker", "8", "--max-payload", "9"],
            "\ue200url\ue202long ago\ue201",
            {"max_marker": 8, "max_payload": 9},
        ),
        (["--format", "openai"], "a\ue203b", {"format": OPENAI}),
        (["--format", "chatgpt"], "a\ue203b", {"format": CHATGPT}),
        (["--format", "ascii.json"], "a[[cite|turn0file1|L2]]b", {"format": ASCII}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_options(tmp_path: Path, args: list[str], text: str, options: ParserOptions) -> None:
    (tmp_path / "ascii.json").write_text(json.dumps(ASCII.to_dict()), "utf-8")
    args = [str(tmp_path / arg) if arg.endswith(".json") else arg for arg in args]
    assert events(run("parse", *args, stdin=text.encode()).stdout) == parse(text, **options)
    assert run("clean", *args, stdin=text.encode()).stdout.decode() == streamcite.clean(text, **options)


def test_an_option_changes_what_is_printed() -> None:
    # Each row of `test_options` would pass without its option if this did not hold.
    text = f"{ANSWER}\ue200cite\ue202turn0file1 b\ue203"
    outputs = {
        run("parse", *args, stdin=text.encode()).stdout
        for args in ([], ["--malformed", "keep"], ["--no-repair"], ["--max-marker", "8"], ["--format", "chatgpt"])
    }
    assert len(outputs) == 5


def test_an_answer_that_ended_by_itself() -> None:
    text = "Yes.\ue200cite\ue202turn0file1"
    for args, complete in (([], False), (["--complete"], True)):
        assert events(run("parse", *args, stdin=text.encode()).stdout) == parse(text, complete=complete)


# Incremental


@pytest.mark.parametrize("jsonl", [False, True], ids=["text", "jsonl"])
def test_clean_prints_each_piece_before_the_next_comes(jsonl: bool) -> None:
    pieces = [
        ("Hello", "Hello"),
        (",\nwor", ",\nwor"),
        ("ld.\ue200ci", "ld."),
        ("te\ue202turn0file1", ""),
        ("\ue201 N", " N"),
        ("o.", "o."),
    ]
    with running("clean", *(["--input", "jsonl"] if jsonl else [])) as process:
        for piece, expected in pieces:
            send(process, (json.dumps(piece) + "\n").encode() if jsonl else piece.encode())
            assert receive(process.stdout, len(expected)).decode() == expected
        assert finish(process) == (0, b"", b"")


def test_parse_prints_each_event_before_the_next_piece_comes() -> None:
    with running("parse") as process:
        for piece, expected in ((b"Hello", {"type": "text", "text": "Hello"}), (MARKER.encode() + b"!", None)):
            send(process, piece)
            line = receive(process.stdout, len(json.dumps(expected)) + 1 if expected else 100)
            assert line.startswith(b'{"type": ')
            assert expected is None or json.loads(line) == expected
        status, rest, errors = finish(process)
        assert (status, errors) == (0, b"")
        assert events(line + rest) == parse(f"Hello{MARKER}!")[1:]


def test_a_code_point_cut_in_two() -> None:
    with running("clean") as process:
        send(process, "a🚀".encode()[:3])
        assert receive(process.stdout, 1) == b"a"
        send(process, "🚀".encode()[2:3])
        send(process, "🚀".encode()[3:])
        assert receive(process.stdout, 4) == "🚀".encode()
        assert finish(process) == (0, b"", b"")


# Text as bytes


@pytest.mark.parametrize(
    "env",
    [{"LC_ALL": "C"}, {"PYTHONIOENCODING": "latin-1"}, {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}],
)
def test_text_is_utf8_whatever_the_locale(env: dict[str, str]) -> None:
    text = "Ünï 🚀 梅\r\n\r \u2028\n"
    assert run("clean", stdin=text.encode(), env=env).stdout.decode() == text
    assert run("clean", "--input", "jsonl", stdin=json.dumps(text).encode(), env=env).stdout.decode() == text


def test_invalid_utf8_is_replaced_and_reported_at_the_end() -> None:
    done = run("clean", stdin="ok ü\ufffd".encode() + b" \xff\xfe.\xf0\x9f\x9a")
    assert done.stdout.decode() == "ok ü\ufffd \ufffd\ufffd.\ufffd"
    assert done.stderr == b"streamcite: invalid UTF-8 replaced by U+FFFD: 3 times, first at byte 9\n"
    assert done.returncode == 0


class Pieces(io.RawIOBase):
    """A file that gives one piece a read."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter([piece for piece in pieces if piece])

    def read(self, size: int = -1, /) -> bytes:
        return next(self._pieces, b"")


@given(st.lists(st.binary(max_size=6) | st.text(max_size=3).map(str.encode) | st.just("🚀".encode()[:3])))
def test_any_bytes_in_any_pieces(pieces: list[bytes]) -> None:
    text = Utf8(Pieces(pieces))
    assert "".join(text) == b"".join(pieces).decode("utf-8", "replace")
    # The same by Python's other ways: decode up to the first error, again and again.
    invalid, offset, data = 0, 0, b"".join(pieces)
    while True:
        try:
            data.decode()
            break
        except UnicodeDecodeError as error:
            first = offset + error.start
            assert invalid or text.first_invalid == first
            invalid, offset, data = invalid + 1, offset + error.end, data[error.end :]
    assert text.invalid == invalid


def test_surrogates() -> None:
    # The halves of a character in two deltas, a half on its own, and one at the end.
    lines = b'"a\\ud83d"\n"\\ude00b\\udc00"\n"c\\ud83d"\n'
    done = run("clean", "--input", "jsonl", stdin=lines)
    assert done.stdout.decode() == "a😀b\ufffdc\ufffd"
    assert done.stderr == b"streamcite: lone surrogates replaced by U+FFFD: 2 times\n"
    assert done.returncode == 0
    parsed = run("parse", "--input", "jsonl", stdin=lines)
    assert [json.loads(line)["text"] for line in parsed.stdout.splitlines()] == ["a\ud83d", "\ude00b\udc00", "c\ud83d"]
    assert (parsed.stderr, parsed.returncode) == (b"", 0)


def test_the_text_before_half_a_character_does_not_wait_for_the_other() -> None:
    with running("clean", "--input", "jsonl") as process:
        send(process, b'"a\\ud83d"\n')
        assert receive(process.stdout, 1) == b"a"
        send(process, b'"\\ude00"\n')
        assert receive(process.stdout, 4) == "😀".encode()


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))), st.integers(1, 5))
def test_json_lines_in_any_pieces(deltas: list[str], size: int) -> None:
    text = "".join(json.dumps(delta, ensure_ascii=False) + "\n" for delta in deltas)
    assert list(json_deltas((text[i : i + size] for i in range(0, len(text), size)), "-")) == deltas


# What a user can do wrong


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


def test_both_commands_take_the_same_but_for_what_only_text_needs() -> None:
    clean, parse = (run(command, "--help").stdout.partition(b"Options:")[2] for command in ("clean", "parse"))
    assert re.sub(rb"\n  --spacing .*?(?=\n  -)", b"", clean, flags=re.DOTALL) == parse != b""
    assert failure(run("parse", "missing.txt")) == "missing.txt: No such file or directory"


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


def test_a_format_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "format.json"
    path.write_text(json.dumps(ASCII.to_dict()), "utf-8-sig")
    assert run("clean", "--format", path, stdin=b"a[[cite|turn0file1]].").stdout == b"a."


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


# The help


@pytest.mark.parametrize("command", [[], ["parse"], ["clean"], ["demo"]], ids=str)
def test_help(command: list[str]) -> None:
    done = run(*command, "--help")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"Usage: streamcite ")
    assert b"streamcite" in done.stdout.partition(b"\n\n")[2]
    assert done.stdout.isascii()
    assert run(*command, "-h").stdout == done.stdout


@pytest.mark.parametrize("command", ["parse", "clean"])
def test_the_examples_in_the_help_give_what_it_says(tmp_path: Path, command: str) -> None:
    lines = [line.strip() for line in run(command, "--help").stdout.decode().partition("Example:")[2].splitlines()]
    example = lines[1 : lines.index("Options:") - 1]
    script = [line.removeprefix("$ ") for line in example if line.startswith("$ ")]
    printed = [line.removesuffix("...") for line in example if not line.startswith("$ ")]
    assert script
    assert printed
    output = shell("\n".join(script), cwd=tmp_path).stdout.decode().splitlines()
    assert len(output) == len(printed)
    assert all(line.startswith(start) for line, start in zip(output, printed, strict=True))


def test_version_and_the_other_way_to_start_it() -> None:
    assert run("--version").stdout == b"streamcite 0.1.0\n"
    for args in (["--version"], ["clean", "--help"]):
        module = [sys.executable, "-P", "-m", "streamcite", *args]
        done = subprocess.run(module, capture_output=True, env=ENVIRONMENT, timeout=PATIENCE)
        assert (done.stdout, done.stderr, done.returncode) == (run(*args).stdout, b"", 0)


def test_shell_completion() -> None:
    words: dict[str, Any] = {"_STREAMCITE_COMPLETE": "bash_complete", "COMP_WORDS": "streamcite cl", "COMP_CWORD": "1"}
    assert run(env=words).stdout == b"plain,clean\n"
