"""The benchmarks' Redis server, for a test that kills it and starts it again.

Where `redis-server` is missing, a test that asks for it is skipped, and says so.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from redis import Redis

from benchmarks import redis_server
from benchmarks.redis_server import RedisServer

__all__ = ["RedisServer", "connected", "run_redis"]


@contextmanager
def run_redis(*, persistent: bool = False) -> Iterator[RedisServer]:
    # `make test` works where this is missing, and says so; CI installs it, and fails on a skip.
    if shutil.which("redis-server") is None:
        pytest.skip("redis-server is not installed")
    with redis_server.run_redis(persistent=persistent) as server:
        yield server


@contextmanager
def connected(server: RedisServer) -> Iterator["Redis"]:
    client = Redis(unix_socket_path=str(server.path))
    yield client
    client.connection_pool.disconnect()  # before version 5.1 `close` does not
