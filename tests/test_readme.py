"""The README's code runs as it stands there, and prints what it promises."""

import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

from streamcite import Citation, iter_events, parse
from streamcite.testing import RecordedAnswer, serve
from tests.processes import shell

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
CHAT, PARSER, WHOLE_WAY = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
ANSWER = "Three days a week. \ue200cite\ue202turn0file1\ue202L8-L13\ue201 Ask first."


def run(code: str, **environment: str) -> str:
    """Run code as a program of its own and give what it prints."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env=os.environ | {"PYTHONUTF8": "1"} | environment,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_screen() -> None:
    command = re.search(r"^    (streamcite ask .*)$", README, re.MULTILINE)
    printed = re.search(r"^    No model was asked[^`]*?(?=\nWith a key)", README, re.MULTILINE)
    assert command
    assert printed
    done = shell(command[1], cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == dedent(printed[0]).rstrip() + "\n"


def test_the_ten_lines() -> None:
    with serve([RecordedAnswer(id="gpt-5", text=ANSWER)]) as server:
        shown = run(CHAT, OPENAI_BASE_URL=server.base_url, OPENAI_API_KEY="any")
    assert shown == "Three days a week. ['turn0file1'] Ask first."


def test_the_ten_lines_are_few() -> None:
    body = CHAT.partition("async def main")[2].partition("asyncio.run")[0]
    assert len(body.strip().splitlines()) <= 10


def test_the_parser_without_io() -> None:
    *events, last = run(PARSER).splitlines()
    assert events == [repr(event) for event in parse(ANSWER.removesuffix(" first."))] + ["' first.'"]
    assert last == "[]"


def test_the_whole_way() -> None:
    assert run(WHOLE_WAY) == "Yes, one.[1: Rules] Come before five.[2: Hours]"


def test_before_and_after() -> None:
    before, after = re.findall(r"^    (We meet.*)$", README, re.MULTILINE)
    text = re.sub("⟨(E20[0-2])⟩", lambda token: chr(int(token[1], 16)), before)
    shown = [
        event if isinstance(event, str) else f"{type(event).__name__} of {event.source_ids[0]}, {event.locator}"
        for event in iter_events(text.split("|"))
        if isinstance(event, str | Citation)
    ]
    assert "|".join(shown) == after


def test_the_targets_are_there() -> None:
    makefile = (Path(__file__).parents[1] / "Makefile").read_text("utf-8")
    named = set(re.findall(r"\bmake ([a-z]+)", README))
    assert {"demo", "test", "bench"} <= named
    assert named <= set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE))
