"""A model as the command asks one: at a server of the user's, or at one on this machine that plays an answer."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import click

from .misuse import misuse
from .view import View

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from streamcite.testing import RecordedAnswer

Api: TypeAlias = Literal["chat", "responses"]


@dataclass(frozen=True, slots=True)
class Model:
    """A model, where it is, and by which API it is asked."""

    connect: Callable[[], AsyncOpenAI]
    base_url: str
    name: str
    api: Api = "chat"

    async def stream(self, request: Mapping[str, Any]) -> AsyncIterator[Any]:
        """Ask, and give what the client gives of the answer, as it comes.

        Args:
            request: what is asked: parameters of the API beside ``model`` and ``stream``.

        Raises:
            click.ClickException: the server fails; the message says what it said.
        """
        from openai import APIStatusError  # the client takes half a second to load

        try:
            async with self.connect() as client:
                create: Any = client.chat.completions.create if self.api == "chat" else client.responses.create
                async with await create(model=self.name, stream=True, **request) as stream:
                    async for item in stream:
                        yield item
        except APIStatusError as error:
            raise click.ClickException(f"{self.base_url} answered {error.status_code}: {_reason(error)}") from None
        except Exception as error:  # noqa: BLE001  # the client's own, or of the HTTP client below it, whichever that is
            raise click.ClickException(f"{self.base_url}: {_reason(error)}") from None


def real_model(base_url: str | None, name: str, api: Api = "chat") -> Model:
    """Give a model of the server at this URL, else of the one in ``OPENAI_BASE_URL``, else of OpenAI's.

    Raises:
        click.UsageError: there is no key in ``OPENAI_API_KEY``, or what no request can hold.
    """
    key = os.environ.get("OPENAI_API_KEY", "").strip()  # a file that it was read from may end with a line end
    if not key:
        raise misuse("set OPENAI_API_KEY to the server's key; any will do where it wants none")
    if not (key.isascii() and key.isprintable()):  # the client would say so, and print the key
        raise misuse("OPENAI_API_KEY: it is not a key: not all of it is printable ASCII")
    url = base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"

    def connect() -> AsyncOpenAI:
        from openai import AsyncOpenAI

        return AsyncOpenAI(base_url=url, api_key=key, max_retries=0)

    return Model(connect, url, name, api)


@contextmanager
def recorded_model(answer: RecordedAnswer, pace: float, api: Api = "chat") -> Iterator[Model]:
    """Serve a recorded answer on this machine while the block runs, and give the model that says it.

    Args:
        answer: what is served, under its ``id`` as the name of the model.
        pace: seconds between two pieces, at least 0 and finite.
        api: by which it is asked.
    """
    from streamcite.testing import serve

    with serve([answer], pace=pace) as server:

        def connect() -> AsyncOpenAI:
            from openai import AsyncOpenAI, DefaultAsyncHttpxClient

            # Without a proxy that the environment may name: it does not reach this machine.
            http_client = DefaultAsyncHttpxClient(trust_env=False)
            return AsyncOpenAI(base_url=server.base_url, api_key="any", http_client=http_client)

        yield Model(connect, server.base_url, answer.id, api)


async def watch(view: View, reading: Coroutine[Any, Any, None]) -> None:
    """Run what reads an answer into a view, and draw that while nothing comes.

    Args:
        view: where it is shown.
        reading: what feeds the view.
    """
    with view:
        task = asyncio.create_task(reading)
        try:
            while not task.done():
                await asyncio.wait([task], timeout=view.pause)
                view.draw()
            task.result()
        finally:
            task.cancel()  # or what has just come would be fed to the view after an interrupt, which closes it


def _reason(error: Exception) -> str:
    """Give what the server said, if it said it as OpenAI does, else what went wrong."""
    from openai import APIError

    if isinstance(error, APIError) and isinstance(error.body, dict) and "message" in error.body:
        return str(error.body["message"])
    reason: BaseException = error
    while cause := reason.exceptions[0] if isinstance(reason, BaseExceptionGroup) else reason.__cause__:
        reason = cause
    return str(reason) or type(reason).__name__
