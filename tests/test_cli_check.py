"""The command ``check``: its output in both forms, its exit status, and what a user can do wrong."""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import pytest

from streamcite import OPENAI, CitationFormat, Source, instructions, parse
from streamcite.lint import lint
from streamcite.prompt import MaterialForm
from tests.linting import MARKER, SOURCES
from tests.markers import cite
from tests.processes import PATIENCE, run, shell, terminal

# Those with an id that a marker can name.
CITABLE = {id: source for id, source in SOURCES.items() if ":" not in id}
GOOD = f"Yes.{MARKER}\n"
BAD = f"Naïve 🚀.{cite('nope')} So `x{MARKER}`.\n\n文書{MARKER}。\tblock-7\n"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    path = tmp_path / "sources.json"
    path.write_text(json.dumps([source.to_dict() | {"text": source.text} for source in CITABLE.values()]), "utf-8")
    return path


@pytest.fixture
def answer(tmp_path: Path) -> Path:
    path = tmp_path / "answer.txt"
    path.write_bytes(BAD.encode())
    return path


def test_nothing_found(tmp_path: Path, sources: Path) -> None:
    path = tmp_path / "good.txt"
    path.write_bytes(GOOD.encode())
    done = run("check", path, "--sources", sources)
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)
    done = run("check", path, "--sources", sources, "--json")
    assert (done.stdout, done.stderr, done.returncode) == (b"[]\n", b"", 0)


def test_json(answer: Path, sources: Path) -> None:
    expected = [finding.to_dict() for finding in lint(BAD, CITABLE)]
    assert [finding["rule"] for finding in expected] == ["unknown-source", "in-code", "before-punctuation", "bare-id"]
    for args, stdin in (([answer], b""), ([], BAD.encode())):
        done = run("check", *args, "--sources", sources, "--json", stdin=stdin)
        assert (json.loads(done.stdout), done.stderr, done.returncode) == (expected, b"", 1)
        assert done.stdout.isascii()
    assert [*expected[0]] == ["rule", "severity", "message", "start", "end", "position"]


def test_the_line_a_caret_and_the_message(answer: Path, sources: Path) -> None:
    done = run("check", answer, "--sources", sources, env={"LC_ALL": "C"})
    assert (done.stderr, done.returncode) == (b"", 1)
    first, code, point, bare = lint(BAD, CITABLE)
    marker = "⟦cite|turn0file1|L1-L2⟧"
    assert done.stdout.decode() == (
        f"{answer}:1:9: error: {first.message} [unknown-source]\n"
        f"    Naïve 🚀.⟦cite|nope⟧ So `x{marker}`.\n"
        f"             ^{'~' * 10}\n"
        f"{answer}:1:26: warning: {code.message} [in-code]\n"
        f"    Naïve 🚀.⟦cite|nope⟧ So `x{marker}`.\n"
        f"                              ^{'~' * 22}\n"
        f"{answer}:3:3: warning: {point.message} [before-punctuation]\n"
        f"    文書{marker}。 block-7\n"
        f"        ^{'~' * 22}\n"
        f"{answer}:3:{3 + len(marker) + 2}: error: {bare.message} [bare-id]\n"
        f"    文書{marker}。 block-7\n"
        f"        {' ' * (len(marker) + 3)}^{'~' * 6}\n"
    )


def test_standard_input_has_a_name(sources: Path) -> None:
    done = run("check", "--sources", sources, stdin=b"Yes.\n")
    assert done.stdout.decode().startswith("standard input:1:1: warning: Cite the sources")
    assert done.stdout.decode().endswith("[uncited]\n    Yes.\n    ^~~~\n")


