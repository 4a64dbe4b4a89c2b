"""Standard output as text that arrives while it is written."""

from __future__ import annotations

import sys

import click

from streamcite.surrogates import replace_surrogates


class OutputClosed(Exception):
    """Raised when whoever read the output has closed it: there is nothing left to do, and nothing to report."""


class Output:
    """Write text to standard output, each piece at once: UTF-8 whatever the locale, newlines untouched.

    UTF-8 has no surrogates. A high and a low one in a row are written as the character they mean, also when they come
    in two pieces, as some servers cut them; any other as U+FFFD.

    Attributes:
        replaced: how many were written as U+FFFD so far.

    Raises:
        click.ClickException: there is no standard output; from `write` and `finish`, it cannot be written to.
        OutputClosed: from `write` and `finish`, the reader has closed it.
    """

    def __init__(self) -> None:
        if sys.stdout is None:
            raise click.ClickException("standard output is closed")
        # Without a buffer: what could not be written must not be tried again when Python shuts down.
        self._raw = open(sys.stdout.fileno(), "wb", buffering=0, closefd=False)  # noqa: SIM115  # stays open
        self._high = ""  # a high surrogate at the end of what was written, which the next piece may complete
        self.replaced: int = 0

    def write(self, text: str) -> None:
        """Write text."""
        text = self._high + text
        self._high = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        self._write(text[: -1 if self._high else None])

    def finish(self) -> None:
        """Write what could have been the first half of a character, had more text come."""
        text, self._high = self._high, ""
        self._write(text)

    def _write(self, text: str) -> None:
        clean, replaced = replace_surrogates(text)
        self.replaced += replaced
        data = memoryview(clean.encode())
        try:
            while data:
                data = data[self._raw.write(data) or 0 :]
        except BrokenPipeError:
            raise OutputClosed from None
        except OSError as error:
            raise click.ClickException(f"standard output: {error.strerror}") from None
