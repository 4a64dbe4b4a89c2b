"""What a type checker says of the programs in the README and the documentation: nothing."""

import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.processes import PATIENCE

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"^```python\n(?!--8<--)(.*?)^```$", re.MULTILINE | re.DOTALL)
# As strict as the rest, but for the types of a page's own functions, which it may leave out. This stands in each file
# since mypy keeps what it has read of the libraries for each set of arguments: so it takes what `make lint` has read.
OPTIONS = "# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls"


def programs(page: Path) -> list[str]:
    """The programs of a page: those of the README stand alone, the blocks of any other page are one."""
    text = page.read_text("utf-8")
    blocks = [*BLOCK.finditer(text)]
    groups = [[block] for block in blocks] if page == README else [blocks] if blocks else []
    return [in_place(text, group) for group in groups]


def in_place(text: str, blocks: Iterable[re.Match[str]]) -> str:
    """The code of blocks, each in the lines in which it stands, so that what is wrong is found there."""
    code = OPTIONS
    for block in blocks:
        code += "\n" * (text.count("\n", 0, block.start(1)) - code.count("\n")) + block[1]
    return code


def test_every_program_fits_the_types(tmp_path: Path) -> None:
    for page in (README, *(ROOT / "docs").rglob("*.md")):
        name = re.sub(r"\W", "_", page.relative_to(ROOT).with_suffix("").as_posix())
        for number, program in enumerate(programs(page), 1):
            (tmp_path / f"{name}_{number}.py").write_text(program, "utf-8")
    assert len([*tmp_path.iterdir()]) > 10
    command = [sys.executable, "-P", "-m", "mypy", "--no-error-summary", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE, check=False)
    assert (done.stdout, done.stderr) == ("", "")
