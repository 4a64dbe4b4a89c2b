"""What every test shares.

Nothing here imports anyio, openai or an extra: CI runs the core's tests in an environment that has none of them.
"""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# `benchmarks`, `examples` and what tests share are in the checkout only. It stands last, so that `streamcite` is the
# installed one.
sys.path.append(str(Path(__file__).parents[1]))

# No deadline: the machine's speed is no property of the code. In CI the examples are the same in every run, so that a
# change is never red by the luck of another one's.
settings.register_profile("quick", max_examples=25, deadline=None, derandomize=True)
settings.register_profile("default", max_examples=200, deadline=None, derandomize=bool(os.environ.get("CI")))
settings.register_profile("nightly", max_examples=5_000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Run every test marked `anyio` on both; named here, so that a missing backend is an error and not one run less."""
    return str(request.param)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a session in which anything was skipped or failed as expected, where the environment allows neither."""
    if os.environ.get("STREAMCITE_NO_SKIPS") != "1":
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and (reporter.stats.get("skipped") or reporter.stats.get("xfailed")):
        reporter.write_line("STREAMCITE_NO_SKIPS=1: a test that was skipped, or was to fail, is a failure", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
