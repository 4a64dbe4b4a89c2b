"""The programs in `examples/` that stand on frameworks, and what LangChain makes of its messages.

They run in an environment of their own, as `make .venv/examples.stamp` builds it.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from streamcite import clean
from streamcite.sse import SSEDecoder
from streamcite.testing import RecordedAnswer, recorded_answers, serve
from streamcite.ui.langchain import ai_message
from tests.http_peer import request
from tests.langchain_chunks import chunks, sent
from tests.processes import ENVIRONMENT, PATIENCE, interrupted, unread
from tests.rendering import CITES, feeds
from tests.upstreams import INSTALLED, started

ROOT = Path(__file__).parents[1]
PYTHON = INSTALLED.with_name("examples") / "bin" / "python"
ANSWER = recorded_answers()["english"]


@pytest.fixture(autouse=True)
def frameworks() -> None:
    # `make test` works where this is missing, and says so; CI installs it, and fails on a skip.
    if not PYTHON.exists():
        pytest.skip("the frameworks of the examples are not installed: make .venv/examples.stamp")


def run(*program: str | Path, stdin: str = "") -> str:
    done = subprocess.run(
        [PYTHON, *program], input=stdin, capture_output=True, text=True, env=ENVIRONMENT, timeout=PATIENCE
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_endpoint_of_fastapi_and_its_page() -> None:
    with started([PYTHON, ROOT / "examples" / "fastapi_page.py", "0"]) as url:
        head, page = request(f"{url}/")
        assert head.headers["content-type"].startswith("text/html")
        assert b'from "./streamcite.js"' in page
        for name, kind in (("streamcite.js", "javascript"), ("streamcite.css", "css")):
            head, file = request(f"{url}/{name}")
            assert kind in head.headers["content-type"]
            assert file
        assert request(f"{url}/native.py")[0].status == 422
        head, body = request(f"{url}/answer?question=Why")
    assert head.headers["content-type"] == "text/event-stream; charset=utf-8"
    events = SSEDecoder().feed(body)
    forms = [json.loads(event.data) for event in events if event.event == "text"]
    assert "".join(form["text"] for form in forms) == clean(ANSWER.text, complete=True)
    assert (events[-1].event, events[-1].data) == ("end", b'{"complete":true}')


def test_the_message_of_langchain() -> None:
    shown, block = run(ROOT / "examples" / "langchain_message.py").splitlines()
    assert shown == "We meet three days a week.[1] Ask the lead first."
    for part in (
        "'type': 'citation'",
        "'cited_text': 'Three days a week.'",
        "'start_index': 26",
        "'title': 'Handbook'",
    ):
        assert part in block


def test_the_agent_of_openai() -> None:
    shown, _, sources = run(ROOT / "examples" / "openai_agent.py").rpartition("\n\n")
    for number in range(1, 6):
        shown = shown.replace(f"[{number}]", "")
    assert shown == clean(ANSWER.text, complete=True)
    assert sorted(line.partition("] ")[2] for line in sources.splitlines()) == sorted(
        str(source.title) for source in ANSWER.sources.values()
    )


@pytest.mark.parametrize("name", ["langchain_message", "openai_agent"])
def test_who_reads_the_output_may_leave(name: str) -> None:
    assert unread([PYTHON, ROOT / "examples" / f"{name}.py"]) == (141, b"")


def test_an_interrupt_ends_the_agent_quietly() -> None:
    with serve([RecordedAnswer(id="gpt-5", text="word " * 5_000)], pace=0.05) as server:
        env = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "any"}
        assert interrupted([PYTHON, ROOT / "examples" / "openai_agent.py"], env=env) == (130, b"")


SHOW = """
import asyncio, runpy, sys
from openai import AsyncOpenAI
from streamcite.testing import serve
from textual.widgets import Markdown
AnswerApp = runpy.run_path(sys.argv[1])["AnswerApp"]
async def main(base_url):
    app = AnswerApp(AsyncOpenAI(base_url=base_url, api_key="any"), "english")
    async with app.run_test():
        await app.workers.wait_for_complete()
        print(app.query_one(Markdown).source)
with serve() as server:
    asyncio.run(main(server.base_url))
"""


def test_the_app_of_textual() -> None:
    shown = run("-c", SHOW, ROOT / "examples" / "textual_app.py")
    assert shown.startswith(
        "Yes, you can keep working from Lisbon, provided that you have passed your probation.[1](<http"
    )
    assert {source.url for source in ANSWER.sources.values() if source.url and source.url in shown}


def test_langchain_adds_chunks_up_to_the_message() -> None:
    texts = ["", "A", f"A{CITES[0]} b{CITES[1]}{CITES[3]} 🎉 c{CITES[4]}\n\nd{CITES[5]}", f"{CITES[0]}", ANSWER.text]
    lines: list[Any] = []
    for text in texts:
        fed = feeds(text, range(0, len(text), 7))
        lines += [chunks(sent(fed)), ai_message([event for events in fed for event in events], message_id="m")]
    got = run(Path(__file__).with_name("langchain_reader.py"), stdin="\n".join(map(json.dumps, lines)))
    messages = [json.loads(line) for line in got.splitlines()]
    for text, added, whole, given in zip(texts, messages[::2], messages[1::2], lines[1::2], strict=True):
        assert added == whole
        assert (whole["type"], whole["text"], whole["blocks"]) == ("ai", clean(text), given["content"])
