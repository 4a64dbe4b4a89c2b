"""Programs that a benchmark starts, and what they take: CPU time, memory, descriptors. Linux only."""

from __future__ import annotations

import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[2]
_PATIENCE = 120.0  # seconds: litellm takes half a minute to start


class Program:
    """A program that runs, and listens on a port."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self._process = process
        self.port: int = port

    @property
    def _files(self) -> Path:
        return Path(f"/proc/{self._process.pid}")

    def cpu(self) -> float:
        """Give the CPU seconds that all its threads have taken, those that have ended too."""
        # The clock of a process, as the kernel numbers it; Python has no name for it.
        return time.clock_gettime(~self._process.pid << 3 | 2)

    def memory(self) -> int:
        """Give how many bytes of memory it has."""
        return int((self._files / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def told(self, name: str) -> float:
        """Give a value of those that it tells under ``/metrics``."""
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE)) as connection:
            connection.request("GET", "/metrics")
            lines = connection.getresponse().read().decode().splitlines()
        return next(float(value) for key, _, value in (line.rpartition(" ") for line in lines) if key == name)

    def descriptors(self) -> int:
        """Give how many descriptors it has open."""
        return len(list((self._files / "fd").iterdir()))


@contextmanager
def running(*command: str | Path, port: int | None = None) -> Iterator[Program]:
    """Run a program as long as a block runs; it listens on a port that is given, or that it prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    process = subprocess.Popen(  # noqa: S603 - programs of the benchmark
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )
    assert process.stdout is not None
    output = process.stdout
    lines: deque[str] = deque(maxlen=20)
    # What a program logs is read: it would stand still when the pipe is full.
    reader = threading.Thread(target=lambda: lines.extend(output))
    try:
        found = port or _printed(output)
        reader.start()
        if port:
            _wait(process, port, lines)
        yield Program(process, found)
    finally:
        process.kill()
        process.wait()
        if reader.ident is not None:
            reader.join()
        output.close()


def raise_limits() -> None:
    """Let this process, and what it starts, have as many descriptors as the system allows."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def module(name: str, *arguments: object) -> list[str]:
    """Give the command that runs a module of the benchmark."""
    return [sys.executable, "-m", f"{__package__}.{name}", *map(str, arguments)]


def relay(upstream: int) -> list[str]:
    """Give the command that runs the relay."""
    program = (
        "import logging, sys; logging.basicConfig(level=logging.INFO, format='%(message)s', stream=sys.stdout);"
        "from streamcite.relay.config import RelayConfig; from streamcite.relay.serve import run;"
        "run(RelayConfig(upstream=sys.argv[1]), host='127.0.0.1', port=0, workers=1, grace=1)"
    )
    return [sys.executable, "-c", program, f"http://127.0.0.1:{upstream}"]


@contextmanager
def nginx(upstream: int, port: int) -> Iterator[list[str] | None]:
    """Give the command that runs nginx before a server; None where it is not installed."""
    program = shutil.which("nginx")
    if program is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "nginx.conf")
        config.write_text(
            f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/log; worker_rlimit_nofile 20000;\n"
            "events { worker_connections 8192; }\n"
            f"http {{ access_log off; client_body_temp_path {folder}; proxy_temp_path {folder};\n"
            f"server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://127.0.0.1:{upstream};\n"
            "proxy_buffering off; proxy_http_version 1.1; } } }\n"
        )
        yield [program, "-p", folder, "-c", str(config)]


@contextmanager
def litellm(upstream: int, port: int) -> Iterator[list[str] | None]:
    """Give the command that runs litellm's proxy before a server; None where it is not installed."""
    program = shutil.which("litellm") or shutil.which("litellm", path=str(Path(sys.executable).parent))
    if program is None:
        yield None
        return
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder, "config.yaml")
        config.write_text(
            "model_list:\n- model_name: any\n  litellm_params:\n    model: openai/any\n"
            f"    api_base: http://127.0.0.1:{upstream}/v1\n    api_key: any\n"
            "general_settings:\n  dangerously_permit_weak_or_unset_master_key: true\n"
        )
        address = ["--port", str(port), "--host", "127.0.0.1"]
        yield [program, "--config", str(config), *address, "--telemetry", "False"]


def _printed(output: IO[str]) -> int:
    """Read the port that a program prints."""
    for line in output:
        if found := re.search(r"(?:\A|127\.0\.0\.1:)([1-9]\d*)\b", line):
            return int(found[1])
    raise RuntimeError("a program of the benchmark has not started")


def _wait(process: subprocess.Popen[str], port: int, lines: Iterable[str]) -> None:
    """Wait until a program listens on a port."""
    end = time.monotonic() + _PATIENCE
    while process.poll() is None and time.monotonic() < end:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.1)
    raise RuntimeError("\n".join(["a program of the benchmark has not started:", *map(str.rstrip, lines)]))
