"""``streamcite demo`` in a terminal: what is drawn, while it comes and at the end."""

import asyncio
import os
import re
import signal
import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import redirect_stdout
from types import SimpleNamespace
from typing import Any

import pytest
from openai import AsyncOpenAI

from streamcite.cli import demo, model
from streamcite.cli.output import Output
from streamcite.cli.view import Plain
from streamcite.links import ResolvedEvent
from streamcite.render.plain import PlainRenderer
from streamcite.render.terminal import TerminalRenderer
from streamcite.sse import encode
from streamcite.testing import RecordedAnswer, serve
from tests.demos import KEY, cited_lines, drawn, in_terminal, numbered, plain_text, seen
from tests.markers import MARKER
from tests.processes import terminal
from tests.recorded import ANSWERS, every_answer
from tests.screen import Screen
from tests.scripted import chunk, head, scripted


def squeezed(text: str) -> str:
    """A text without what depends on the width of the terminal."""
    return re.sub(r"\s", "", text)


def assert_in_order(words: list[str], text: str) -> None:
    end = 0
    for word in words:
        found = text.find(word, end)
        assert found >= 0, f"{word!r} is not behind {text[max(0, end - 80) : end]!r}"
        end = found + len(word)


def test_the_command_shows_all_of_an_answer() -> None:
    with terminal("demo", "--answer", "technical", "--pace", "0", columns=40) as opened:
        assert opened.end() == 0
    assert_shown(ANSWERS["technical"], seen(opened.output, columns=40))


@every_answer
@pytest.mark.parametrize(("columns", "rows"), [(80, 24), (40, 24), (23, 5)])
def test_a_terminal_shows_all_of_an_answer(answer: RecordedAnswer, columns: int, rows: int) -> None:
    assert_shown(answer, drawn(lambda: demo.show_recorded(answer, 0), columns=columns, rows=rows))


def assert_shown(answer: RecordedAnswer, screen: Screen) -> None:
    question, _, rest = screen.text.partition(f"{answer.id} at")
    assert squeezed(question) == squeezed(">" + answer.question)
    drawn, _, sources = rest.partition("\nSources ")
    text, order = numbered(answer)
    tables = re.findall(r"^\|.*\n", text, re.MULTILINE)
    # Without what Markdown is made of; a table may have been drawn row by row.
    prose = re.sub(
        r"^\|.*\n|^ *(?:[-*#]+|\d+\.) |\*\*|(?<=\s)\*(?=\w)|(?<=\w)\*(?=\s)|`+(?:python)?", "", text, flags=re.MULTILINE
    )
    assert_in_order(prose.split(), squeezed(drawn))
    for cell in "".join(tables).split("|"):
        assert re.fullmatch(r"\s*|:?-+:?", cell) or squeezed(cell) in squeezed(drawn), cell
    assert sorted(re.findall(r"\[\d\]", squeezed(drawn))) == sorted(re.findall(r"\[\d\]", text))
    entries = []
    for number, source_id in enumerate(order, 1):
        source = answer.sources[source_id]
        entries += [f"[{number}]{source.title}{source.url}", *cited_lines(answer, source_id)]
    assert squeezed(sources).lstrip("─") == squeezed("".join(entries))
    assert set(screen.links) == {"", *(str(source.url) for source in answer.sources.values())}


def test_a_terminal_shows_the_beginning_while_the_rest_is_to_come() -> None:
    parts = [
        head() + chunk(r"# Head\n\nSome **bo"),
        chunk(r"ld** text.\ue200cite\ue202id1\ue202L1\ue201"),
        encode("[DONE]"),
    ]
    with (
        scripted(*parts) as (url, more),
        terminal("demo", "--base-url", url, "--model", "m", env=KEY) as opened,
    ):
        opened.read_until(b"**bo")  # as written, for nobody knows yet
        more()
        opened.read_until(b"[1]")
        more()
        assert opened.end() == 0
    assert [line for line in seen(opened.output).lines[3:] if line] == [
        "Head",
        "Some bold text.[1]",
        f"Sources {'─' * 72}",
        "[1] id1, line 1",
    ]


def test_a_block_longer_than_the_terminal_shows_its_end_while_it_grows() -> None:
    items = [f"- item {number}" for number in range(20)]
    with (
        scripted(head() + chunk(r"\n".join(items)), encode("[DONE]")) as (url, more),
        terminal("demo", "--base-url", url, "--model", "m", rows=8, env=KEY) as opened,
    ):
        opened.read_until(b"item 19")
        more()
        assert opened.end() == 0
    assert answer_lines(seen(opened.output, rows=8)) == [f" • item {number}" for number in range(20)]


def shown(text: str, *, columns: int = 80, **env: Any) -> Screen:
    """Serve a text, and give the screen that the demo leaves of it."""
    with serve(text) as server:
        return drawn(lambda: demo.show_real(server.base_url, "answer", "Why?"), columns=columns, **env)


def shown_by_the_command(text: str, *, env: Mapping[str, str]) -> Screen:
    with serve(text) as server:
        args = ["demo", "--base-url", server.base_url, "--model", "answer"]
        with terminal(*args, columns=40, env={**KEY, **env}) as opened:
            assert opened.end() == 0
    return seen(opened.output, columns=40)


def answer_lines(screen: Screen) -> list[str]:
    """The lines of the answer: after the question, before the sources."""
    return "\n".join(screen.lines[screen.lines.index("") :]).partition("\nSources ")[0].strip("\n").split("\n")


