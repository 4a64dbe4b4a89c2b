"""Each block of code in the documentation runs, and prints what stands below it."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.machine import diagram, table

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
FOLDERS = ["benchmarks", "docs", "examples", "streamcite"]
TEXTS = [*DOCS.parent.glob("*.md"), *(path for name in FOLDERS for path in (DOCS.parent / name).rglob("*.md"))]
FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# After each block of a page, so that it is known what printed what.
END = "\x1eend of block\x1e\n"


class Block(NamedTuple):
    code: str
    printed: str


def blocks(page: str) -> list[Block]:
    """The blocks of Python on a page that stand there themselves, each with the text below it."""
    found: list[Block] = []
    for kind, content in FENCED.findall(page):
        if kind == "python" and not content.startswith("--8<--"):
            found.append(Block(content, ""))
        elif kind == "text":
            found[-1] = found[-1]._replace(printed=content)
    return found


def run(codes: list[str]) -> list[str]:
    """What blocks print that are run one after the other, as one program."""
    program = f"\nprint({END!r}, end='')\n".join([*codes, ""])
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env=os.environ | {"PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split(END)[:-1]


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page.read_text("utf-8"))], ids=lambda page: page.stem
)
def test_the_code_of_a_page_prints_what_stands_there(page: Path) -> None:
    written = blocks(page.read_text("utf-8"))
    assert run([block.code for block in written]) == [block.printed for block in written]


def test_every_extra_is_named() -> None:
    with (DOCS.parent / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    rows = re.findall(r"^\| (`.*?) \|", (DOCS / "index.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(re.findall("`(.*?)`", "".join(rows))) == sorted(extras.keys() - {"all"})


def test_what_is_included_is_there() -> None:
    included = [
        path for page in PAGES for path in re.findall(r'^--8<-- "(.*?)"$', page.read_text("utf-8"), re.MULTILINE)
    ]
    assert [path for path in included if not is_there(*path.split(":"))] == []


def is_there(path: str, section: str = "") -> bool:
    """Whether a file is there, and has the section that is named."""
    file = DOCS.parent / path
    return file.is_file() and (not section or f"--8<-- [start:{section}]" in file.read_text("utf-8"))


def test_the_machine_is_that_of_the_parser() -> None:
    folder = DOCS / "explanation"
    page, source, picture = ((folder / f"machine.{kind}").read_text("utf-8") for kind in ("md", "dot", "svg"))
    assert f"<!-- table -->\n{table()}<!-- end -->" in page
    assert source == diagram()
    # Each arrow is in the picture, which Graphviz has made of the source.
    arrows = re.findall(r"^  (\w+) -> (\w+) ", source, re.MULTILINE)
    assert sorted(re.findall(r"<title>(\w+)&#45;&gt;(\w+)</title>", picture)) == sorted(arrows)


def test_every_page_is_in_the_menu() -> None:
    menu = (DOCS.parent / "mkdocs.yml").read_text("utf-8")
    assert [page for page in PAGES if page.relative_to(DOCS).as_posix() not in menu] == []


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)\s]+)\)", FENCED.sub("", page.read_text("utf-8")))
    led = [
        (page.parent / path if path else page, anchor) for path, _, anchor in (link.partition("#") for link in links)
    ]
    assert [path for path, _ in led if not path.exists()] == []
    assert [anchor for path, anchor in led if anchor and anchor not in anchors(path)] == []


def anchors(page: Path) -> set[str]:
    """What a link into a page may name: its headings."""
    headings = re.findall(r"^#+ (.*)", FENCED.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\s-]", "", heading).lower().replace(" ", "-") for heading in headings}
