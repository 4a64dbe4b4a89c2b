"""An answer as a file: Markdown, or a page of HTML that needs no other file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from html import escape
from pathlib import Path

import click

from streamcite import ResolvedEvent

_PAGE = """\
<!doctype html>
<html>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{question}</title>
<style>
{style}
body {{ max-width: 44rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.6 system-ui, sans-serif; }}
</style>
</head>
<body class="sc">
<h1 dir="auto">{question}</h1>
<main>
{answer}
</main>
</body>
</html>
"""


def save(path: Path, question: str, events: Iterable[ResolvedEvent]) -> None:
    """Write an answer into a file, whole or not at all.

    Args:
        path: the file's; its suffix says what is written.
        question: what was asked.
        events: the answer.

    Raises:
        click.ClickException: it cannot be written.
    """
    page = _html(question, events) if path.suffix.lower() == ".html" else _markdown(question, events)
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".streamcite-")
        try:
            with open(descriptor, "w", encoding="utf-8", errors="replace", newline="") as file:  # noqa: PTH123
                file.write(page)
            umask = os.umask(0)
            os.umask(umask)
            Path(name).chmod(0o666 & ~umask)  # as any new file
            Path(name).replace(path)
        except BaseException:
            with suppress(OSError):  # the first error is reported
                Path(name).unlink()
            raise
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}") from None


def _markdown(question: str, events: Iterable[ResolvedEvent]) -> str:
    from streamcite.render.hyperlinks import markdown_text
    from streamcite.render.markdown import render_markdown

    heading = markdown_text(question).replace("#", "\\#")  # a last one would be taken for an end of the heading
    return f"# {heading}\n\n{render_markdown(events, 'footnotes').rstrip()}\n"


def _html(question: str, events: Iterable[ResolvedEvent]) -> str:
    from streamcite.render.html import render_html
    from streamcite.render.hyperlinks import one_line
    from streamcite.ui.assets import asset

    style = asset("streamcite.css").read_text("utf-8")
    return _PAGE.format(question=escape(one_line(question)), style=style, answer=render_html(events))
