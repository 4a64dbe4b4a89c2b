"""The command ``check``: find what is wrong with the citations of an answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from streamcite import CitationFormat

from . import texts
from .findings import FindingsView, wants_colour
from .formats import format_option
from .input import Utf8, open_input
from .output import Output
from .sources import answer_argument, complete_option, read_sources_beside, sources_option

if TYPE_CHECKING:
    from streamcite.lint import LocatorRule


@click.command(help=texts.CHECK)
@answer_argument
@sources_option
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list of the findings.")
@click.option(
    "--lines",
    type=click.Choice(["optional", "required"]),
    default="optional",
    show_default=True,
    help="Whether each citation must name lines, where its source is cited by lines.",
)
@complete_option
@format_option()
def check(*, file: str, given: str, as_json: bool, lines: LocatorRule, complete: bool, format: CitationFormat) -> int:
    """Print what is wrong, and return the exit status: whether anything is."""
    from streamcite.lint import MAX_ANSWER, lint  # no other command's

    sources = read_sources_beside(file, given, format)
    with open_input(file) as opened:
        text = Utf8(opened)
        answer = _read(text, limit=MAX_ANSWER)
    findings = lint(answer, sources, lines=lines, complete=complete, format=format)
    output = Output()
    if as_json:
        rows = ",\n ".join(json.dumps(finding.to_dict()) for finding in findings)
        output.write(f"[{rows}]\n")
    else:
        view = FindingsView("standard input" if file == "-" else file, answer, format, colour=wants_colour(output))
        for finding in findings:
            output.write(view.show(finding))
    output.finish()
    text.report()
    return int(bool(findings))


def _read(text: Utf8, *, limit: int) -> str:
    pieces, length = [], 0
    for piece in text:
        pieces.append(piece)
        length += len(piece)
        if length > limit:
            raise click.ClickException(f"the answer is longer than {limit} code points")
    return "".join(pieces)
