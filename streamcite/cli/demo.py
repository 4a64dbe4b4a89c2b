"""The demo: one question to an OpenAI-compatible server, and its answer with numbered citations and its sources."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass

import click
from openai import APIError, APIStatusError, AsyncOpenAI, DefaultAsyncHttpxClient
from openai.types.chat import ChatCompletionChunk

from streamcite import Citation, Source
from streamcite.openai import chat_events
from streamcite.testing import RecordedAnswer, recorded_answers, serve

from .cited import CitedSource
from .output import Output
from .plain import Plain
from .terminal import Terminal
from .view import View

# Names of terminals of which nothing is known.
_INCAPABLE = {"", "dumb", "unknown"}

# Seconds between two drawings, at least: as often as makes it look smooth.
_PAUSE = 0.04


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
    capable = os.environ.get("TERM", "").lower() not in _INCAPABLE
    view: View = Terminal() if capable and Output().isatty() else Plain()
    view.ask(ask.question, ask.model, ask.base_url)
    if cited := asyncio.run(_answer(ask, sources, view)):
        view.sources(cited)


async def _answer(ask: _Ask, sources: Mapping[str, Source], view: View) -> list[CitedSource]:
    """Show an answer as it comes; return the sources it cites, in the order of their numbers."""
    clock = asyncio.get_running_loop().time
    with view:
        reading = asyncio.create_task(_read(ask, sources, view))
        pause = _PAUSE
        while not reading.done():
            await asyncio.wait([reading], timeout=pause)
            began = clock()
            view.draw()
            # However much there is to draw, most of the time is left to read.
            pause = max(_PAUSE, 4 * (clock() - began))
        return reading.result()


async def _read(ask: _Ask, sources: Mapping[str, Source], view: View) -> list[CitedSource]:
    """Give an answer to the view, each source under a number of its own; return the sources in that order."""
    cited: dict[str, CitedSource] = {}
    empty = True
    async with chat_events(ask.chunks()) as events:
        async for event in events:
            empty = False
            view.write(str(event))
            if isinstance(event, Citation):
                for source_id, locator in event.references:
                    known = sources.get(source_id) or Source(source_id)
                    source = cited.setdefault(source_id, CitedSource(len(cited) + 1, known))
                    if locator:
                        source.locators[locator] = None
                for source_id in dict.fromkeys(event.source_ids):
                    view.cite(cited[source_id])
    if empty:
        raise click.ClickException(f"{ask.base_url}: the answer is empty")
    return list(cited.values())