def test_wide_characters_fill_a_line_to_its_end() -> None:
    screen = shown("- 1234 " + "梅" * 19 + f"{MARKER}終", columns=40)
    assert answer_lines(screen) == [" • 1234", "   " + "梅" * 18, "   梅[1]終"]


TABLE = f"|Expiry|Hit rate|\n|---|---:|\n|10 s|71 % of all|\n|300 s|wonderful{MARKER}|\n"


def test_a_table() -> None:
    lines = answer_lines(shown(TABLE))
    assert re.fullmatch("[─━ ]+", lines.pop(1))  # versions of rich draw it differently
    assert [line.split() for line in lines] == [
        ["Expiry", "Hit", "rate"],
        ["10", "s", "71", "%", "of", "all"],
        ["300", "s", "wonderful[1]"],
    ]
    assert {len(line) for line in lines} == {len(lines[0])}  # at the right


def test_a_table_too_wide_for_the_terminal_is_drawn_row_by_row() -> None:
    assert answer_lines(shown(TABLE, columns=21)) == [
        "Expiry   10 s",
        "Hit rate 71 % of all",
        "─" * 21,
        "Expiry   300 s",
        "Hit rate wonderful[1]",
        "─" * 21,
    ]


def test_no_color() -> None:
    text = "```python\nimport this\n```\n" + MARKER
    assert shown(text).colours
    assert not shown(text, NO_COLOR="1").colours


@pytest.mark.parametrize("name", ["dumb", "unknown", ""])
def test_a_terminal_that_can_do_nothing_gets_plain_text(name: str) -> None:
    output = in_terminal(lambda: demo.show_recorded(ANSWERS["english"], 0), TERM=name)
    assert output.decode() == plain_text(ANSWERS["english"]).replace("\n", "\r\n")


@pytest.mark.parametrize("size", ["0", "00", "-1", "", "x", "²", "9" * 20])
def test_a_wrong_size_in_the_environment_is_not_heeded(size: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", size)
        patch.setenv("LINES", size)
        TerminalRenderer()
        assert not {"COLUMNS", "LINES"} & os.environ.keys()


def test_without_a_size_in_the_environment_the_terminals_own_counts() -> None:
    text = "Some words. " * 9
    screen = shown_by_the_command(text, env={"COLUMNS": "0", "LINES": "x"})
    assert max(map(len, answer_lines(screen))) == 40


def test_a_size_in_the_environment_is_heeded() -> None:
    screen = shown_by_the_command("Some words.", env={"COLUMNS": "10"})
    assert answer_lines(screen) == ["Some", "words."]


def test_an_answer_that_is_there_is_drawn_once() -> None:
    shown: list[str] = []

    class Recorder(Plain):
        def feed(self, events: Iterable[ResolvedEvent]) -> None:
            shown.extend(map(str, events))

        def draw(self) -> None:
            shown.append("drawn")

    class Model(model.Model):
        async def stream(self, request: Mapping[str, Any]) -> AsyncIterator[Any]:
            for _ in range(1000):
                yield SimpleNamespace(
                    choices=[SimpleNamespace(index=0, delta=SimpleNamespace(content="x"), finish_reason=None)]
                )

    with tempfile.TemporaryFile("w") as file, redirect_stdout(file):
        view = Recorder(PlainRenderer(), Output())
        asyncio.run(model.watch(view, demo._read(Model(AsyncOpenAI, "", ""), "", {}, view)))
    assert shown[:1000] == ["x"] * 1000
    assert set(shown[1000:]) == {"drawn"}


def test_a_terminal_of_another_locale() -> None:
    screen = shown_by_the_command("梅 • 🚀", env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
    assert answer_lines(screen) == ["梅 • 🚀"]


def test_an_interrupt_leaves_what_was_shown_and_the_cursor() -> None:
    with terminal("demo") as opened:
        opened.read_until(b"[1]")
        opened.process.send_signal(signal.SIGINT)
        assert opened.end() == 130
    text = seen(opened.output).text
    assert "provided that you have passed your\nprobation.[1]" in text
    assert "Traceback" not in text


AS_DATA = [
    ("red \x1b[31mor\x1b]0;title\x07 not\x9b2J", "red �[31mor�]0;title� not�2J"),
    ("a\rb\r\nc", "ab c"),
    ("a List<int>, a <script>x</script>", "a List<int>, a <script>x</script>"),
    (f"Really!{MARKER} and `code{MARKER}` [a{MARKER}]", "Really![1] and code[1] [a[1]]"),
    (f"**Bold.**{MARKER} and **so.{MARKER}** and on", "Bold.[1] and so.[1] and on"),
    (f"```\nx = 1{MARKER}\n\ny⁅2⁆\n```\n\nend", " x = 1[1]\n\n y[2]\n\nend"),
    ("[bold]rich[/bold] [/nothing] :smile:", "[bold]rich[/bold] [/nothing] :smile:"),
    ("half \ud83d and \ud83d\ude00", "half � and 😀"),
    ("# One\n\n## Two\n\n1. a\n\n2. b\n\nend", "One\n\nTwo\n\n 1 a\n 2 b\n\nend"),
]


@pytest.fixture(scope="module")
def data_lines() -> list[str]:
    """What a terminal shows of all texts of `AS_DATA`, in one answer."""
    return answer_lines(shown("\n\n---\n\n".join(text for text, _ in AS_DATA)))


@pytest.mark.parametrize("number", range(len(AS_DATA)))
def test_an_answer_is_data(data_lines: list[str], number: int) -> None:
    drawn = re.split("[-─]{80}", "\n".join(data_lines))
    assert len(drawn) == len(AS_DATA)
    assert drawn[number].strip("\n") == AS_DATA[number][1]
