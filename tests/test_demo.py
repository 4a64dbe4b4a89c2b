"""``streamcite demo``: a recorded answer, or a real server's, in a pipe and in a terminal."""

import asyncio
import os
import pty
import re
import signal
import socket
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, redirect_stdout, suppress
from types import SimpleNamespace
from typing import Any

import click
import pytest
from openai import AsyncOpenAI

from streamcite import Citation, clean, parse
from streamcite.cli import demo, model
from streamcite.cli.output import Output
from streamcite.cli.view import Plain
from streamcite.links import ResolvedEvent
from streamcite.render.plain import PlainRenderer
from streamcite.render.terminal import TerminalRenderer
from streamcite.sse import encode
from streamcite.testing import RecordedAnswer, recorded_answers, serve
from tests.processes import ENVIRONMENT, PATIENCE, finish, receive, run, running, terminal
from tests.screen import Screen

ANSWERS = recorded_answers()
MARKER = "\ue200cite\ue202turn0file1\ue202L8-L13\ue201"
KEY = {"OPENAI_API_KEY": "any"}

every_answer = pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)


def numbered(answer: RecordedAnswer) -> tuple[str, list[str]]:
    """What a reader is to see of an answer, and its sources in the order of their numbers."""
    text, order = "", []
    for event in parse(answer.text, complete=True):
        text += str(event)
        for source_id in dict.fromkeys(event.source_ids) if isinstance(event, Citation) else ():
            if source_id not in order:
                order.append(source_id)
            text += f"[{order.index(source_id) + 1}]"
    return text, order


def cited_lines(answer: RecordedAnswer, source_id: str) -> list[str]:
    """The lines of a source that an answer cites, found without its parser."""
    lines: set[int] = set()
    for first, last in re.findall(rf"{source_id}\ue202L(\d+)(?:[-–]L?(\d+))?", answer.text):
        lines.update(range(int(first), int(last or first) + 1))
    texts = answer.sources[source_id].text.split("\n")
    return [f"L{line} {texts[line - 1]}" for line in sorted(lines)]


def failed(output: bytes, status: int) -> str:
    """The one line of a command that failed as it should, without its name."""
    line, end = output.decode().split("\n")
    assert (status, line.startswith("streamcite: "), end) == (2, True, "")
    return line.removeprefix("streamcite: ")


