"""The programs in `examples/` run as they stand there."""

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from streamcite import OPENAI, Citation, clean, parse
from streamcite.testing import RecordedAnswer, recorded_answers, serve
from tests.http_peer import request
from tests.processes import ENVIRONMENT, PATIENCE, interrupted, unread
from tests.processes import run as command_line
from tests.readers import run_readers
from tests.upstreams import started

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name: str, *args: str, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[str]:
    program: list[str | Path] = [sys.executable, EXAMPLES / f"{name}.py", *args]
    done = subprocess.run(program, input=stdin, capture_output=True, env={**ENVIRONMENT, **env}, timeout=PATIENCE)
    return subprocess.CompletedProcess(program, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_every_example_is_tested() -> None:
    here = ["ai_sdk_backend", "any_provider", "ask", "chat", "sources_to_citations"]
    elsewhere = ["fastapi_page", "langchain_message", "openai_agent", "textual_app"]  # test_examples_frameworks.py
    assert sorted(path.stem for path in EXAMPLES.glob("*.py")) == sorted([*here, *elsewhere])


def test_chat_with_a_recorded_answer() -> None:
    done = run("chat")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        "Yes, you can keep working from Lisbon, provided that you have passed your probation.[1] "
    )
    assert done.stdout.endswith(
        "\n\n[1] turn0file0\n[2] turn0file1\n[3] turn0search0\n[4] turn1file0\n[5] turn1file1\n"
    )


@pytest.mark.parametrize("name", recorded_answers())
def test_chat_with_a_server(name: str) -> None:
    with serve() as server:
        done = run("chat", name, "Why?", OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="any", PYTHONUTF8="1")
    assert (done.returncode, done.stderr) == (0, "")
    text, _, sources = done.stdout.rpartition("\n\n")
    for number in range(1, 6):
        text = text.replace(f"[{number}]", "")
    assert text == clean(recorded_answers()[name].text, complete=True)
    assert {line.split()[1] for line in sources.splitlines()} == set(recorded_answers()[name].sources)


@pytest.mark.parametrize("name", ["chat", "ask"])
def test_an_example_says_how_it_is_used(name: str) -> None:
    done = run(name, "too-little")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"python examples/{name}.py " in done.stderr


def test_any_provider() -> None:
    done = run("any_provider", stdin=(EXAMPLES / "chunks.jsonl").read_bytes())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "Plums keep for a year. With less salt they mould sooner, so keep an eye on them.",
        "",
        "at code point 22: doc1 L4-L5",
        "at code point 56: doc1, doc2 L2",
        "unreadable (empty): [[cite|]]",
    ]


def test_sources_to_citations() -> None:
    done = run("sources_to_citations")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "It closes at nine. [Hours: 'Closes at nine.'] Members may bring a guest on Sundays. "
        "[Hours: 'Entry is free\\non Sundays.'] [Rules: 'Each member may bring one guest.']\n"
    )


def test_ask_is_the_command_without_its_options(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("We meet three days a week.\n\nLunch is free.\n" + "Plums are blue. " * 5000)
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0")
    done = run("ask", "How often do we meet, and is lunch free?", str(tmp_path))
    assert (done.returncode, done.stderr) == (0, f"{tmp_path / 'picture.png'} is skipped: it is binary\n")
    assert len((EXAMPLES / "ask.py").read_text("utf-8").splitlines()) < 60
    command = command_line("ask", "How often do we meet, and is lunch free?", tmp_path, "--json")
    document = json.loads(command.stdout)
    answer, _, sources = done.stdout.partition("\n\n[1] ")
    assert re.sub(r"\[\d+\]", "", answer) == document["answer"].rstrip()
    links = [link for citation in document["citations"] for link in citation["links"]]
    assert re.findall(r"\[(\d+)\]", answer) == [str(link["number"]) for link in links]
    assert links
    for link in links:
        assert repr(link["passage"]["text"][:200]) in sources


@pytest.mark.parametrize("program", ["chat", "any_provider", "ask Why? handbook.md", "sources_to_citations"])
def test_who_reads_the_output_may_leave(program: str) -> None:
    name, *args = program.split()
    paths = [EXAMPLES / arg if arg.endswith(".md") else arg for arg in args]
    done = unread([sys.executable, EXAMPLES / f"{name}.py", *paths], stdin=(EXAMPLES / "chunks.jsonl").read_bytes())
    assert done == (141, b"")


@pytest.mark.parametrize("program", ["chat gpt-5 Why?", "any_provider", "ask Why? handbook.md"])
def test_an_interrupt_ends_it_quietly(program: str) -> None:
    name, *args = program.split()
    paths = [EXAMPLES / arg if arg.endswith(".md") else arg for arg in args]
    lines = (EXAMPLES / "chunks.jsonl").read_bytes() if name == "any_provider" else b""
    with serve([RecordedAnswer(id="gpt-5", text="word " * 5_000)], pace=0.05) as server:
        env = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "any"}
        done = interrupted([sys.executable, EXAMPLES / f"{name}.py", *paths], stdin=lines, env=env)
    assert done == (130, b"")


def test_the_back_end_of_the_ai_sdk() -> None:
    answer = recorded_answers()["english"]
    program = EXAMPLES / "ai_sdk_backend.py"
    question = {"id": "1", "role": "user", "parts": [{"type": "text", "text": answer.question}]}
    with run_readers() as read, started([sys.executable, program, "0"]) as url:
        chat: dict[str, Any] = {"api": f"{url}/api/chat", "chatId": "c1"}
        # The page is reloaded while the answer comes, and finds it again.
        outcome = read("ai7", **chat, messages=[question], leaves=True)
        for chat_id in ("c1", "none"):  # nothing is being written there, any more or ever
            assert read("ai6", api=chat["api"], chatId=chat_id) is None
        head, _ = request(chat["api"], "OPTIONS", None, **{"origin": "http://localhost:3000", **PREFLIGHT})
        assert head.headers["access-control-allow-origin"] == "http://localhost:3000"
    message, parts = outcome["message"], outcome["message"]["parts"]
    assert outcome["errors"] == []
    assert outcome["kinds"][-1] == "finish"
    assert "".join(part["text"] for part in parts if part["type"] == "text") == clean(answer.text, complete=True)
    sources = {part["sourceId"]: part for part in parts if part["type"].startswith("source-")}
    assert sorted(sources) == sorted(answer.sources)
    assert {part.get("url") for part in sources.values()} == {source.url for source in answer.sources.values()}
    # What goes back to the model is what it wrote, except for the citations that it did not write well.
    module: Any = runpy.run_path(str(program))
    events = parse(answer.text, complete=True)
    written = [OPENAI.write(event.references) if isinstance(event, Citation) else str(event) for event in events]
    assert module["as_written"](message) == {"role": "assistant", "content": "".join(written)}


# What a browser asks before it asks a server that the page does not come from.
PREFLIGHT = {"access-control-request-method": "POST", "access-control-request-headers": "content-type"}
