"""A script that Node runs for a test: it takes questions and gives answers as JSON, each a line. Every wait is bounded.

Where a package of npm is missing, a test that asks for it is skipped, and says so.
"""

import json
import subprocess
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.processes import ENVIRONMENT, PATIENCE
from tests.upstreams import INSTALLED

NODE = INSTALLED / "node" / "bin" / "node"


class ScriptError(Exception):
    """What the script threw, by the name of its class."""


class Script:
    def __init__(self, process: "subprocess.Popen[str]", waiting: ThreadPoolExecutor) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._stdin, self._stdout = process.stdin, process.stdout
        self._waiting = waiting

    def ask(self, **question: Any) -> Any:
        """Raises: ScriptError, if the script threw something."""
        self._stdin.write(json.dumps(question) + "\n")
        self._stdin.flush()
        return self.answer()

    def answer(self) -> Any:
        outcome = json.loads(self._waiting.submit(self._stdout.readline).result(PATIENCE))
        if "error" in outcome:
            raise ScriptError(outcome["error"])
        return outcome["value"]

    def end(self) -> None:
        """Let it end by itself."""
        self._stdin.close()
        self._process.wait(PATIENCE)


@contextmanager
def run_script(name: str, package: str, *arguments: str, env: Mapping[str, str] = ENVIRONMENT) -> Iterator[Script]:
    """Run a script that stands beside this file, and needs a package, as long as a block runs."""
    # `make test` works where this is missing, and says so; CI installs it, and fails on a skip.
    if not (INSTALLED / "node_modules" / package).exists():
        pytest.skip(f"{package} of npm is not installed: make .venv/upstreams.stamp")
    command: list[str | Path] = [NODE, Path(__file__).with_name(name), INSTALLED / "node_modules", *arguments]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        env=env,
    )
    with process, ThreadPoolExecutor(1) as waiting:
        script = Script(process, waiting)
        try:
            assert script.answer() == "ready"
            yield script
        finally:
            process.kill()
