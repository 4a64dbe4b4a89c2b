"""The relay in a server: uvicorn, with its limits, in one process or in several."""

from __future__ import annotations

import gc
import json
import logging
import multiprocessing
import os
import signal
import socket
import tempfile
import threading
from contextlib import ExitStack

import uvicorn
from starlette.types import ASGIApp

from .config import RelayConfig
from .protocol import LimitedProtocol
from .quiet import NoNoise, leave_out

log: logging.Logger = logging.getLogger("streamcite.relay")

_CONFIG = "STREAMCITE_RELAY"
_METRICS = "PROMETHEUS_MULTIPROC_DIR"
_KEEP_ALIVE = 60  # seconds: longer than clients keep a connection that they do not use
_BACKLOG = 2048
# New objects before the youngest are looked at, and how often that is done before the older, and these before all.
_COLLECTIONS = (20_000, 20, 100)


def app_from_environment() -> ASGIApp:
    """Make the application in the process that serves it."""
    from .app import create_app

    config = RelayConfig.from_dict(json.loads(os.environ[_CONFIG]))
    LimitedProtocol.max_head, LimitedProtocol.head_timeout = config.max_head, config.head_timeout
    _set_up_logging()
    app = create_app(config)
    _end_with_supervisor()
    _collect_rarely()
    return app


def run(config: RelayConfig, *, host: str, port: int, workers: int, grace: int) -> None:
    """Serve until the process is told to end. Streams that are open then have time to finish.

    Args:
        config: of the relay.
        host: the address that it listens on.
        port: the port, 0 for any that is free.
        workers: how many processes.
        grace: how many seconds streams may take.

    Raises:
        OSError: it cannot listen there.
    """
    _set_up_logging()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server((host, port), family=family, backlog=_BACKLOG))
        os.environ[_CONFIG] = config.to_json()
        if workers > 1 and _METRICS not in os.environ:
            # Each process counts for itself, in a file that all can read.
            os.environ[_METRICS] = stack.enter_context(tempfile.TemporaryDirectory(prefix="streamcite-relay-"))
        settings = uvicorn.Config(
            f"{__name__}:{app_from_environment.__name__}",
            factory=True,
            workers=workers,
            http=LimitedProtocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=grace,
        )
        shown = f"[{host}]" if family == socket.AF_INET6 else host
        log.info("relay listening on http://%s:%d, upstream %s", shown, listener.getsockname()[1], config.upstream)
        if workers > 1:
            from .workers import Workers  # it loads what starts a server again when a file changes

            Workers(settings, listener).run()
        else:
            uvicorn.Server(settings).run(sockets=[listener])


def _end_with_supervisor() -> None:
    """Let this process end when the one that started it is gone, killed perhaps, if one did."""
    supervisor = multiprocessing.parent_process()
    if supervisor is None:
        return

    def wait() -> None:
        supervisor.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()


def _collect_rarely() -> None:
    """Let Python look for garbage in cycles seldom, and not in what stays as long as the process.

    A whole collection looks at every object of every open stream: with 800 streams it takes 100 ms, in which no event
    passes. Streams that have ended leave nothing that needs one.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTIONS)


def _set_up_logging() -> None:
    logging.basicConfig(level=logging.INFO, format="%(levelname)s: %(message)s")
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    leave_out(NoNoise)
