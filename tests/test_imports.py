"""What `import streamcite` loads, and that each of its parts says what it needs."""

import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "streamcite"
# What it loads of itself: the core, without adapters, renderers, protocols and the rest.
OWN = {
    *("body", "checks", "driver", "event_streams", "events", "fields", "format", "grammar", "guide"),
    *("ids", "json_values", "links", "material", "options", "parser", "prompt", "resolve", "source", "sources"),
    *("spacing", "stream", "units"),
}


def loaded(program: str) -> set[str]:
    """Give the modules that a program loads beyond those of a bare Python."""
    program = f"import sys; bare = {{*sys.modules}}; {program}; print(*sys.modules.keys() - bare)"
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_only_the_core_and_the_standard_library_are_loaded() -> None:
    modules = loaded("import streamcite")
    own = {name for name in modules if name.partition(".")[0] == "streamcite"}
    assert {name.split(".")[1] for name in own if "." in name} == OWN
    assert {name.partition(".")[0] for name in modules - own} <= sys.stdlib_module_names


def test_nothing_that_is_slow_to_import_is_loaded() -> None:
    slow = {"asyncio", "email", "http", "logging", "socket", "ssl", "subprocess", "urllib", "xml", "zoneinfo"}
    assert loaded("import streamcite") & slow == set()
