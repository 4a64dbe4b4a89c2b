"""Standard output as text that arrives while it is written."""

from __future__ import annotations

import io
import select
import sys
from typing import TYPE_CHECKING

import click

from streamcite.surrogates import replace_surrogates, split_half

from .report import report

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class OutputClosed(Exception):
    """Raised when whoever read the output has closed it: there is nothing left to do, and nothing to report."""


class Output(io.TextIOBase):
    """Write text to standard output, each piece at once: UTF-8 whatever the locale, newlines untouched.

    It is a text file, to stand in for ``sys.stdout`` where a library prints. UTF-8 has no surrogates: a high and a low
    one in a row are written as the character they mean, also when they come in two pieces, as some servers cut them;
    any other as U+FFFD.

    Attributes:
        buffer: the same for bytes.

    Raises:
        click.ClickException: standard output is closed, or from `write` and `finish`, it cannot be written.
        OutputClosed: from `write` and `finish`, the reader has closed it.
    """

    encoding = "utf-8"
    errors: str | None = "strict"

    def __init__(self) -> None:
        if sys.stdout is None:
            raise click.ClickException("standard output is closed")
        self.buffer: _Bytes = _Bytes(sys.stdout.fileno())
        self._replaced = 0
        self._high = ""  # a high surrogate at the end of what was written, which the next piece may complete

    def write(self, text: str, /) -> int:
        """Write text, and return its length in code points."""
        whole, self._high = split_half(self._high + text)
        self._write(whole)
        return len(text)

    def finish(self) -> None:
        """Write what could have been the first half of a character, had more text come."""
        text, self._high = self._high, ""
        self._write(text)

    def report(self) -> None:
        """Say how many surrogates were replaced, if any were."""
        if self._replaced:
            report(f"lone surrogates replaced by U+FFFD: {self._replaced} times")

    def fileno(self) -> int:
        """Give the number of the open file, as any file does."""
        return self.buffer.fileno()

    def isatty(self) -> bool:
        """Say whether it is a terminal."""
        return self.buffer.isatty()

    def _write(self, text: str) -> None:
        clean, replaced = replace_surrogates(text)
        self._replaced += replaced
        self.buffer.write(clean.encode())


class _Bytes(io.FileIO):
    """Standard output itself: without a buffer, for Python would try again, when it ends, what could not be written."""

    def __init__(self, number: int) -> None:
        super().__init__(number, "w", closefd=False)

    def write(self, data: ReadableBuffer, /) -> int:
        """Write all of it."""
        rest = memoryview(data)
        try:
            while rest:
                written = super().write(rest)
                if written is None:
                    # Another program has made the file non-blocking, and its reader idles.
                    select.select([], [self], [])
                else:
                    rest = rest[written:]
        except BrokenPipeError:
            raise OutputClosed from None
        except OSError as error:
            raise click.ClickException(f"standard output: {error.strerror}") from None
        return len(memoryview(data))