@contextmanager
def scripted(*parts: bytes) -> Iterator[tuple[str, Callable[[], None]]]:
    """Serve one request with these bytes: the first part at once, each other one when the function is called."""
    asked = threading.Semaphore(1)

    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(PATIENCE)
            request = b""
            while b"\r\n\r\n" not in request:
                request += connection.recv(65536)
            head, _, body = request.partition(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
            assert length
            while len(body) < int(length[1]):
                body += connection.recv(65536)
            for part in parts:
                assert asked.acquire(timeout=PATIENCE)
                connection.sendall(part)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(PATIENCE)
        thread = threading.Thread(target=answer)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1", asked.release
        finally:
            thread.join(PATIENCE)


def head(status: str = "200 OK", kind: str = "text/event-stream") -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n".encode()


def chunk(content: str) -> bytes:
    return encode(f'{{"choices": [{{"index": 0, "delta": {{"content": "{content}"}}}}]}}')


# In a pipe


def plain_text(answer: RecordedAnswer) -> str:
    text, order = numbered(answer)
    entries = []
    for number, source_id in enumerate(order, 1):
        source, lines = answer.sources[source_id], [int(line.split()[0][1:]) for line in cited_lines(answer, source_id)]
        entries.append(f"{number}. {source.title}{ranges(lines)}: {source.url}\n")
    aloud = re.sub(r"(?:\[\d\])+", in_words, text)
    return f"{aloud.rstrip()}\n\nSources:\n{''.join(entries)}"


def in_words(found: re.Match[str]) -> str:
    *first, last = dict.fromkeys(re.findall(r"\d", found[0]))
    words = f"(sources {', '.join(first)} and {last})" if first else f"(source {last})"
    before, behind = found.string[: found.start()], found.string[found.end() :]
    return " " * (not before[-1:].isspace()) + words + " " * behind[:1].isalnum()


def ranges(lines: list[int]) -> str:
    firsts = [line for line in lines if line - 1 not in lines]
    lasts = [line for line in lines if line + 1 not in lines]
    spans = [f"{first} to {last}" if last > first else f"{first}" for first, last in zip(firsts, lasts, strict=True)]
    return f", line{'s' * (len(lines) > 1)} {', '.join(spans)}" if lines else ""


@every_answer
def test_in_a_pipe_it_is_plain_text(answer: RecordedAnswer, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    # In this process, since the client takes a second to load; the next test but one is of the command.
    demo.show_recorded(answer, 0)
    assert capfdbinary.readouterr() == (plain_text(answer).encode(), b"")
    text, order = numbered(answer)
    # Without the numbers it is what `clean` prints, and all sources of the answer are cited.
    assert re.sub(r"\[\d\]", "", text) == clean(answer.text, complete=True)
    assert set(order) == set(answer.sources)


def test_the_numbers() -> None:
    # By hand, against a mistake that `numbered` shares.
    text, order = numbered(ANSWERS["english"])
    assert text.startswith("Yes, you can keep working from Lisbon, provided that you have passed your probation.[1] If")
    assert "see the help desk before you pack.[1][2][4] I found" in text
    assert order == ["turn0file0", "turn0file1", "turn0search0", "turn1file0", "turn1file1"]


def test_each_piece_is_printed_before_the_next_comes() -> None:
    parts = [head() + chunk("Hello"), chunk(r" wor"), chunk(r"ld.\ue200cite\ue202id1"), chunk(r"\ue201 Bye")]
    with (
        scripted(*parts, encode("[DONE]")) as (url, more),
        running("demo", "--base-url", url, "--model", "m", env=KEY) as process,
    ):
        for expected in ("Hello", " wor", "ld.", " (source 1) Bye"):
            assert receive(process.stdout, len(expected)).decode() == expected
            more()
        assert finish(process) == (0, b"\n\nSources:\n1. id1\n", b"")


def test_the_environment_changes_nothing() -> None:
    # Nothing forces control codes into a pipe, and no proxy stands between the demo and its own server.
    names = ["FORCE_COLOR", "TTY_COMPATIBLE", "CLICOLOR_FORCE", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]
    done = run("demo", "--pace", "0", env=dict.fromkeys(names, "http://127.0.0.1:9"))
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == plain_text(ANSWERS["english"])


def test_a_closed_pipe_ends_it_quietly() -> None:
    with running("demo") as process:
        assert process.stdout is not None
        receive(process.stdout, 3)
        process.stdout.close()
        process.stdout = None
        assert process.wait(PATIENCE) == 141
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_an_interrupt_ends_it_quietly() -> None:
    with running("demo") as process:
        receive(process.stdout, 3)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert process.stderr is not None
        assert process.stderr.read().strip() == b""


def test_the_list() -> None:
    done = run("demo", "--list", env={"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == "".join(f"{name}: {answer.question}\n" for name, answer in ANSWERS.items())


# In a terminal


def squeezed(text: str) -> str:
    """A text without what depends on the width of the terminal."""
    return re.sub(r"\s", "", text)


def seen(output: bytes, *, columns: int = 80, rows: int = 24) -> Screen:
    screen = Screen(output, columns=columns, rows=rows)
    assert screen.cursor_shown
    assert screen.wrapped == []
    assert [line for line in screen.lines if line != line.rstrip()] == []
    return screen


def assert_in_order(words: list[str], text: str) -> None:
    end = 0
    for word in words:
        found = text.find(word, end)
        assert found >= 0, f"{word!r} is not behind {text[max(0, end - 80) : end]!r}"
        end = found + len(word)


def in_terminal(show: Callable[[], None], **env: str) -> bytes:
    """Give what a terminal of this process gets to show, since the client takes a second to load in another."""
    master, slave = pty.openpty()
    with ThreadPoolExecutor(1) as pool, pytest.MonkeyPatch.context() as patch:
        for name in os.environ.keys() - ENVIRONMENT:
            patch.delenv(name)
        for name, value in {"TERM": "xterm-256color", **KEY, **env}.items():
            patch.setenv(name, value)
        output = pool.submit(read_to_end, master)
        with os.fdopen(slave, "w") as file, redirect_stdout(file):
            show()
    return output.result()


def drawn(show: Callable[[], None], *, columns: int = 80, rows: int = 24, **env: Any) -> Screen:
    output = in_terminal(show, COLUMNS=str(columns), LINES=str(rows), **env)
    return seen(output, columns=columns, rows=rows)


def read_to_end(terminal: int) -> bytes:
    output = b""
    with (
        os.fdopen(terminal, "rb", buffering=0) as file,
        suppress(OSError),
    ):  # so Linux says that the other end is closed
        while piece := file.read(65536):
            output += piece
    return output


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


# A real server


def test_a_real_server_whose_sources_are_not_known(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    text = (
        f"One.{MARKER} Two.\ue200cite\ue202b\ue202turn0file1\ue202L1-L3\ue202L8-L13\ue201 Three.\ue200cite\ue202c\ue201"
    )
    shown = (
        "One. (source 1) Two. (sources 2 and 1) Three. (source 3)\n\n"
        "Sources:\n1. turn0file1, lines 1 to 3, 8 to 13\n2. b\n3. c\n"
    )
    with serve([RecordedAnswer(id="mine", text=text)]) as server:
        given = run("demo", "--base-url", server.base_url, "--model", "mine", "--question", "Why?", env=KEY)
        for name, value in {**KEY, "OPENAI_BASE_URL": server.base_url}.items():
            monkeypatch.setenv(name, value)
        demo.show_real(None, "mine", "Why?")
    assert (given.stdout.decode(), given.stderr, given.returncode) == (shown, b"", 0)
    assert capfdbinary.readouterr() == (shown.encode(), b"")


def test_an_answer_without_citations_has_no_sources(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    with serve("None.") as server:
        monkeypatch.setenv("OPENAI_API_KEY", "any")
        demo.show_real(server.base_url, "answer", "Who knows?")
        assert capfdbinary.readouterr().out == b"None.\n"
        screen = drawn(lambda: demo.show_real(server.base_url, "answer", "Who knows?"))
    lines = ["> Who knows?", f"  answer at {server.base_url}", "", "None."]
    assert "\n".join(screen.lines).rstrip() == "\n".join(lines)


def test_a_refusal() -> None:
    with serve("x") as server:
        done = run("demo", "--base-url", server.base_url, "--model", "gpt-0", env=KEY)
        assert failed(done.stderr, done.returncode) == (
            f"{server.base_url} answered 404: The model `gpt-0` does not exist or you do not have access to it."
        )
        assert done.stdout == b""


REFUSED = head("401 Unauthorized", "application/json") + b'{"error": {"message": "Incorrect API key\\nprovided."}}'
CUT = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: 9999\r\n\r\n" + chunk("Begun")


@pytest.mark.parametrize(
    ("response", "printed", "message"),
    [
        (REFUSED, b"", " answered 401: Incorrect API key provided."),
        (head("502 Bad Gateway", "text/html") + b"<p>" + b"x" * 5000, b"", " answered 502: "),
        (head() + chunk("Begun") + encode('{"error": {"message": "overloaded"}}'), b"Begun", ": overloaded"),
        (head() + chunk("Begun") + encode("{nonsense"), b"Begun", ": Expecting property name"),
        (CUT, b"Begun", ": peer closed connection"),
        (head() + encode("[DONE]"), b"", ": the answer is empty"),
        (head(kind="text/html") + b"<p>Welcome</p>", b"", ": the answer is empty"),
        (b"SSH-2.0-OpenSSH\r\n", b"", ": "),
        (b"", b"", ": "),
    ],
    ids=["401", "502", "error in the stream", "no JSON", "cut", "empty", "a page", "no HTTP", "nothing"],
)
def test_a_server_that_fails(
    response: bytes,
    printed: bytes,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    # In this process, since the client takes a second to load; the next test is one that goes all the way.
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    with scripted(response) as (url, _), pytest.raises(click.ClickException) as caught:
        demo.show_real(url, "m", "Why?")
    assert " ".join(caught.value.message.split()).startswith(url + message)  # as it will be reported
    assert capfdbinary.readouterr() == (printed, b"")


def test_a_server_that_fails_leaves_what_a_terminal_showed() -> None:
    with scripted(CUT) as (url, _), terminal("demo", "--base-url", url, "--model", "m", env=KEY) as opened:
        assert opened.end() == 2
    screen = Screen(opened.output, columns=80, rows=24)
    assert screen.cursor_shown
    assert len(screen.wrapped) == 1  # the error
    assert f"\n\nBegun\n\nstreamcite: {url}: peer closed connection" in screen.text


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:9/v1",
        "http://127.0.0.1:99999/v1",
        "foo",
        "http://[::1",
        "http://x:99999",
        "http://x:y",
        "ftp://x",
        "http://\n",
        "http://",
    ],
)
def test_a_server_that_is_not_there(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "any")
    with pytest.raises(click.ClickException) as caught:
        demo.show_real(url, "m", "Why?")
    assert caught.value.message.startswith(f"{url}: ")
    assert "sub-exception" not in caught.value.message


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--model", "m"], "set OPENAI_API_KEY to the server's key; any will do where it wants none"),
        (["--base-url", "http://127.0.0.1:9/v1"], "--base-url and --question need --model"),
        (["--base-url", "", "--model", "m"], "Invalid value for '--base-url': must be a URL, not ''"),
        (["--question", "Why?"], "--base-url and --question need --model"),
        (["--model", "m", "--pace", "1"], "--pace is for recorded answers, not for --model"),
        (["--answer", "german"], "no answer 'german': there are english, japanese, technical"),
        (["--pace", "-1"], "Invalid value for '--pace': -1 is not a number of seconds from 0"),
        (["--pace", "nan"], "Invalid value for '--pace': nan is not a number of seconds from 0"),
        (["--pace", "inf"], "Invalid value for '--pace': inf is not a number of seconds from 0"),
        (["--pace", "fast"], "Invalid value for '--pace': 'fast' is not a valid float"),
    ],
    ids=str,
)
def test_bad_use(args: list[str], message: str) -> None:
    done = run("demo", *args)
    assert failed(done.stderr, done.returncode) == f"{message} (see 'streamcite demo --help')"
    assert done.stdout == b""


class Ended:
    """A view that takes nothing after its end, as each does."""

    pause = PATIENCE

    def __init__(self) -> None:
        self.shown = ""
        self.ended = False

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self.ended = True

    def feed(self, events: Iterable[ResolvedEvent]) -> None:
        assert not self.ended
        self.shown += "".join(map(str, events))


def test_nothing_is_fed_to_a_view_that_an_interrupt_has_ended() -> None:
    view: Any = Ended()

    async def interrupt() -> None:
        begun, more = asyncio.Event(), asyncio.Event()

        async def stream(_: Mapping[str, Any]) -> AsyncIterator[Any]:
            yield {"choices": [{"index": 0, "delta": {"content": "It"}}]}
            begun.set()
            await more.wait()
            yield {"choices": [{"index": 0, "delta": {"content": " lasts"}}]}

        asked: Any = SimpleNamespace(stream=stream, base_url="")
        showing = asyncio.create_task(model.watch(view, demo._read(asked, "", {}, view)))
        await begun.wait()
        (reading,) = asyncio.all_tasks() - {asyncio.current_task(), showing}
        showing.cancel()
        more.set()  # what comes next is there as soon as the view has ended
        with suppress(asyncio.CancelledError):
            await showing
        await asyncio.wait([reading], timeout=PATIENCE)
        assert reading.cancelled()

    asyncio.run(interrupt())
    assert view.shown == "It"
