"""The picture of the terminal in the documentation: drawn of what the command prints there, and current."""

import io
import json
import os
import re
from html import unescape
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from tests.processes import terminal
from tests.rendering import ANSWER, LATE, PLAIN
from tests.screen import Screen

PICTURE = Path(__file__).parents[1] / "docs" / "terminal.svg"
COLUMNS = 72


def drawn(screen: Screen) -> str:
    """Draw a screen as rich draws its own pictures, but without a font from elsewhere."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, legacy_windows=False)
    console.print(Text.from_ansi(screen.styled.rstrip("\n"), no_wrap=True))
    svg = console.export_svg(
        title="streamcite render answer.txt --sources sources.json", theme=MONOKAI, unique_id="terminal"
    )
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


def read(svg: str) -> list[str]:
    """Give the words of a picture; its colours and blanks are not the same in all versions of rich."""
    return [word for text in re.findall(r">([^<>]*)</text>", svg) for word in re.findall(r"[\w\[\]]+", unescape(text))]


def test_the_picture_of_the_terminal_is_current(tmp_path: Path) -> None:
    answer, sources = tmp_path / "answer.txt", tmp_path / "sources.json"
    answer.write_text("".join(ANSWER), "utf-8")
    cited = [source.to_dict() | {"text": source.text} for source in (PLAIN | LATE).values()]
    sources.write_text(json.dumps(cited), "utf-8")
    with terminal("render", answer, "--sources", sources, columns=COLUMNS) as opened:
        assert opened.end() == 0
    picture = drawn(Screen(opened.output, columns=COLUMNS, rows=opened.rows))
    if os.environ.get("STREAMCITE_PICTURES"):
        PICTURE.write_text(picture, "utf-8")
    assert read(PICTURE.read_text("utf-8")) == read(picture)
