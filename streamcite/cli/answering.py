"""Answer a question from files: read, choose, ask, show, check."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streamcite import CitationFormat, ResolvedEvent
from streamcite.ask import Asked, prepare
from streamcite.lint import Finding, lint
from streamcite.openai import StreamResult, chat_events, responses_events
from streamcite.render.plain import PlainRenderer

from .cited import citation_forms
from .findings import FindingsView, wants_colour
from .model import Api, Model, recorded_model, watch
from .output import Output
from .reading import Reading
from .report import report
from .saving import save
from .view import Hidden, View, best_view

if TYPE_CHECKING:
    from streamcite.testing import RecordedAnswer

# Findings which say that the model has invented a citation.
_INVENTED = {"unknown-source", "unknown-lines"}
# Seconds between two pieces of an answer that nobody writes: about as fast as models do.
_PACE = 0.02


def answer_question(
    question: str,
    files: Sequence[str],
    model: Model | None,
    *,
    api: Api,
    as_json: bool,
    path: Path | None,
    strict: bool,
    format: CitationFormat,
    **options: Any,
) -> int:
    """Answer a question from files, show the answer, and say whether it can be trusted.

    Args:
        question: what is asked, in the user's words.
        files: as for `find_files`.
        model: which model is asked; None: none, and the answer quotes what one would be shown.
        api: by which API it is asked.
        as_json: whether one JSON document is printed in place of what a reader sees.
        path: where the answer is saved too.
        strict: whether an invented citation is a failure.
        format: what a marker looks like.
        options: others of `prepare`.

    Returns:
        The exit status: 1 where ``strict`` finds an invented citation, else 0.

    Raises:
        click.ClickException: there is nothing to read, or the server fails; what has come by then is kept.
    """
    reading = Reading(files)
    answer = _Answer(_prepare(question, reading, format=format, **options), format)
    view: View = Hidden() if as_json else best_view(PlainRenderer(passages=True))
    with nullcontext(model) if model else recorded_model(_quotes(answer), 0 if as_json else _PACE, api) as chosen:
        view.ask(question, f"{model.name} at {model.base_url}" if model else "no model, but sentences of your files")
        try:
            asyncio.run(watch(view, answer.read(chosen, view)))
        except BaseException:
            if answer.events:  # what came is kept
                _hand_out(answer, reading, chosen, as_json=as_json, path=path)
            raise
    findings = _hand_out(answer, reading, chosen, as_json=as_json, path=path)
    if findings and not as_json:
        _print(findings, answer)
    return int(strict and any(finding.rule in _INVENTED for finding in findings))


def _prepare(question: str, reading: Reading, **options: Any) -> Asked:
    asked = prepare(question, reading, **options)
    reading.report()
    units = "pages and files" if options["unit"] == "document" else "blocks"
    if not asked.sources:
        raise click.ClickException("there is no text in these files")
    if not asked.shown:
        raise click.ClickException(f"--budget {options['budget']}: none of the {units} is as small")
    if len(asked.shown) < len(asked.sources):
        report(f"the model is shown {len(asked.shown)} of {len(asked.sources)} {units}, the closest to the question")
    return asked


def _quotes(answer: _Answer) -> RecordedAnswer:
    from streamcite.testing import RecordedAnswer
    from streamcite.testing.quotes import compose

    text = compose(answer.asked.question, answer.asked.shown, format=answer.format)
    return RecordedAnswer(id="no model", text=text)


class _Answer:
    """An answer to what is asked, as far as it has come."""

    def __init__(self, asked: Asked, format: CitationFormat) -> None:
        self.asked = asked
        # What the model was not shown it cannot cite: an id of that is as invented as any.
        self.sources = {source.id: source for source in asked.shown}
        self.format = format
        self.events: list[ResolvedEvent] = []
        self.result = StreamResult(parts=(), usage=None, complete=False)

    async def read(self, model: Model, view: View) -> None:
        """Ask a model, and give its answer to a view as it comes.

        Raises:
            click.ClickException: the server fails, or the answer is empty.
        """
        if model.api == "chat":
            stream = model.stream({"messages": self.asked.messages})
            read = chat_events(stream, sources=self.sources, format=self.format)
        else:
            stream = model.stream({"input": self.asked.input})
            read = responses_events(stream, sources=self.sources, format=self.format)
        try:
            async with read as events:
                async for event in events:
                    self.events.append(event)
                    view.feed([event])
        finally:
            self.result = read.result
        if not self.events:
            raise click.ClickException(f"{model.base_url}: the answer is empty")

    @property
    def raw(self) -> str:
        """Give the answer as the model wrote it."""
        return "".join(part.raw for part in self.result.answer)


def _hand_out(answer: _Answer, reading: Reading, model: Model, *, as_json: bool, path: Path | None) -> list[Finding]:
    """Save the answer and print it as JSON, where this is asked for, and give what is wrong with it."""
    findings = lint(answer.raw, answer.sources, complete=answer.result.complete, format=answer.format)
    if path:
        save(path, answer.asked.question, answer.events)
    if as_json:
        document = {
            "question": answer.asked.question,
            "model": model.name,
            "complete": answer.result.complete,
            "answer": answer.result.text,
            "raw": answer.raw,
            "citations": citation_forms(answer.events),
            "findings": [finding.to_dict() for finding in findings],
            "shown": [source.id for source in answer.asked.shown],
            "skipped": [{"file": str(file), "reason": reason} for file, reason in reading.skipped],
        }
        output = Output()
        output.write(json.dumps(document, indent=1) + "\n")
        output.finish()
    return findings


def _print(findings: Sequence[Finding], answer: _Answer) -> None:
    output = Output()
    shown = FindingsView("answer", answer.raw, answer.format, colour=wants_colour(output))
    output.write("\nFindings:\n" + "".join(map(shown.show, findings)))
    output.finish()