def test_a_long_line_is_cut_round_what_is_wrong(tmp_path: Path, sources: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("word " * 10_000 + f"`x{MARKER}`" + " word" * 10_000, "utf-8")
    lines = run("check", path, "--sources", sources).stdout.decode().splitlines()
    assert len(lines) == 3
    assert all(len(line) <= 100 for line in lines[1:])
    assert lines[1][lines[2].index("^") :].startswith("⟦cite|")


def test_no_control_code_reaches_the_terminal(tmp_path: Path, sources: Path) -> None:
    path = tmp_path / "escape.txt"
    path.write_text(f"\x1b]0;title\x07`x{MARKER}`\x1b[2J", "utf-8")
    done = run("check", path, "--sources", sources)
    assert b"[in-code]" in done.stdout
    assert not re.search(rb"[\x00-\x09\x0b-\x1f\x7f]", done.stdout)


def test_in_colour_where_it_is_a_terminal(answer: Path, sources: Path) -> None:
    plain = run("check", answer, "--sources", sources).stdout
    assert b"\x1b" not in plain
    with terminal("check", answer, "--sources", sources) as opened:
        assert opened.end() == 1
        coloured = opened.output.replace(b"\r\n", b"\n")
    assert b"\x1b[31m\x1b[1merror\x1b[0m: " in coloured
    assert b"\x1b[33m\x1b[1mwarning\x1b[0m: " in coloured
    assert re.sub(rb"\x1b\[[0-9]*m", b"", coloured) == plain
    with terminal("check", answer, "--sources", sources, env={"NO_COLOR": "1"}) as opened:
        assert opened.end() == 1
        assert b"\x1b" not in opened.output


def test_options(tmp_path: Path, sources: Path) -> None:
    def found(text: str, *args: str | Path) -> list[str]:
        done = run("check", "--sources", sources, "--json", *args, stdin=text.encode())
        assert done.stderr == b""
        return [finding["rule"] for finding in json.loads(done.stdout)]

    whole = f"Yes.{cite('turn0file1')}"
    assert found(whole, "--lines", "required") == ["missing-lines"]
    assert found(whole[:-1]) == ["malformed-marker"]
    assert found(whole[:-1], "--complete") == ["repaired-marker"]
    brackets = tmp_path / "brackets.json"
    form = CitationFormat(start="[[", delimiter="|", stop="]]", source_id="[a-z0-9.:-]+", field_chars=r"\S")
    brackets.write_text(json.dumps(form.to_dict()), "utf-8")
    shown = run("check", "--sources", sources, "--format", brackets, stdin=b"Yes.[[cite|block-9]]").stdout.decode()
    assert "[unknown-source]\n    Yes.[[cite|block-9]]\n        ^~~~~~~~~~~~~~~~\n" in shown


def test_nothing_is_found_in_the_examples_of_instructions(tmp_path: Path) -> None:
    texts = [instructions(material=form) for form in get_args(MaterialForm)]
    rules = [rule.rpartition(": ") for text in texts for rule in text.split("\n") if OPENAI.start in rule]
    answer = "\n\n".join(example for _, colon, example in rules if colon) + "\n"
    ids = {reference.source_id for event in parse(answer) for reference in getattr(event, "references", ())}
    assert len(ids) >= 4
    sources = [Source(id, "line\n" * 50).to_dict() for id in sorted(ids)]
    (tmp_path / "sources.json").write_text(json.dumps(sources), "utf-8")
    done = run("check", "--sources", tmp_path / "sources.json", stdin=answer.encode())
    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("answer.txt", "Missing option '--sources' (see 'streamcite check --help')"),
        ("missing.txt --sources sources.json", "missing.txt: No such file or directory"),
        ("answer.txt --sources missing.json", "missing.json: No such file or directory"),
        ("answer.txt --sources answer.txt", "answer.txt: line 1, column 1: not JSON: "),
        ("answer.txt --sources odd.json", "odd.json: entry 2 ('b'): txt: is not a field of a source; its fields are "),
        ("- --sources -", "the answer and the sources cannot both be standard input (see 'streamcite check --help')"),
        ("answer.txt --sources sources.json --lines all", "Invalid value for '--lines': 'all' is not one of "),
    ],
)
def test_bad_use_is_one_line(tmp_path: Path, answer: Path, sources: Path, args: str, message: str) -> None:
    (tmp_path / "odd.json").write_text('[{"id": "a", "text": ""}, {"id": "b", "txt": ""}]', "utf-8")
    done = shell(f"streamcite check {args}", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith(f"streamcite: {message}")
    assert done.stderr.count(b"\n") == 1


def test_a_file_without_an_end(tmp_path: Path, sources: Path) -> None:
    done = run("check", "/dev/zero", "--sources", sources)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"streamcite: the answer is longer than 16777216 code points\n"


def test_bytes_that_are_not_text(sources: Path) -> None:
    done = run("check", "--sources", sources, stdin=b"\xff" + GOOD.encode())
    assert (done.returncode, done.stdout) == (0, b"")
    assert done.stderr == b"streamcite: invalid UTF-8 replaced by U+FFFD: 1 times, first at byte 0\n"


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    site = tmp_path / "site"
    site.mkdir()
    for name in ("streamcite", "click"):
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        (site / name).symlink_to(Path(spec.origin).parent)
    program = "import sys; from streamcite.cli import main; sys.exit(main())"
    (tmp_path / "sources.json").write_text("[]", "utf-8")
    done = subprocess.run(
        [sys.executable, "-P", "-S", "-c", program, "check", os.devnull, "--sources", tmp_path / "sources.json"],
        capture_output=True,
        env={"PYTHONPATH": str(site)},
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == (
        b'streamcite: markdown_it is not installed; this command needs it: pip install "streamcite[cli]"\n'
    )


def test_the_help_and_its_example(tmp_path: Path) -> None:
    shown = run("check", "--help").stdout.decode()
    assert shown.startswith("Usage: streamcite check [OPTIONS] [ANSWER|-]\n")
    assert shown.isascii()
    lines = [line.strip() for line in shown.partition("Example:")[2].partition("Exit status")[0].splitlines()]
    done = shell("\n".join(line.removeprefix("$ ") for line in lines if line.startswith("$ ")), cwd=tmp_path)
    printed = " ".join(line for line in lines if not line.startswith(("$ ", "..."))).split()
    assert done.returncode == 1
    assert printed
    assert done.stdout.decode().split()[: len(printed)] == printed
