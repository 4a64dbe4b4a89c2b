"""Findings of lint as the command shows them."""

from __future__ import annotations

import os
from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

import click

from streamcite import CitationFormat

from .output import Output

if TYPE_CHECKING:
    from streamcite.lint import Finding

# How much of a long line is shown, and how much of that before what is wrong.
_SHOWN, _BEFORE = 96, 48  # code points

_COLOURS = {"error": "red", "warning": "yellow"}


def wants_colour(output: Output) -> bool:
    """Say whether colour helps whoever reads the output."""
    return output.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class FindingsView:
    """Show findings in the answer as the model wrote it: the line, a caret under what is wrong, and the message.

    Args:
        name: what the answer is called.
        answer: all of it.
        format: what a marker looks like.
        colour: whether there may be any.
    """

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
        """Give the lines that report one finding."""
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
