"""A Redis server that a test starts, kills and starts again: Debian's `redis-server`, on a socket of its own.

Where it is missing, a test that asks for it is skipped, and says so. Every wait is bounded.
"""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from redis import Redis

from tests.processes import ENVIRONMENT, PATIENCE


class RedisServer:
    """One server.

    Attributes:
        url: where it is.
    """

    def __init__(self, folder: Path, *, persistent: bool) -> None:
        self.path = folder / "redis.sock"
        self.url = f"unix://{self.path}"
        self._folder = folder
        # Each write is on the disk before its reply is sent; or nothing ever is.
        self._options = ["--appendonly", "yes", "--appendfsync", "always"] if persistent else []
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [
            "redis-server",
            "--port",
            "0",
            "--unixsocket",
            str(self.path),
            "--dir",
            str(self._folder),
            "--save",
            "",
        ]
        self._process = subprocess.Popen(
            [*command, *self._options], env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until = time.monotonic() + PATIENCE
        while not self._answers():
            assert time.monotonic() < until
            assert self._process.poll() is None
            time.sleep(0.01)

    def _answers(self) -> bool:
        with socket.socket(socket.AF_UNIX) as connection, suppress(OSError):
            connection.settimeout(PATIENCE)
            connection.connect(str(self.path))
            connection.sendall(b"PING\r\n")
            return connection.recv(5) == b"+PONG"
        return False

    def kill(self) -> None:
        """End it as a power cut does."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(PATIENCE)

    @contextmanager
    def client(self) -> Iterator["Redis"]:
        client = Redis(unix_socket_path=str(self.path))
        yield client
        client.connection_pool.disconnect()  # before version 5.1 `close` does not


@contextmanager
def run_redis(*, persistent: bool = False) -> Iterator[RedisServer]:
    # `make test` works where this is missing, and says so; CI installs it, and fails on a skip.
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    # A path to a socket must be short.
    with TemporaryDirectory(dir="/tmp") as folder:
        server = RedisServer(Path(folder), persistent=persistent)
        server.start()
        try:
            yield server
        finally:
            server.kill()
