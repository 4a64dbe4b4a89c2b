"""Serve the page: what it needs is looked for first, then what is slow to load is loaded."""

from __future__ import annotations

import logging
import socket
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO
from urllib.parse import urlsplit

from .listening import cannot_listen
from .misuse import misuse
from .model import Model
from .output import Output
from .reading import Reading
from .report import report


def serve_page(files: Sequence[str], model: Model | None, *, host: str, port: int, opens: bool, pace: float) -> None:
    """Serve the page until it is interrupted, and print its address.

    Args:
        files: what can be cited from the start, as for `find_files`.
        model: which model is asked; None: none.
        host: the address to listen on.
        port: the port; 0: any free one.
        opens: whether a browser is told to open the page.
        pace: seconds for a code point of an answer that is played.

    Raises:
        click.ClickException: the model's server has no URL, a name stands for no file, or it cannot listen there.
    """
    if model is not None and not _is_url(model.base_url):
        raise misuse(f"the model's server: {model.base_url!r} is not a URL such as http://localhost:8000/v1")
    reading = Reading(files)
    documents = list(reading)
    reading.report()
    with _listen(host, port) as listener:
        from streamcite.serve.app import build
        from streamcite.serve.server import Server

        client, name = (model.connect(), model.name) if model is not None else (None, "")
        app = build(client=client, model=name, documents=documents, pace=pace, hosts=[host])
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{listener.getsockname()[1]}/"
        with _failures_in_a_line():
            Server(app, ready=lambda: _say(url, opens=opens)).run(sockets=[listener])


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise cannot_listen(host, port, error) from None


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
