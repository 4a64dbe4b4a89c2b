"""A Redis server of a benchmark's own, which can be killed and started again: `redis-server` of the system."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

_PATIENCE = 60.0  # seconds


class RedisServer:
    """One server, on a socket of its own.

    Args:
        program: what runs it.
        folder: where the socket is, and what it writes.
        persistent: whether each write is on the disk before its reply is sent; else nothing ever is.

    Attributes:
        path: of the socket.
    """

    def __init__(self, program: str, folder: Path, *, persistent: bool) -> None:
        self.path: Path = folder / "redis.sock"
        kept = ["--appendonly", "yes", "--appendfsync", "always"] if persistent else []
        place = ["--port", "0", "--unixsocket", str(self.path), "--dir", str(folder)]
        self._command = [program, *place, "--save", "", *kept]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)  # noqa: S603  # of the system
        until = time.monotonic() + _PATIENCE
        while not self._answers():
            assert self._process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.01)

    def kill(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as connection, suppress(OSError):
            connection.settimeout(_PATIENCE)
            connection.connect(str(self.path))
            connection.sendall(b"PING\r\n")
            return connection.recv(5) == b"+PONG"
        return False


@contextmanager
def run_redis(*, persistent: bool = False) -> Iterator[RedisServer]:
    """Run a server as long as a block runs.

    Raises:
        ModuleNotFoundError: `redis-server` is not installed.
    """
    program = shutil.which("redis-server")
    if program is None:
        raise ModuleNotFoundError(name="redis-server")
    # A path to a socket must be short.
    with TemporaryDirectory(dir="/tmp") as folder:
        server = RedisServer(program, Path(folder), persistent=persistent)
        try:
            server.start()
            yield server
        finally:
            server.kill()
