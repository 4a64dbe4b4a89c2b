"""What each command loads: no more than it uses, so that none starts slowly for what another one needs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.extras import PACKAGES
from tests.processes import ENVIRONMENT, PATIENCE

# What the extras bring, and the client with what that stands on.
HEAVY = {*PACKAGES, "anyio", "httpx", "httpx2", "openai", "pydantic"}
HEAVY_OF_PYTHON = {"asyncio", "email", "http", "logging", "socket", "ssl", "subprocess", "tempfile", "xml"}
COMMANDS = ("ask", "check", "clean", "demo", "material", "parse", "prompt", "relay", "render", "serve")
LIGHT = [
    *(f"{command} --help" for command in ("", *COMMANDS)),
    *("clean answer.txt", "clean answer.txt --spacing tidy", "parse answer.txt"),
    *("material sources.json --as tool", "prompt --material tool"),
    "render answer.txt --sources sources.json",
    *(f"render answer.txt --sources sources.json --to {form}" for form in ("plain", "markdown", "footnotes")),
]
# Found to be wrong before anybody could be asked.
WRONG = [
    *("ask Why? empty.txt", "ask Why? none.txt", "ask Why? answer.txt --model m", "ask Why? answer.txt --save a.pdf"),
    *("demo --model m --question Why?", "demo --pace -1"),
    *("relay", "relay --config sources.json", "relay --upstream nonsense"),
    *("serve none.txt", "serve --model m"),
]
PROGRAM = """
import json, os, sys
from contextlib import redirect_stderr, redirect_stdout
from streamcite.cli import main

statuses = []
for line in sys.argv[1:]:
    sys.argv = ["streamcite", *line.split()]
    with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
        statuses.append(main())
print(json.dumps([statuses, sorted({name.partition(".")[0] for name in sys.modules})]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "answer.txt").write_text("Three days.\ue200cite\ue202a\ue201\n", "utf-8")
    (tmp_path / "sources.json").write_text('[{"id": "a", "text": "Three days."}]')
    (tmp_path / "empty.txt").touch()
    return tmp_path


def loaded(*lines: str, folder: Path) -> tuple[set[int], set[str]]:
    """Run commands, all in one process without a key, and give how they ended, and what is loaded at the end."""
    python = [sys.executable, "-P", "-c", PROGRAM, *lines]
    done = subprocess.run(python, capture_output=True, check=True, cwd=folder, env=ENVIRONMENT, timeout=PATIENCE)
    statuses, modules = json.loads(done.stdout)
    return set(statuses), set(modules)


def test_what_reads_an_answer_and_every_help_load_click_alone(folder: Path) -> None:
    statuses, modules = loaded(*LIGHT, folder=folder)
    assert statuses == {0}
    assert modules & HEAVY == {"click"}
    assert modules & HEAVY_OF_PYTHON == set()


def test_what_is_wrong_is_said_before_clients_and_servers_are_loaded(folder: Path) -> None:
    statuses, modules = loaded(*WRONG, folder=folder)
    assert statuses == {2}
    assert modules & HEAVY == {"click"}


@pytest.mark.parametrize(
    ("line", "status", "needed"),
    [
        ("check answer.txt --sources sources.json --json", 0, {"markdown_it"}),
        ("check answer.txt --sources sources.json", 0, {"markdown_it", "rich"}),
        ("render answer.txt --sources sources.json --to html", 0, {"markdown_it"}),
        ("demo --list", 0, {"anyio", "starlette", "uvicorn"}),
        ("demo --answer none", 2, {"anyio", "starlette", "uvicorn"}),
    ],
)
def test_what_draws_or_has_recorded_answers_loads_no_client(
    line: str, status: int, needed: set[str], folder: Path
) -> None:
    statuses, modules = loaded(line, folder=folder)
    assert statuses == {status}
    assert modules & HEAVY == {"click", *needed}
