"""The command ``render``: its forms, that it prints while the answer comes, and what a user can do wrong."""

import json
import os
import signal
from pathlib import Path

import pytest

from streamcite import Source
from streamcite.render.html import render_html
from streamcite.render.markdown import render_markdown
from streamcite.render.plain import render_plain
from streamcite.resolve import resolve
from tests.markers import cite
from tests.processes import PATIENCE, finish, receive, run, running, send, shell, terminal
from tests.screen import Screen

CITED = {
    "t1": Source("t1", "line 1\nline 2", title="Office days", url="https://a.example/office"),
    "none": Source("none", "A block.", unit="block"),
}
ANSWER = f"# Days\n\nThree **days**.{cite('t1', 'L1-L2')} 梅{cite('none')}\n\n```\nx{cite('t1')}\n```\n"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    path = tmp_path / "sources.json"
    path.write_text(json.dumps([source.to_dict() | {"text": source.text} for source in CITED.values()]), "utf-8")
    return path


@pytest.fixture
def answer(tmp_path: Path) -> Path:
    path = tmp_path / "answer.txt"
    path.write_bytes(ANSWER.encode())
    return path


def test_all_forms(answer: Path, sources: Path) -> None:
    events = resolve(ANSWER, CITED)
    expected = {
        "plain": render_plain(events),
        "markdown": render_markdown(events),
        "footnotes": render_markdown(events, "footnotes"),
        "html": render_html(events),
        "terminal": render_plain(events),  # which a pipe is not
    }
    for form, text in expected.items():
        done = run("render", answer, "--sources", sources, "--to", form, env={"LC_ALL": "C"})
        assert (done.stdout.decode(), done.stderr, done.returncode) == (text, b"", 0)
    assert run("render", answer, "--sources", sources).stdout.decode() == expected["terminal"]


def test_what_stands_after_an_answer_without_citations(sources: Path) -> None:
    for form, text in {"plain": b"None.", "markdown": b"None.", "html": b'<p dir="auto">None.</p>\n'}.items():
        assert run("render", "--sources", sources, "--to", form, stdin=b"None.").stdout == text


@pytest.mark.parametrize(
    ("form", "steps"),
    [
        ("plain", [("Hello", "Hello"), (" wor", " wor"), (f"ld{cite('t1')}", "ld"), (".", " (source 1).")]),
        ("markdown", [("Hello", "Hello"), (cite("t1") + " you", " [1](<https://a.example/office>) you")]),
        ("footnotes", [("Hello", "Hello"), (cite("t1") + " you", "[^1] you")]),
        ("html", [("Hello\n\nYou", '<p dir="auto">Hello</p>\n')]),
    ],
)
def test_each_piece_is_printed_before_the_next_comes(sources: Path, form: str, steps: list[tuple[str, str]]) -> None:
    with running("render", "--sources", sources, "--to", form) as process:
        for written, shown in steps:
            send(process, written.encode())
            assert receive(process.stdout, len(shown.encode())).decode() == shown
        status, rest, errors = finish(process)
        assert (status, errors) == (0, b"")
        assert b"Sources" in rest or b"[^1]: " in rest or form in ("markdown", "html")


def test_in_a_terminal(answer: Path, sources: Path) -> None:
    with terminal("render", answer, "--sources", sources) as opened:
        assert opened.end() == 0
    screen = Screen(opened.output, columns=opened.columns, rows=opened.rows)
    lines = [line for line in screen.lines if line]
    assert lines[:3] == ["Days", "Three days.[1] 梅[2]", " x[1]"]
    assert lines[3].startswith("Sources ─")
    assert lines[4:] == [
        "[1] Office days",
        "    https://a.example/office",
        "    L1 line 1",
        "    L2 line 2",
        "[2] none",
        "    A block.",
    ]
    assert set(screen.links) == {"", "https://a.example/office"}
    assert screen.cursor_shown


def test_a_terminal_shows_the_beginning_while_the_rest_is_to_come(sources: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "answer"
    os.mkfifo(pipe)
    writing = os.open(pipe, os.O_RDWR)  # which, unlike writing alone, does not wait for a reader
    with terminal("render", pipe, "--sources", sources) as opened:
        os.write(writing, f"Some **bold** text.{cite('t1')}".encode())
        opened.read_until(b"[1]")
        assert b"Sources" not in opened.output
        os.close(writing)
        assert opened.end() == 0
    assert "Some bold text.[1]" in Screen(opened.output, columns=opened.columns, rows=opened.rows).lines
    assert b"Sources" in opened.output


def test_an_interrupt_leaves_what_was_shown(sources: Path) -> None:
    with running("render", "--sources", sources, "--to", "markdown") as process:
        send(process, b"Hello")
        assert receive(process.stdout, 5) == b"Hello"
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert process.stderr is not None
        assert process.stderr.read().strip() == b""


def test_options(sources: Path) -> None:
    whole = f"Yes{cite('t1')}"
    command = ("render", "--sources", sources, "--to", "footnotes")
    assert run(*command, stdin=whole[:-1].encode()).stdout == b"Yes"
    assert run(*command, "--complete", stdin=whole[:-1].encode()).stdout.startswith(b"Yes[^1]\n")
    done = run(*command, "--format", "chatgpt", stdin="\ue203Yes\ue204".encode())
    assert done.stdout == b"Yes"


def test_bytes_that_are_not_text(sources: Path) -> None:
    done = run("render", "--sources", sources, "--to", "plain", stdin=b"\xffYes")
    assert (done.stdout.decode(), done.returncode) == ("\ufffdYes", 0)
    assert done.stderr == b"streamcite: invalid UTF-8 replaced by U+FFFD: 1 times, first at byte 0\n"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("answer.txt", "Missing option '--sources' (see 'streamcite render --help')"),
        ("missing.txt --sources sources.json", "missing.txt: No such file or directory"),
        ("answer.txt --sources missing.json", "missing.json: No such file or directory"),
        ("answer.txt --sources answer.txt", "answer.txt: line 1, column 1: not JSON: "),
        ("- --sources -", "the answer and the sources cannot both be standard input (see 'streamcite render --help')"),
        ("answer.txt --sources sources.json --to pdf", "Invalid value for '--to': 'pdf' is not one of "),
    ],
)
def test_bad_use_is_one_line(tmp_path: Path, answer: Path, sources: Path, args: str, message: str) -> None:
    done = shell(f"streamcite render {args}", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith(f"streamcite: {message}")
    assert done.stderr.count(b"\n") == 1


def test_the_help_and_its_example(tmp_path: Path) -> None:
    shown = run("render", "--help").stdout.decode()
    assert shown.startswith("Usage: streamcite render [OPTIONS] [ANSWER|-]\n")
    assert shown.isascii()
    lines = [line.strip() for line in shown.partition("Example:")[2].partition("Options")[0].splitlines()]
    done = shell("\n".join(line.removeprefix("$ ") for line in lines if line.startswith("$ ")), cwd=tmp_path)
    printed = [line for line in lines if line and not line.startswith(("$ ", "..."))]
    assert done.returncode == 0
    assert printed == done.stdout.decode().splitlines()[: len(printed)]
