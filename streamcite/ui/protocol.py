"""What the encoders of all protocols have in common: events of an answer in, whole server-sent events out. Sans-I/O."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from itertools import count
from types import MappingProxyType
from typing import ClassVar, Final, Literal, TypeAlias

from streamcite.checks import check_choice, missing
from streamcite.events import check_iterable
from streamcite.links import ResolvedEvent
from streamcite.sse import encode_json

from .writer import TextWriter

__all__ = ["CONTENT_TYPE", "HEADERS", "Encoder", "EncoderClosed", "Protocol", "ProtocolName", "new_encoder"]

CONTENT_TYPE: Final = "text/event-stream; charset=utf-8"
# Nothing on the way may keep an event back.
HEADERS: Final[Mapping[str, str]] = MappingProxyType(
    {"content-type": CONTENT_TYPE, "cache-control": "no-cache", "x-accel-buffering": "no"}
)

ProtocolName: TypeAlias = Literal["native", "ai-sdk", "openai-chat", "openai-responses", "langchain"]


class EncoderClosed(RuntimeError):
    """Raised by `Encoder.feed` after the end of the answer: a mistake in the program, never of the input."""


class Encoder(ABC):
    """Encode the events of one answer as a protocol's server-sent events. Sans-I/O.

    Each of the bytes that it gives is one whole frame, to be sent as it is. A frame has a number: which one of the
    answer it is, from 0, over all calls. Where it has an ``id``, that is its number; a reader that lost the connection
    tells the last one that it has as ``Last-Event-ID``.

    One of these three is the end of an answer: `close` where the model ended it, `close` with ``complete=False`` where
    it just stopped, and `fail` where an error did.
    """

    headers: ClassVar[Mapping[str, str]] = HEADERS
    """What the response that holds the frames has as its headers, by their names in lower case."""

    def __init__(self) -> None:
        self._numbers = count()
        self._begun = self._closed = False
        self._writer: TextWriter | None = None  # where the next text takes a frame of its own alone

    @property
    def write(self) -> Callable[[str], bytes] | None:
        """Give what encodes the text that comes next, if that takes one frame: as `feed` does, in less time.

        It is good until something else was fed, or the answer has ended; None where that text takes more than a frame.
        An empty text must not be given to it.
        """
        return None if self._writer is None else self._writer.write

    def skip(self, number: int) -> None:
        """Go on after that many frames that another encoder gave, of which nothing is known: only `fail` may follow."""
        self._numbers, self._begun = count(number), True

    def feed(self, events: Iterable[ResolvedEvent]) -> list[bytes]:
        """Encode the next events.

        Args:
            events: what a `Resolver` handed out; may be empty, to begin the answer before there is any.

        Returns:
            The next frames; there may be none.

        Raises:
            EncoderClosed: the answer has ended.
            TypeError: they are not an iterable of events of a resolver, or one text.
        """
        check_iterable(events)
        if self._closed:
            raise EncoderClosed("feed() after the end: make a new encoder for a new answer")
        return [*self._beginning(), *self._encode(events)]

    def close(self, *, complete: bool = True) -> list[bytes]:
        """Encode the end of the answer.

        Args:
            complete: whether the answer has ended by itself.

        Returns:
            The last frames; after the end none.
        """
        return self._ended(lambda: self._end(complete=complete))

    def fail(self, message: str) -> list[bytes]:
        """Encode that an error has ended the answer.

        Args:
            message: what a reader may be told of it. A protocol that has no error says only that it is not complete.

        Returns:
            The last frames; after the end none.
        """
        return self._ended(lambda: self._fail(message))

    def _beginning(self) -> list[bytes]:
        if self._begun:
            return []
        self._begun = True
        return self._start()

    def _ended(self, end: Callable[[], list[bytes]]) -> list[bytes]:
        if self._closed:
            return []
        self._closed = True
        frames = [*self._beginning(), *end()]
        self._writer = None
        return frames

    def _frame(self, data: object, event: str | None = None) -> bytes:
        """Give the next frame, with its number as its id."""
        return encode_json(data, event=event, id=str(next(self._numbers)))

    @abstractmethod
    def _start(self) -> list[bytes]:
        """Give the first frames; at least one."""

    @abstractmethod
    def _encode(self, events: Iterable[ResolvedEvent]) -> list[bytes]:
        """Give the frames of events."""

    @abstractmethod
    def _end(self, *, complete: bool) -> list[bytes]:
        """Give the last frames."""

    def _fail(self, message: str) -> list[bytes]:
        """Give the last frames after an error."""
        return self._end(complete=False)


Protocol: TypeAlias = ProtocolName | Encoder | Callable[[], Encoder]
"""How a protocol is named: by its name, by an encoder that was not fed yet, or by what makes one."""


def new_encoder(protocol: Protocol) -> Encoder:
    """Give the encoder of a protocol.

    Args:
        protocol: ``native`` (it needs the extra ``markdown``), ``ai-sdk``, ``openai-chat``, ``openai-responses`` or
            ``langchain``; an encoder, which is given back; or what makes one when it is called, such as its class.

    Raises:
        ValueError: there is no protocol of this name.
        TypeError: it is not one of these, or what was called gives no encoder.
        ModuleNotFoundError: the encoder needs an extra that is missing; the message names it.
    """
    if isinstance(protocol, Encoder):
        return protocol
    encoder = _class_of(protocol)() if isinstance(protocol, str) else protocol() if callable(protocol) else protocol
    if not isinstance(encoder, Encoder):
        raise TypeError(f"protocol: must be a name, an Encoder or what makes one, not {type(encoder).__name__}")
    return encoder


def _class_of(name: str) -> Callable[[], Encoder]:
    check_choice("protocol", name, ProtocolName)
    # The module of a protocol says by `ENCODER` what encodes it; only the one that is asked for is loaded.
    try:
        module = import_module(f"{__package__}.{name.replace('-', '_')}")
    except ModuleNotFoundError as error:
        raise missing(error, f"protocol={name!r}", "markdown") from error
    encoder: Callable[[], Encoder] = module.ENCODER
    return encoder
