"""The command ``streamcite``: `parse` and `clean`, their options, what they print and when, and their help."""

import io
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamcite
from streamcite import CHATGPT, OPENAI, CitationFormat, ParserOptions, from_dict, parse
from streamcite.cli.input import Utf8, json_deltas
from streamcite.testing import recorded_answers
from tests.markers import MARKER
from tests.processes import ENVIRONMENT, PATIENCE, failure, finish, receive, run, running, send, shell
from tests.reading import joined

ANSWER = f"Naïve 🚀.{MARKER} Next \ue200cite\ue202\ue201line.\n"
CLEAN = "Naïve 🚀. Next line.\n"
ASCII = CitationFormat(start="[[", delimiter="|", stop="]]")


def events(output: bytes) -> list[streamcite.Event]:
    """The events in what `parse` has printed, adjacent strings joined."""
    assert output.isascii()
    return joined(from_dict(json.loads(line)) for line in output.splitlines())


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


def test_a_format_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "format.json"
    path.write_text(json.dumps(ASCII.to_dict()), "utf-8-sig")
    assert run("clean", "--format", path, stdin=b"a[[cite|turn0file1]].").stdout == b"a."


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


# The help


@pytest.mark.parametrize("command", [[], ["parse"], ["clean"], ["demo"]], ids=str)
def test_help(command: list[str]) -> None:
    done = run(*command, "--help")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"Usage: streamcite ")
    assert b"streamcite" in done.stdout.partition(b"\n\n")[2]
    assert done.stdout.isascii()
    assert run(*command, "-h").stdout == done.stdout


def test_both_commands_take_the_same_but_for_what_only_text_needs() -> None:
    clean, parse = (run(command, "--help").stdout.partition(b"Options:")[2] for command in ("clean", "parse"))
    assert re.sub(rb"\n  --spacing .*?(?=\n  -)", b"", clean, flags=re.DOTALL) == parse != b""
    assert failure(run("parse", "missing.txt")) == "missing.txt: No such file or directory"


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
