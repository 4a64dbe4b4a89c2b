"""The option ``--format``: a format by name, or from a file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from streamcite import CHATGPT, OPENAI, CitationFormat

from .input import read_json

_NAMED = {"openai": OPENAI, "chatgpt": CHATGPT}

# A format takes a kilobyte: what is a thousand times larger is another file, given by mistake.
_LARGEST = 2**20  # bytes


_F = TypeVar("_F", bound=Callable[..., object])


def format_option(text: str = "What a marker looks like, as in the other commands.") -> Callable[[_F], _F]:
    """Give the option, whose value is a format.

    Args:
        text: what ``--help`` says of it.
    """
    return click.option(
        "--format", callback=_read_format, default="openai", metavar="openai|chatgpt|FILE.json", help=text
    )


def _read_format(_: click.Context, __: click.Parameter, value: str) -> CitationFormat:
    """Give the format that ``openai``, ``chatgpt``, or the path of a JSON file names; a callback for a click option.

    Raises:
        click.BadParameter: there is no such format, or the file is not what `CitationFormat.from_dict` takes.
    """
    if value in _NAMED:
        return _NAMED[value]
    unknown = click.BadParameter(f"{value!r} is neither {' nor '.join(_NAMED)} nor a file")
    if not value:  # which `Path` takes for the current directory
        raise unknown
    try:
        return _load(Path(value))
    except FileNotFoundError:
        raise unknown from None
    except OSError as error:
        reason = error.strerror
    except (ValueError, TypeError) as error:
        reason = str(error)
    raise click.BadParameter(f"{value}: {reason}")


def _load(path: Path) -> CitationFormat:
    with path.open("rb") as file:
        fields = read_json(file.read(_LARGEST + 1), _LARGEST)
    if not isinstance(fields, dict):
        raise ValueError("must be a JSON object with the fields of a citation format")
    return CitationFormat.from_dict(fields)
