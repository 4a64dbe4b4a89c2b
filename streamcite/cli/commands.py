"""The commands, their options and their help."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any, Literal, TypeVar

import click

from streamcite import CitationFormat, CitationParser, Event, to_dict
from streamcite.format import DEFAULT_MAX_MARKER, DEFAULT_MAX_PAYLOAD
from streamcite.spacing import Spacing, Tidy

from . import texts
from .ask import ask
from .check import check
from .formats import format_option
from .input import Utf8, json_deltas, open_input
from .material import material
from .misuse import bad_value, misuse
from .output import Output, OutputClosed
from .prompt import prompt
from .relay import relay
from .render import render
from .report import report
from .serve import serve

_F = TypeVar("_F", bound=Callable[..., Any])

# Seconds between two pieces of a recorded answer: about as fast as models write.
_PACE = 0.02


def run() -> int:
    """Run the command with the arguments of this process.

    Returns:
        The exit status, as `streamcite.cli.main` says.
    """
    try:
        # What click prints goes the way of all output. Its own way of ending prints several lines for an error.
        with redirect_stdout(Output()):
            status = streamcite.main(prog_name="streamcite", standalone_mode=False)
    except click.UsageError as error:
        see = f" (see '{error.ctx.command_path} --help')" if error.ctx else ""
        report(error.format_message().rstrip(".") + see)
        return 2
    except click.ClickException as error:
        report(error.format_message())
        return 2
    except click.Abort:
        return 130
    except OutputClosed:
        return 141
    return status or 0


@click.group(help=texts.STREAMCITE, no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="streamcite", message="%(prog)s %(version)s")
def streamcite() -> None:
    """Hold the commands; without one there is nothing to do."""


streamcite.add_command(ask)
streamcite.add_command(prompt)
streamcite.add_command(material)
streamcite.add_command(check)
streamcite.add_command(render)
streamcite.add_command(serve)
streamcite.add_command(relay)


def _reads_an_answer(command: _F) -> _F:
    """Add what `parse` and `clean` have in common."""
    for decorate in reversed(
        [
            click.argument("file", default="-", metavar="[FILE|-]"),
            click.option(
                "--input",
                "kind",
                type=click.Choice(["text", "jsonl"]),
                default="text",
                show_default=True,
                help="What is read: the answer itself, or JSON lines, each one string, which is one delta of it.",
            ),
            format_option(
                "What a marker looks like: that of OpenAI's citation guide (the default), the same without ChatGPT's "
                "highlight marks, or a file with the fields of a CitationFormat."
            ),
            click.option(
                "--malformed",
                type=click.Choice(["drop", "keep"]),
                default="drop",
                show_default=True,
                help="Whether markup that cannot be read is left out of the text, or kept in it.",
            ),
            click.option(
                "--no-repair",
                is_flag=True,
                help="Take no citation from a marker that is not well formed, though its references are whole.",
            ),
            click.option(
                "--max-marker",
                type=click.IntRange(min=8),
                default=DEFAULT_MAX_MARKER,
                show_default=True,
                metavar="N",
                help="The most code points of a citation marker.",
            ),
            click.option(
                "--max-payload",
                type=int,
                metavar="N",
                help="The most code points of any other marker, at least --max-marker.  "
                f"[default: {DEFAULT_MAX_PAYLOAD}, or more]",
            ),
            click.option(
                "--complete",
                is_flag=True,
                help="The answer has ended by itself, so that a marker at its very end, with nothing but its stop "
                "missing, is a citation. By default it is taken to be cut off: then its last id may be half an id, "
                "and no citation comes of it.",
            ),
        ]
    ):
        command = decorate(command)
    return command


@streamcite.command(help=texts.PARSE)
@_reads_an_answer
def parse(**options: Any) -> None:
    """Print the events of an answer."""
    _print_events(_json_line, **options)


@streamcite.command(help=texts.CLEAN)
@_reads_an_answer
@click.option(
    "--spacing",
    type=click.Choice(["exact", "tidy"]),
    default="exact",
    show_default=True,
    help="Whether two blanks, a blank before punctuation and empty brackets stay where a marker was, or are mended.",
)
def clean(*, spacing: Spacing, **options: Any) -> None:
    """Print what the reader sees of an answer."""
    _print_events(str, stage=Tidy() if spacing == "tidy" else None, **options)


@streamcite.command(help=texts.DEMO)
@click.option("--answer", default="english", show_default=True, metavar="NAME", help="Which recorded answer.")
@click.option("--pace", type=float, metavar="SECONDS", help=f"Between two pieces of it.  [default: {_PACE}]")
@click.option("--list", "only_list", is_flag=True, help="List the recorded answers and exit.")
@click.option("--model", metavar="NAME", help="Ask a real server, and this model.")
@click.option("--base-url", metavar="URL", help="Where that server is, such as http://localhost:8000/v1.")
@click.option("--question", metavar="TEXT", help="What to ask it; left out, the question of --answer.")
def demo(
    *,
    answer: str,
    pace: float | None,
    only_list: bool,
    model: str | None,
    base_url: str | None,
    question: str | None,
) -> None:
    """Show an answer while it streams."""
    if model is None and (base_url is not None or question is not None):
        raise misuse("--base-url and --question need --model")
    if model is not None and pace is not None:
        raise misuse("--pace is for recorded answers, not for --model")
    if pace is not None and not 0 <= pace < math.inf:
        raise bad_value("--pace", f"{pace:g} is not a number of seconds from 0")
    if base_url == "":
        raise bad_value("--base-url", "must be a URL, not ''")
    # What this loads is no other command's.
    from .demo import print_answers, recorded, show_real, show_recorded

    if only_list:
        print_answers()
    elif model is None:
        show_recorded(recorded(answer), _PACE if pace is None else pace)
    else:
        show_real(base_url, model, question or recorded(answer).question)


def _print_events(
    show: Callable[[Any], str],
    *,
    file: str,
    kind: Literal["text", "jsonl"],
    format: CitationFormat,
    malformed: Literal["drop", "keep"],
    no_repair: bool,
    max_marker: int,
    max_payload: int | None,
    complete: bool,
    stage: Tidy | None = None,
) -> None:
    """Read an answer and print what ``show`` makes of its events, or of those of a stage, each read before the next."""
    if max_payload is not None and max_payload < max_marker:
        raise bad_value("--max-payload", f"{max_payload} is less than --max-marker, which is {max_marker}")
    parser = CitationParser(
        format, malformed=malformed, repair=not no_repair, max_marker=max_marker, max_payload=max_payload
    )
    output = Output()
    with open_input(file) as opened:
        text = Utf8(opened)
        for delta in text if kind == "text" else json_deltas(text, file):
            events = parser.feed(delta)
            output.write("".join(map(show, stage.feed(events) if stage else events)))
        events = parser.close(complete=complete)
        output.write("".join(map(show, [*stage.feed(events), *stage.close()] if stage else events)))
        output.finish()
    text.report()
    output.report()


def _json_line(event: Event) -> str:
    return json.dumps(to_dict(event)) + "\n"
