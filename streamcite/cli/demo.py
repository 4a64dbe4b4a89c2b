"""The demo: one question to an OpenAI-compatible server, and its answer with numbered citations and its sources."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass

import click
from openai import APIError, APIStatusError, AsyncOpenAI, DefaultAsyncHttpxClient
from openai.types.chat import ChatCompletionChunk

from streamcite import Citation, Resolver, Source
from streamcite.openai import chat_events
from streamcite.testing import RecordedAnswer, recorded_answers, serve

from .output import Output
from .view import View, best_view


def print_answers() -> None:
    """Print the name of each recorded answer, and the question it answers."""
    output = Output()
    for name, answer in recorded_answers().items():
        output.write(f"{name}: {answer.question}\n")


def recorded(name: str) -> RecordedAnswer:
    """Give the recorded answer of this name.

    Raises:
        click.ClickException: there is none.
    """
    try:
        return recorded_answers()[name]
    except KeyError:
        names = ", ".join(recorded_answers())
        raise click.UsageError(f"no answer {name!r}: there are {names}", click.get_current_context()) from None


def show_recorded(answer: RecordedAnswer, pace: float) -> None:
    """Stream a recorded answer from a server on this machine.

    Args:
        answer: what it answers.
        pace: seconds between two pieces, at least 0 and finite.
    """
    with serve([answer], pace=pace) as server:

        def connect() -> AsyncOpenAI:
            # Without a proxy that the environment may name: it does not reach this machine.
            http_client = DefaultAsyncHttpxClient(trust_env=False)
            return AsyncOpenAI(base_url=server.base_url, api_key="any", http_client=http_client)

        _show(_Ask(connect, server.base_url, answer.id, answer.question), answer.sources)


def show_real(base_url: str | None, model: str, question: str) -> None:
    """Stream the answer of a real server, whose sources are not known here.

    Raises:
        click.ClickException: there is no key, or the server fails; the message says what it said.
    """
    if not os.environ.get("OPENAI_API_KEY"):
        message = "set OPENAI_API_KEY to the server's key; any will do where it wants none"
        raise click.UsageError(message, click.get_current_context())
    url = base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
    _show(_Ask(lambda: AsyncOpenAI(base_url=url, max_retries=0), url, model, question), {})


@dataclass(frozen=True, slots=True)
class _Ask:
    """One question, and whom it is for."""

    connect: Callable[[], AsyncOpenAI]
    base_url: str
    model: str
    question: str

    async def chunks(self) -> AsyncIterator[ChatCompletionChunk]:
        """Ask, and give the chunks of the answer as they come."""
        try:
            async with (
                self.connect() as client,
                await client.chat.completions.create(
                    model=self.model, messages=[{"role": "user", "content": self.question}], stream=True
                ) as stream,
            ):
                async for chunk in stream:
                    yield chunk
        except APIStatusError as error:
            raise click.ClickException(f"{self.base_url} answered {error.status_code}: {_reason(error)}") from None
        except Exception as error:  # noqa: BLE001  # the client's own, or of the HTTP client below it, whichever that is
            raise click.ClickException(f"{self.base_url}: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    """Give what the server said, if it said it as OpenAI does, else what went wrong."""
    if isinstance(error, APIError) and isinstance(error.body, dict) and "message" in error.body:
        return str(error.body["message"])
    reason: BaseException = error
    while cause := reason.exceptions[0] if isinstance(reason, BaseExceptionGroup) else reason.__cause__:
        reason = cause
    return str(reason) or type(reason).__name__


def _show(ask: _Ask, sources: Mapping[str, Source]) -> None:
    view = best_view()
    view.ask(ask.question, f"{ask.model} at {ask.base_url}")
    asyncio.run(_answer(ask, sources, view))


async def _answer(ask: _Ask, sources: Mapping[str, Source], view: View) -> None:
    """Show an answer as it comes."""
    with view:
        reading = asyncio.create_task(_read(ask, sources, view))
        try:
            while not reading.done():
                await asyncio.wait([reading], timeout=view.pause)
                view.draw()
            reading.result()
        finally:
            reading.cancel()  # or what has just come would be fed to the view behind an interrupt, which closes it


async def _read(ask: _Ask, sources: Mapping[str, Source], view: View) -> None:
    """Give an answer to the view; of a source that is not known there is only the id."""
    known = dict(sources)
    resolver = Resolver(known)
    empty = True
    async with chat_events(ask.chunks()) as events:
        async for event in events:
            empty = False
            for source_id in event.source_ids if isinstance(event, Citation) else ():
                known.setdefault(source_id, Source(source_id))
            view.feed(resolver.feed([event]))
    if empty:
        raise click.ClickException(f"{ask.base_url}: the answer is empty")
    view.feed(resolver.close())
