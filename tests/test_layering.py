import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "streamcite"

# The rooms of the house, a rank a line: data passes them in this order. A room imports rooms before it, never one
# after it. A new provider, renderer or protocol is a file in its room and changes nothing here.
ROOMS = [
    *("checks", "json_values", "events", "fields", "body", "grammar", "format", "ids", "surrogates", "urls", "utf16"),
    "sse",
    *("options", "parser", "guide", "units", "source", "sources", "choose", "files"),
    *("prompt", "material", "links", "resolve", "spacing", "history", "annotations"),
    *("driver", "event_streams", "stream", "markdown", "lint", "openai", "render", "ui"),
    "",  # `streamcite` itself, which gathers the public names
    *("relay", "ask", "testing", "serve"),
    "cli",
    "__main__",
]
FILES = sorted(PACKAGE.rglob("*.py"))


def room(module: str) -> str:
    """Return the room of `streamcite.room.file`, and "" for a name that `streamcite` itself exports."""
    _, name, *_ = [*module.split("."), ""]
    return name if name in ROOMS else ""


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def run(node: ast.AST) -> Iterator[ast.AST]:
    """Yield every node below this one but those that only a type checker reads."""
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield child
            yield from run(child)


def imports(path: Path) -> Iterator[str]:
    """Yield the full name of what a file imports from this package when it runs, in its functions too."""
    package = module_of(path) if path.name == "__init__.py" else module_of(path).rpartition(".")[0]
    for node in run(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            base = parts[: len(parts) + 1 - node.level] if node.level else []
            names = [".".join([*base, *filter(None, [node.module]), alias.name]) for alias in node.names]
        yield from (name for name in names if name.split(".")[0] == "streamcite")


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_a_room_imports_only_rooms_before_it(path: Path) -> None:
    own = module_of(path).split(".")[1:2]
    name = own[0] if own else ""
    assert name in ROOMS, "a new room: give it its place in ROOMS"
    behind = ROOMS[ROOMS.index(name) + 1 :]
    assert [imported for imported in imports(path) if room(imported) in behind] == []


def test_the_package_has_files() -> None:
    assert {"streamcite", "streamcite.parser"} <= {module_of(path) for path in FILES}


def test_importing_streamcite_loads_nothing_else() -> None:
    optional = {
        "openai",
        "anyio",
        "trio",
        "click",
        "rich",
        "starlette",
        "uvicorn",
        "redis",
        "httpx",
        "httpx2",
        "pydantic",
    }
    program = f"import sys, streamcite; print(sorted({optional} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
