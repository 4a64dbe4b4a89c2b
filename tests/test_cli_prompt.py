"""The command ``streamcite prompt``: the text that `instructions` gives, and what a user can do wrong."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from streamcite import CHATGPT, CitationFormat, instructions
from tests.processes import run, shell

BRACKETS = CitationFormat(start="[[", delimiter="|", stop="]]", families=("ref",), source_id="[A-Z]+-[0-9]+")


@pytest.mark.parametrize(
    ("args", "options"),
    [
        (["--material", "tool"], {}),
        (["--material", "tool-lines"], {"material": "tool_lines"}),
        (["--material", "tool_lines"], {"material": "tool_lines"}),
        (["--material", "blocks"], {"material": "blocks"}),
        (["--material", "tool", "--tool", "Find-It_2"], {"tool": "Find-It_2"}),
        (["--material", "tool", "--placement", "sentence"], {"placement": "sentence"}),
        (["--material", "tool", "--several", "separate-markers"], {"several": "separate_markers"}),
        (["--material", "blocks", "--several", "one_marker"], {"material": "blocks", "several": "one_marker"}),
        (["--material", "tool", "--lines", "required"], {"lines": "required"}),
        (["--material", "tool", "--unsupported", "answer-uncited"], {"unsupported": "answer_uncited"}),
        (["--material", "tool", "--unsupported", "omit", "--considerations"], {"unsupported": "omit"}),
        (["--material", "tool", "--format", "chatgpt"], {"format": CHATGPT}),
        (["--material", "tool", "--format", "brackets.json"], {"format": BRACKETS}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_options_are_those_of_the_function(tmp_path: Path, args: list[str], options: dict[str, Any]) -> None:
    (tmp_path / "brackets.json").write_text(json.dumps(BRACKETS.to_dict()), "utf-8")
    args = [str(tmp_path / arg) if arg.endswith(".json") else arg for arg in args]
    done = run("prompt", *args, env={"LC_ALL": "C"})
    expected = instructions(**options, considerations="--considerations" in args) + "\n"
    assert (done.stdout.decode(), done.stderr, done.returncode) == (expected, b"", 0)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ("", "Missing option '--material'. Choose from: tool, tool-lines, blocks (see 'streamcite prompt --help')"),
        ("--material page", "Invalid value for '--material': 'page' is not one of 'tool', 'tool-lines', 'blocks'"),
        ("--material tool --placement line", "Invalid value for '--placement': 'line' is not one of 'sentence', "),
        ("--material tool --several both", "Invalid value for '--several': 'both' is not one of 'one-marker', "),
        ("--material tool --lines all", "Invalid value for '--lines': 'all' is not one of 'none', 'optional', "),
        ("--material tool --unsupported lie", "Invalid value for '--unsupported': 'lie' is not one of 'say-so', "),
        ("--material tool --tool", "Option '--tool' requires an argument"),
        ("--material tool --tool ''", "Invalid value for '--tool': must be the name of a tool, printable and "),
        ("--material tool --tool $'\\xff'", "Invalid value for '--tool': must be the name of a tool, printable and "),
        ("--material blocks --tool find", "Invalid value for '--tool': injected blocks come from no tool, such as "),
        ("--material blocks --lines optional", "Invalid value for '--lines': must be 'none' with --material blocks"),
        (
            "--material tool-lines --lines required --several one-marker",
            "Invalid value for '--several': must be 'separate-markers' with --lines required",
        ),
        ("--material tool --format missing", "Invalid value for '--format': 'missing' is neither openai nor chatgpt "),
        ("--material tool --format odd.json", "Invalid value for '--format': source_id: no id was found to show "),
        ("--material tool more", "Got unexpected extra argument (more)"),
    ],
)
def test_bad_use_is_one_line(tmp_path: Path, args: str, message: str) -> None:
    (tmp_path / "odd.json").write_text('{"source_id": "secret"}', "utf-8")
    done = shell(f"streamcite prompt {args}", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.decode().startswith(f"streamcite: {message}")
    assert done.stderr.count(b"\n") == 1


def test_the_help_names_every_choice() -> None:
    shown = run("prompt", "--help").stdout.decode()
    for option, choices in {
        "material": "tool|tool-lines|blocks",
        "placement": "sentence|paragraph",
        "several": "one-marker|separate-markers",
        "lines": "none|optional|required",
        "unsupported": "say-so|omit|answer-uncited",
    }.items():
        assert f"--{option} [{choices}]" in shown


def test_the_examples_in_the_help_work(tmp_path: Path) -> None:
    examples = re.findall(r"^ +\$ (.*)", run("prompt", "--help").stdout.decode(), re.MULTILINE)
    assert len(examples) == 3
    for example in examples:
        done = shell(f"{example}; cat system.md >&2", cwd=tmp_path) if ">>" in example else shell(example, cwd=tmp_path)
        assert (done.stdout + done.stderr).startswith(b"# Citations\n")
        assert done.returncode == 0
