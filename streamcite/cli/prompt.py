"""The command ``prompt``: tell a model how to cite."""

from __future__ import annotations

import re
from typing import Any, get_args

import click

from streamcite import CitationFormat, instructions
from streamcite.prompt import DEFAULT_TOOL, LocatorUse, MaterialForm, Placement, Several, Unsupported

from . import texts
from .formats import format_option
from .misuse import bad_value
from .output import Output


def _words(literal: Any) -> click.Choice[str]:
    """Give the choices that `instructions` has, spelled as options are."""
    return click.Choice([word.replace("_", "-") for word in get_args(literal)])


def _spelled(message: str) -> str:
    """Give what `instructions` says of its arguments as one says it of options."""
    for literal in (MaterialForm, Placement, Several, LocatorUse, Unsupported):
        for word in get_args(literal):
            message = message.replace(f"'{word}'", f"'{word.replace('_', '-')}'")
    return re.sub(r"\b(material|lines)='([a-z-]+)'", r"--\1 \2", message)


def _word(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    """Give a choice as `instructions` spells it; a callback for a click option."""
    return value and value.replace("-", "_")


# Those who come from Python write words with an underscore.
@click.command(help=texts.PROMPT, context_settings={"token_normalize_func": lambda word: word.replace("_", "-")})
@click.option(
    "--material",
    type=_words(MaterialForm),
    callback=_word,
    required=True,
    help="How the sources are shown to the model: as messages of a tool, as tool results with a citation marker and "
    "numbered lines, or as blocks in the context.",
)
@click.option(
    "--tool",
    default=DEFAULT_TOOL,
    show_default=True,
    metavar="NAME",
    help="The tool that gives the sources. Blocks have none.",
)
@click.option(
    "--placement",
    type=_words(Placement),
    callback=_word,
    help="Where a marker stands: at the end of what.  [default: paragraph for tool, else sentence]",
)
@click.option(
    "--several",
    type=_words(Several),
    callback=_word,
    help="How to cite several sources for one text.  [default: one-marker for tool without lines, else "
    "separate-markers]",
)
@click.option(
    "--lines",
    type=_words(LocatorUse),
    callback=_word,
    help="Whether a marker names lines, which the sources must then show as [L1], [L2] and so on.  [default: optional "
    "for tool-lines, else none]",
)
@click.option(
    "--unsupported",
    type=_words(Unsupported),
    callback=_word,
    default="say-so",
    show_default=True,
    help="What to do with a statement that no source supports.",
)
@click.option("--considerations", is_flag=True, help="Add what to consider when choosing sources.")
@format_option()
def prompt(*, format: CitationFormat, **options: Any) -> None:
    """Print instructions."""
    try:
        text = instructions(format, **options)
    except ValueError as error:
        name, _, reason = str(error).partition(": ")
        # All but the options' own names are fields of the format.
        option, message = (name, _spelled(reason)) if name in options else ("format", str(error))
        raise bad_value(f"--{option}", message) from None
    output = Output()
    output.write(text + "\n")
    output.finish()
