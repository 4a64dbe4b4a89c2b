"""The command ``material``: show sources to a model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from operator import attrgetter

import click

from streamcite import CitationFormat, Sources
from streamcite.material import Change, Material, render_blocks, render_messages, render_tool_result

from . import texts
from .formats import format_option
from .output import Output
from .report import report
from .sources import read_sources


def _join(sources: Sources, *, format: CitationFormat) -> Material:
    return Material.join(render_messages(sources, format=format))


def _messages(sources: Sources, *, format: CitationFormat) -> Material:
    shown = render_messages(sources, format=format)
    messages = [
        {"role": "tool", "tool_call_id": f"call_{number}", "content": material.text}
        for number, material in enumerate(shown, 1)
    ]
    return Material(json.dumps(messages, indent=2), changes=Material.join(shown).changes)


_FORMS: Mapping[str, Callable[..., Material]] = {
    "tool": _join,
    "tool-lines": render_tool_result,
    "blocks": render_blocks,
    "messages": _messages,
}


# Those who come from Python write words with an underscore.
@click.command(help=texts.MATERIAL, context_settings={"token_normalize_func": lambda word: word.replace("_", "-")})
@click.argument("file", metavar="SOURCES.json|-")
@click.option("--as", "form", type=click.Choice(list(_FORMS)), required=True, help="How the sources are shown.")
@format_option()
def material(*, file: str, form: str, format: CitationFormat) -> None:
    """Print sources as a model is shown them."""
    try:
        shown = _FORMS[form](read_sources(file, format), format=format)
    except ValueError as error:
        raise click.ClickException(f"{file}: {error}") from None
    output = Output()
    output.write(f"{shown.text}\n")
    output.finish()
    for id, changes in groupby(shown.changes, attrgetter("source_id")):
        report(f"{id}: made safe {_said(changes)}")
    output.report()


def _said(changes: Iterable[Change]) -> str:
    return "; ".join(
        f"in its {field}: {', '.join(map(_counted, items))}" for field, items in groupby(changes, attrgetter("field"))
    )


def _counted(change: Change) -> str:
    several = change.count > 1
    where = f" ({'from' if several else 'in'} line {change.line})" if change.field == "text" else ""
    return f"{change.count} {change.kind}{'s' if several else ''}{where}"
