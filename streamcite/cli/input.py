"""A file or standard input as deltas, each as soon as it is there."""

from __future__ import annotations

import codecs
import errno
import io
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from .report import report

# As much as a pipe holds on Linux: what is there comes in one read.
_READ = 65536  # bytes
# Far above any answer, let alone a delta: a file without line ends meets an error, and not the machine's memory.
MAX_LINE = 16 * 2**20  # code points

_JSON_TYPES = {dict: "an object", list: "an array", bool: "a boolean", type(None): "null"}


@contextmanager
def open_input(name: str) -> Iterator[io.FileIO]:
    """Open a file for reading without a buffer; ``-`` is standard input.

    Raises:
        click.ClickException: it cannot be opened, or, while the block runs, an ``OSError`` comes from reading it.
    """
    if name == "-" and sys.stdin is None:
        raise click.ClickException("standard input is closed")
    try:
        with io.FileIO(sys.stdin.fileno(), closefd=False) if name == "-" else io.FileIO(name) as file:
            yield file
    except OSError as error:
        raise click.ClickException(f"{_shown(name)}: {error.strerror}") from None


def _shown(name: str) -> str:
    return "standard input" if name == "-" else name or "''"


def read_all(file: io.RawIOBase, limit: int) -> bytearray:
    """Read a file to its end, but no more than about that many bytes.

    Returns:
        All that it holds; if that is more than ``limit`` bytes, some more than these.

    Raises:
        OSError: it cannot be read.
    """
    pieces = bytearray()
    while len(pieces) <= limit and (piece := _read(file)):
        pieces += piece
    return pieces


def _read(file: io.RawIOBase) -> bytes:
    data = file.read(_READ)
    if data is None:
        # Not the end: another program has made the file non-blocking.
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
    return data


def read_json(data: bytes | bytearray, limit: int) -> Any:
    """Give what a JSON file holds.

    Args:
        data: its bytes, of which there may be more than ``limit``.
        limit: the most that it may have.

    Raises:
        ValueError: it is larger, or not JSON; the message says where it is wrong, without the name of the file.
    """
    if len(data) > limit:
        raise ValueError(f"larger than {limit} bytes")
    try:
        return json.loads(data.decode("utf-8-sig"))
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}, column {error.colno}: not JSON: {error.msg}") from None
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    except RecursionError:  # json has no limit of its own
        raise ValueError("nested too deeply") from None
    except ValueError:
        raise ValueError("holds a number with too many digits") from None


class Utf8:
    """Iterate over a file's text as it arrives: after each read what is there, however the bytes were cut.

    Bytes that are not UTF-8 are replaced by U+FFFD as the Unicode standard recommends (chapter 3.9, "U+FFFD
    Substitution of Maximal Subparts").

    Attributes:
        invalid: how many were replaced so far.
        first_invalid: where the first of them stands, in bytes from 0.
    """

    def __init__(self, file: io.RawIOBase) -> None:
        self._file = file
        self.invalid: int = 0
        self.first_invalid: int = 0

    def __iter__(self) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        offset = 0  # of what the decoder still holds
        while True:
            data = _read(self._file)
            undecoded = decoder.getstate()[0] + data
            text = decoder.decode(data, final=not data)
            self._count(text, undecoded, offset)
            offset += len(undecoded) - len(decoder.getstate()[0])
            if text:
                yield text
            if not data:
                return

    def report(self) -> None:
        """Say how many bytes were replaced, if any were."""
        if self.invalid:
            report(f"invalid UTF-8 replaced by U+FFFD: {self.invalid} times, first at byte {self.first_invalid}")

    def _count(self, text: str, data: bytes, offset: int) -> None:
        # A U+FFFD that was in the file is not a replacement.
        replaced = text.count("\ufffd") - data.count("\ufffd".encode())
        if replaced and not self.invalid:
            try:
                data.decode()
            except UnicodeDecodeError as error:
                self.first_invalid = offset + error.start
        self.invalid += replaced


def json_deltas(texts: Iterable[str], name: str) -> Iterator[str]:
    """Read JSON lines: each line is one JSON string, and that is one delta. Blank lines are passed over.

    Args:
        texts: the text of a file, as it comes.
        name: of that file, as for `open_input`.

    Raises:
        click.ClickException: a line is not a JSON string, or is longer than `MAX_LINE`; the message names the file and
            the number of the line.
    """
    shown = f"{_shown(name)}:"
    for number, line in enumerate(_lines(texts, shown), 1):
        if not line.strip(" \t\r"):
            continue
        where = f"{shown} line {number}"
        try:
            delta = json.loads(line)
        except json.JSONDecodeError as error:
            raise click.ClickException(f"{where}, column {error.colno}: not JSON: {error.msg}") from None
        except (ValueError, RecursionError):  # a number with too many digits, or lists nested too deeply
            raise click.ClickException(f"{where}: must be a JSON string, not something else") from None
        if not isinstance(delta, str):
            kind = _JSON_TYPES.get(type(delta), "a number")
            raise click.ClickException(f"{where}: must be a JSON string, not {kind}")
        yield delta


def _lines(texts: Iterable[str], shown: str) -> Iterator[str]:
    """Split at LF only: ``splitlines`` would also split inside a JSON string, at U+2028 and others."""
    line = io.StringIO()
    number = 1
    for text in texts:
        for index, part in enumerate(text.split("\n")):
            if index:
                yield line.getvalue()
                line = io.StringIO()
                number += 1
            line.write(part)
            if line.tell() > MAX_LINE:
                raise click.ClickException(f"{shown} line {number}: longer than {MAX_LINE} code points")
    yield line.getvalue()
