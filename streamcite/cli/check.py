"""The command ``check``: find what is wrong with the citations of an answer."""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from itertools import accumulate

import click

from streamcite import CitationFormat
from streamcite.lint import MAX_ANSWER, Finding, LocatorRule, lint

from . import texts
from .formats import read_format
from .input import Utf8, open_input
from .output import Output
from .report import report
from .sources import read_sources

# How much of a long line is shown, and how much of that in front of what is wrong.
_SHOWN, _BEFORE = 96, 48  # code points

_COLOURS = {"error": "red", "warning": "yellow"}


@click.command(help=texts.CHECK)
@click.argument("file", default="-", metavar="[ANSWER|-]")
@click.option("--sources", "given", required=True, metavar="SOURCES.json", help="What the answer could cite.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list of the findings.")
@click.option(
    "--lines",
    type=click.Choice(["optional", "required"]),
    default="optional",
    show_default=True,
    help="Whether each citation must name lines, where its source is cited by lines.",
)
@click.option("--complete", is_flag=True, help="The answer has ended by itself, as in the other commands.")
@click.option(
    "--format",
    callback=read_format,
    default="openai",
    metavar="openai|chatgpt|FILE.json",
    help="What a marker looks like, as in the other commands.",
)
def check(*, file: str, given: str, as_json: bool, lines: LocatorRule, complete: bool, format: CitationFormat) -> int:
    """Print what is wrong, and return the exit status: whether anything is."""
    if file == given == "-":
        raise click.UsageError("the answer and the sources cannot both be standard input", click.get_current_context())
    sources = read_sources(given, format)
    with open_input(file) as opened:
        text = Utf8(opened)
        answer = _read(text)
    findings = lint(answer, sources, lines=lines, complete=complete, format=format)
    output = Output()
    if as_json:
        rows = ",\n ".join(json.dumps(finding.to_dict()) for finding in findings)
        output.write(f"[{rows}]\n")
    else:
        view = _View("standard input" if file == "-" else file, answer, format, colour=_wants_colour(output))
        for finding in findings:
            output.write(view.show(finding))
    output.finish()
    if text.invalid:
        report(f"invalid UTF-8 replaced by U+FFFD: {text.invalid} times, first at byte {text.first_invalid}")
    return int(bool(findings))


def _read(text: Utf8) -> str:
    pieces, length = [], 0
    for piece in text:
        pieces.append(piece)
        length += len(piece)
        if length > MAX_ANSWER:
            raise click.ClickException(f"the answer is longer than {MAX_ANSWER} code points")
    return "".join(pieces)


def _wants_colour(output: Output) -> bool:
    return output.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class _View:
    """Show findings in the answer as the model wrote it: the line, a caret under what is wrong, and the message."""

    def __init__(self, name: str, answer: str, format: CitationFormat, *, colour: bool) -> None:
        from rich.cells import cell_len  # with --json nothing is drawn

        self._name = name
        self._cells = cell_len
        self._lines = answer.split("\n")
        self._starts = list(accumulate((len(line) + 1 for line in self._lines), initial=0))
        self._colour = colour
        # No font has the tokens.
        signs = zip(format.tokens, "⟦|⟧", strict=True)
        self._signs = {token: sign for token, sign in signs if not token.isprintable()}

    def show(self, finding: Finding) -> str:
        """Give the lines that tell of one finding."""
        number = bisect_right(self._starts, finding.start, hi=len(self._lines)) - 1
        line, column = self._lines[number], finding.start - self._starts[number]
        begin = max(column - _BEFORE, 0) if len(line) > _SHOWN else 0
        end = min(column + finding.end - finding.start, begin + _SHOWN)
        before, wrong, behind = map(self._visible, (line[begin:column], line[column:end], line[end : begin + _SHOWN]))
        caret = "^" + "~" * (self._cells(wrong) - 1)
        return (
            f"{self._name}:{number + 1}:{column + 1}: {self._styled(finding, finding.severity)}: {finding.message} "
            f"[{finding.rule}]\n"
            f"{f'    {before}{wrong}{behind}'.rstrip()}\n"
            f"    {' ' * self._cells(before)}{self._styled(finding, caret)}\n"
        )

    def _visible(self, text: str) -> str:
        """Replace what a terminal does not show as it is, a character by a character."""
        return "".join(
            character
            if character.isprintable()
            else self._signs.get(character, " " if character in "\t\r" else "\ufffd")
            for character in text
        )

    def _styled(self, finding: Finding, text: str) -> str:
        return click.style(text, fg=_COLOURS[finding.severity], bold=True) if self._colour else text
