"""The command ``ask``: from files and a question to a checked answer."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streamcite import CitationFormat
from streamcite.choose import DEFAULT_BUDGET
from streamcite.source import SourceUnit

from . import texts
from .formats import format_option
from .misuse import misuse

if TYPE_CHECKING:
    from .model import Api

_MODEL = "gpt-5"


def _check_save(_: click.Context, __: click.Parameter, value: str | None) -> Path | None:
    """Give the path of a file to be written, before anything is asked; a callback for a click option.

    Raises:
        click.BadParameter: its name does not say which kind it is, or it could not be written.
    """
    if value is None:
        return None
    path = Path(value)
    if path.suffix.lower() not in {".md", ".html"}:
        raise click.BadParameter(f"{value!r} must end with .md or .html")
    if path.is_dir() or not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise click.BadParameter(f"{value!r} cannot be written")
    return path


# Those who come from Python write words with an underscore.
@click.command(help=texts.ASK, context_settings={"token_normalize_func": lambda word: word.replace("_", "-")})
@click.argument("question")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--unit",
    type=click.Choice(["block", "document", "lines"]),
    default="block",
    show_default=True,
    help="What a citation names: a block of some paragraphs, lines, or a whole file (of a PDF, a page).",
)
@click.option(
    "--size",
    type=click.IntRange(min=2),
    metavar="N",
    help="The most code points of a block.  [default: 2000; 20000 where lines are cited]",
)
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    default=DEFAULT_BUDGET,
    show_default=True,
    metavar="N",
    help="The most code points of your files that the model is shown.",
)
@click.option(
    "--material",
    type=click.Choice(["tool", "tool-lines", "blocks"]),
    help="How they are shown, see the command material.  [default: blocks for --unit block, tool-lines for lines, tool "
    "for document]",
)
@click.option("--model", metavar="NAME", help=f"The model to ask.  [default: {_MODEL}]")
@click.option("--base-url", metavar="URL", help="Where it is, such as http://localhost:8000/v1.")
@click.option(
    "--api",
    type=click.Choice(["chat", "responses"]),
    default="chat",
    show_default=True,
    help="By which API it is asked.",
)
@click.option("--offline", is_flag=True, help="Ask no model, though there is a key.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document, when all is there.")
@click.option(
    "--save",
    "path",
    callback=_check_save,
    metavar="FILE.md|.html",
    help="Write the answer into this file too, as Markdown with footnotes or as a page of HTML.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 where the answer cites what is not there.")
@format_option()
def ask(
    *,
    question: str,
    files: Sequence[str],
    unit: SourceUnit,
    size: int | None,
    budget: int,
    material: str | None,
    model: str | None,
    base_url: str | None,
    api: Api,
    offline: bool,
    as_json: bool,
    path: Path | None,
    strict: bool,
    format: CitationFormat,
) -> int:
    """Answer a question from files, and return the exit status."""
    if not question.strip():
        raise misuse("QUESTION: must not be empty")
    form: Any = material and material.replace("-", "_")
    if form == "blocks" and unit == "lines":
        raise misuse("--material: blocks have no numbered lines; leave it out, or --unit lines")
    # What this loads is no other command's.
    from .answering import answer_question
    from .model import real_model

    real = None if _is_offline(model, base_url, offline=offline) else real_model(base_url, model or _MODEL, api)
    return answer_question(
        question,
        files,
        real,
        api=api,
        unit=unit,
        size=size,
        budget=budget,
        material=form,
        format=format,
        as_json=as_json,
        path=path,
        strict=strict,
    )


def _is_offline(model: str | None, base_url: str | None, *, offline: bool) -> bool:
    if base_url == "":
        raise misuse("--base-url: must be a URL, not ''")
    if offline and (model is not None or base_url is not None):
        raise misuse("--offline asks no model: leave out --model and --base-url")
    return offline or not (model is not None or base_url is not None or os.environ.get("OPENAI_API_KEY", "").strip())
