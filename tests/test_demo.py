"""``streamcite demo`` in a pipe: a recorded answer, or a real server's, and how that can fail."""

import asyncio
import re
import signal
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import click
import pytest

from streamcite import clean
from streamcite.cli import demo, model
from streamcite.links import ResolvedEvent
from streamcite.sse import encode
from streamcite.testing import RecordedAnswer, serve
from tests.demos import KEY, drawn, numbered, plain_text
from tests.markers import MARKER
from tests.processes import PATIENCE, failure, finish, receive, run, running, terminal
from tests.recorded import ANSWERS, every_answer
from tests.screen import Screen
from tests.scripted import chunk, head, scripted


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
        assert failure(done) == (
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
    assert failure(done) == f"{message} (see 'streamcite demo --help')"
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
