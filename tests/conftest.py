"""What every test shares.

Nothing here imports anyio, openai or an extra before a test needs it: CI runs the core's tests in an environment that
has none of them.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from openai import AsyncOpenAI, OpenAI

    from streamcite.testing import Server
    from tests.http_peer import Peer
    from tests.relays import Served
    from tests.upstreams import Aimock, Llmock

# `benchmarks`, `examples` and what tests share are in the checkout only. It stands last, so that `streamcite` is the
# installed one.
sys.path.append(str(Path(__file__).parents[1]))

# No deadline: the machine's speed is no property of the code. In CI the examples are the same in every run, so that a
# change is never red by the luck of another one's; and as more runs find no more, they are half as many.
settings.register_profile("quick", max_examples=25, deadline=None, derandomize=True)
settings.register_profile("default", max_examples=200, deadline=None)
settings.register_profile("ci", max_examples=100, deadline=None, derandomize=True)
settings.register_profile("nightly", max_examples=5_000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default"))


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Run every test marked `anyio` on both; named here, so that a missing backend is an error and not one run less."""
    return str(request.param)


# Servers, each one process or thread for all tests, and clients of them.


@pytest.fixture(scope="session")
def recorded() -> Iterator[Server]:
    """Serve the recorded answers."""
    from streamcite.testing import serve

    with serve() as server:
        yield server


@pytest.fixture(scope="module")
def running(recorded: Server) -> Server:
    """Name the server that the clients ask; a module that serves answers of its own has one of its own."""
    return recorded


@pytest.fixture(scope="module")
def client(running: Server) -> Iterator[OpenAI]:
    from tests.clients import new_client

    with new_client(running.base_url) as client:
        yield client


@pytest.fixture
async def async_client(running: Server, anyio_backend: str) -> AsyncIterator[AsyncOpenAI]:
    from tests.clients import new_async_client

    async with new_async_client(running.base_url) as client:
        yield client


@pytest.fixture(scope="session")
def _peer() -> Iterator[Peer]:
    from tests.http_peer import run_peer

    with run_peer() as peer:
        yield peer


@pytest.fixture
def peer(_peer: Peer) -> Peer:
    """Run a server that answers as the test says."""
    _peer.reset()
    return _peer


@pytest.fixture
def peer_client(peer: Peer) -> Iterator[OpenAI]:
    from tests.clients import ONE, new_client

    with new_client(peer.base_url, limits=ONE) as client:
        yield client


@pytest.fixture(scope="session")
def aimock() -> Iterator[Aimock]:
    from tests.upstreams import run_aimock

    with run_aimock() as upstream:
        yield upstream


@pytest.fixture(scope="session")
def llmock() -> Iterator[Llmock]:
    from tests.upstreams import run_llmock

    with run_llmock() as upstream:
        yield upstream


# Relays, and what they ask.


@pytest.fixture(scope="module")
def answering() -> Iterator[Server]:
    """Serve one answer of two citations."""
    from streamcite.testing import serve
    from tests.relays import ANSWER

    with serve(ANSWER) as server:
        yield server


@pytest.fixture(scope="module")
def relay(answering: Server) -> Iterator[Served]:
    from tests.relays import relaying

    with relaying(answering.base_url, remember=10) as served:
        yield served


@pytest.fixture(scope="module")
def asking(relay: Served) -> Iterator[OpenAI]:
    from tests.clients import new_client

    with new_client(relay.base_url) as client:
        yield client


@pytest.fixture
def before_peer(peer: Peer) -> Iterator[Served]:
    """Run a relay in front of the server that answers as the test says."""
    from tests.relays import relaying

    with relaying(peer.url, max_body=100_000) as served:
        yield served


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what all tests share, for many a test calls it."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a session in which anything was skipped or failed as expected, where the environment allows neither."""
    if os.environ.get("STREAMCITE_NO_SKIPS") != "1":
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and (reporter.stats.get("skipped") or reporter.stats.get("xfailed")):
        reporter.write_line("STREAMCITE_NO_SKIPS=1: a test that was skipped, or was to fail, is a failure", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
