"""The command ``serve``: a page to try it all, for a browser on this machine."""

from __future__ import annotations

import logging
import math
import socket
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO
from urllib.parse import urlsplit

import click

from . import texts
from .listening import cannot_listen
from .misuse import misuse
from .output import Output
from .report import report

_PACE = 0.003


@click.command(help=texts.SERVE)
@click.argument("files", metavar="[FILE...]", nargs=-1)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port.  [default: any free one]")
@click.option("--open", "opens", is_flag=True, help="Open the page in your browser.")
@click.option("--model", metavar="NAME", help="Ask a real server, and this model.")
@click.option("--base-url", metavar="URL", help="Where that server is, such as http://localhost:8000/v1.")
@click.option("--pace", type=float, metavar="SECONDS", help=f"For a character of a played answer.  [default: {_PACE}]")
def serve(
    *,
    files: Sequence[str],
    host: str,
    port: int,
    opens: bool,
    model: str | None,
    base_url: str | None,
    pace: float | None,
) -> None:
    """Serve the page until it is interrupted."""
    if base_url is not None and model is None:
        raise misuse("--base-url needs --model")
    if base_url == "":
        raise misuse("--base-url: must be a URL, not ''")
    if model == "":
        raise misuse("--model: must be a name, not ''")
    if pace is not None and not 0 <= pace < math.inf:
        raise misuse(f"--pace: {pace:g} is not a number of seconds from 0")
    # The clients and servers that this loads are no other command's.
    from streamcite.serve.app import build
    from streamcite.serve.server import Server

    from .model import real_model
    from .reading import Reading

    asked = real_model(base_url, model) if model is not None else None
    if asked is not None and not _is_url(asked.base_url):
        raise misuse(f"the model's server: {asked.base_url!r} is not a URL such as http://localhost:8000/v1")
    client = asked.connect() if asked is not None else None
    reading = Reading(files) if files else None
    documents = list(reading or ())
    if reading is not None:
        reading.report()
    pace = _PACE if pace is None else pace
    app = build(client=client, model=model or "", documents=documents, pace=pace, hosts=[host])
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family)
    except OSError as error:
        raise cannot_listen(host, port, error) from None
    with listener:
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{listener.getsockname()[1]}/"
        with _failures_in_a_line():
            Server(app, ready=lambda: _say(url, opens=opens)).run(sockets=[listener])


def _say(url: str, *, opens: bool) -> None:
    output = Output()
    output.write(f"{url}\n")
    if opens:
        webbrowser.open(url)


class _Failures(logging.StreamHandler[TextIO]):
    """Say in one line that the model's server has failed: only what else fails is a matter of this program."""

    def emit(self, record: logging.LogRecord) -> None:
        from openai import APIError

        error = record.exc_info and record.exc_info[1]
        if isinstance(error, APIError):
            report(f"{record.getMessage()}: {error}")
        else:
            super().emit(record)


@contextmanager
def _failures_in_a_line() -> Iterator[None]:
    logger, handler = logging.getLogger("streamcite"), _Failures()
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def _is_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
