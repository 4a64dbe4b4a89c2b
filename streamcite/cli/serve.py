"""The command ``serve``: a page to try it all, for a browser on this machine."""

from __future__ import annotations

import math
from collections.abc import Sequence

import click

from . import texts
from .misuse import misuse

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
    # What this loads is no other command's.
    from .model import real_model
    from .serving import serve_page

    asked = real_model(base_url, model) if model is not None else None
    serve_page(files, asked, host=host, port=port, opens=opens, pace=_PACE if pace is None else pace)
