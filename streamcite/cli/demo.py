"""The demo: one question to an OpenAI-compatible server, and its answer with numbered citations and its sources."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from streamcite import Citation, Resolver, Source
from streamcite.openai import chat_events

from .misuse import misuse
from .model import Model, real_model, recorded_model, watch
from .output import Output
from .view import View, best_view

if TYPE_CHECKING:
    from streamcite.testing import RecordedAnswer


def print_answers() -> None:
    """Print the name of each recorded answer, and the question it answers."""
    from streamcite.testing import recorded_answers

    output = Output()
    for name, answer in recorded_answers().items():
        output.write(f"{name}: {answer.question}\n")


def recorded(name: str) -> RecordedAnswer:
    """Give the recorded answer of this name.

    Raises:
        click.ClickException: there is none.
    """
    from streamcite.testing import recorded_answers

    answers = recorded_answers()
    try:
        return answers[name]
    except KeyError:
        raise misuse(f"no answer {name!r}: there are {', '.join(answers)}") from None


def show_recorded(answer: RecordedAnswer, pace: float) -> None:
    """Stream a recorded answer from a server on this machine.

    Args:
        answer: what it answers.
        pace: seconds between two pieces, at least 0 and finite.
    """
    with recorded_model(answer, pace) as model:
        _show(model, answer.question, answer.sources)


def show_real(base_url: str | None, model: str, question: str) -> None:
    """Stream the answer of a real server, whose sources are not known here.

    Raises:
        click.ClickException: there is no key, or the server fails; the message says what it said.
    """
    _show(real_model(base_url, model), question, {})


def _show(model: Model, question: str, sources: Mapping[str, Source]) -> None:
    view = best_view()
    view.ask(question, f"{model.name} at {model.base_url}")
    asyncio.run(watch(view, _read(model, question, sources, view)))


async def _read(model: Model, question: str, sources: Mapping[str, Source], view: View) -> None:
    """Give an answer to the view; of a source that is not known there is only the id."""
    known = dict(sources)
    resolver = Resolver(known)
    empty = True
    async with chat_events(model.stream({"messages": [{"role": "user", "content": question}]})) as events:
        async for event in events:
            empty = False
            for source_id in event.source_ids if isinstance(event, Citation) else ():
                known.setdefault(source_id, Source(source_id))
            view.feed(resolver.feed([event]))
    if empty:
        raise click.ClickException(f"{model.base_url}: the answer is empty")
    view.feed(resolver.close())
