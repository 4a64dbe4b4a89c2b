"""The argument ``SOURCES.json``: what can be cited, from a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from streamcite import CitationFormat, Source, Sources

from .input import open_input, read_all, read_json
from .misuse import misuse

# Five times what the largest document that the benchmarks show takes as JSON: a file without an end meets an error, and
# not the machine's memory.
_LARGEST = 2**28  # bytes
# Of an id in a message: the message says more than which entry it is.
_LONGEST_ID = 40  # code points


_F = TypeVar("_F", bound=Callable[..., Any])

# What the commands that read an answer with its sources have in common.
answer_argument: Callable[[_F], _F] = click.argument("file", default="-", metavar="[ANSWER|-]")
sources_option: Callable[[_F], _F] = click.option(
    "--sources", "given", required=True, metavar="SOURCES.json", help="What the answer could cite."
)
complete_option: Callable[[_F], _F] = click.option(
    "--complete", is_flag=True, help="The answer has ended by itself, as in the other commands."
)


def read_sources_beside(answer: str, name: str, format: CitationFormat) -> Sources:
    """Read sources from a file, as `read_sources` does, where an answer is read from another.

    Raises:
        click.UsageError: both are standard input.
    """
    if answer == name == "-":
        raise misuse("the answer and the sources cannot both be standard input")
    return read_sources(name, format)


def read_sources(name: str, format: CitationFormat) -> Sources:
    """Read sources from a file; ``-`` is standard input.

    Args:
        name: the path of a JSON file: a list of objects, each with the fields of a `Source`, ``id`` and ``text`` at
            least; or what `Sources.to_dict` gives.
        format: what an id may be.

    Raises:
        click.ClickException: it cannot be read, or is not a file of sources; the message names the file, and the entry
            by its number and its id.
    """
    with open_input(name) as file:
        data = read_all(file, _LARGEST)
    try:
        parsed = _parse(data)
        return _build(parsed, format) if isinstance(parsed, list) else Sources.from_dict(parsed, format)
    except ValueError as error:
        raise click.ClickException(f"{'standard input' if name == '-' else name}: {error}") from None


def _parse(data: bytearray) -> list[Any] | dict[str, Any]:
    parsed = read_json(data, _LARGEST)
    if isinstance(parsed, list) or (isinstance(parsed, dict) and "sources" in parsed):
        return parsed
    raise ValueError("must be a JSON list of sources, each an object, or a registry as Sources.to_dict() gives it")


def _build(entries: list[Any], format: CitationFormat) -> Sources:
    sources = Sources(format)
    for number, entry in enumerate(entries, 1):
        try:
            source = Source.from_dict(entry)
            if "text" not in entry:
                raise ValueError("text: is missing")  # noqa: TRY301 - an entry's mistakes are reported in one place
            sources.add(source)
        except ValueError as error:
            id = entry.get("id") if isinstance(entry, dict) else None
            named = f" ({id[:_LONGEST_ID]!a})" if isinstance(id, str) else ""
            raise ValueError(f"entry {number}{named}: {error}") from None
    return sources
