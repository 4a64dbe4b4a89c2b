"""The command ``streamcite relay``: its options, and the file that may have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from . import texts
from .listening import cannot_listen
from .misuse import misuse

# What a file may set besides a relay's own settings: the server's options.
_SERVER = ("host", "port", "workers", "grace")


def _read(context: click.Context, _: click.Parameter, file: str | None) -> dict[str, Any]:
    """Give the settings of a file, except for those of the server, which become defaults; a callback for click.

    Raises:
        click.ClickException: it cannot be read, or is not a file of settings.
    """
    import tomllib

    try:
        settings = {} if file is None else tomllib.loads(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise click.FileError(str(file), error.strerror or str(error)) from None
    except ValueError as error:
        raise click.ClickException(f"{file}: {error}") from None
    context.default_map = {name: settings.pop(name) for name in _SERVER if name in settings}
    return settings


@click.command(help=texts.RELAY)
@click.option("--upstream", metavar="URL", help="The API to stand before, such as https://api.openai.com/v1.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="The port; 0: any free one."
)
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="How many processes.")
@click.option(
    "--annotations",
    type=click.Choice(["streamed", "final", "off"]),
    help="When the annotations of citations come: each with its text, all before the end, or never.  "
    "[default: streamed]",
)
@click.option(
    "--unit",
    type=click.Choice(["codepoint", "utf16"]),
    help="What offsets count: code points, or the units of JavaScript.  [default: codepoint]",
)
@click.option(
    "--render",
    type=click.Choice(["links", "footnotes"]),
    help="Write citations into the text as Markdown, for clients that know no annotations.",
)
@click.option(
    "--spacing",
    type=click.Choice(["exact", "tidy"]),
    help="What becomes of the blanks that a marker leaves: all stay, or those too many go.  [default: exact]",
)
@click.option(
    "--remember",
    type=click.IntRange(0),
    metavar="N",
    help="Keep the last N answers, in each process, and give them back their markers when a client sends them again: "
    "models that see none stop citing.  [default: 0]",
)
@click.option("--cors", multiple=True, metavar="ORIGIN", help="Let web pages of this origin ask; may be repeated.")
@click.option(
    "--config",
    "settings",
    metavar="FILE",
    is_eager=True,
    callback=_read,
    help="A TOML file with settings, as above; what the command line says goes before.",
)
@click.option(
    "--grace",
    type=click.IntRange(0),
    default=300,
    show_default=True,
    metavar="SECONDS",
    help="How long open streams may take to finish when the relay is told to end.",
)
def relay(*, host: str, port: int, workers: int, settings: dict[str, Any], grace: int, **given: Any) -> None:
    """Run a relay."""
    # What this loads is no other command's.
    from streamcite.relay.config import RelayConfig

    settings |= {name: value for name, value in given.items() if value is not None and value != ()}
    try:
        config = RelayConfig.from_dict(settings, beside=_SERVER)
    except ValueError as error:
        raise misuse(str(error)) from None
    from streamcite.relay.serve import run

    try:
        run(config, host=host, port=port, workers=workers, grace=grace)
    except OSError as error:
        raise cannot_listen(host, port, error) from None
