"""Ask questions of files by the command `streamcite ask`: what tests make fixtures of, and what it answers."""

import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import pytest

from streamcite import cli

MEETING = "We meet three days a week.\n\nAsk the lead first.\n"
SHOWN = """\
No model was asked. The sources say:

- “We meet three days a week.” (source 1)

Sources:
1. notes.txt
   We meet three days a week. Ask the lead first.
"""
INVENTED = "Three days. \ue200cite\ue202block1\ue201 Or four.\ue200cite\ue202block9\ue201"


class Page(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


class Done(NamedTuple):
    status: int
    out: str
    err: str


Ask = Callable[..., Done]


def ask(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Ask:
    """Run the command in this process, since the client takes a second to load in another."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)

    def ask(*args: str | Path, **env: str) -> Done:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "argv", ["streamcite", "ask", *map(str, args)])
            for name, value in env.items():
                patch.setenv(name, value)
            status = cli.main()
        out, err = capfdbinary.readouterr()
        return Done(status, out.decode(), err.decode())

    return ask


def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text(MEETING)
    return tmp_path
