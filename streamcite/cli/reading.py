"""Files as documents, with a bar while they are read, and a line for each that cannot be."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import click

from streamcite.files import CannotRead, Document, find_files, read_file

from .report import report

# Skipped files are named up to here; of a folder of pictures nobody reads more.
_NAMED = 10


class Reading:
    """Read files, each when its turn comes; iterate over their documents, once.

    Args:
        names: as for `find_files`.

    Attributes:
        skipped: the files that could not be read, each with the reason, so far.

    Raises:
        click.ClickException: a name stands for no file.
    """

    def __init__(self, names: Sequence[str]) -> None:
        try:
            self._files: list[Path] = find_files(names)
        except FileNotFoundError as error:
            raise click.ClickException(f"{error.filename or repr('')}: there is no such file") from None
        self.skipped: list[tuple[Path, str]] = []

    def __iter__(self) -> Iterator[Document]:
        for file in _with_bar(self._files):
            try:
                yield from read_file(file)
            except CannotRead as error:
                self.skipped.append((file, str(error)))

    def report(self) -> None:
        """Say which files were skipped, and why."""
        for file, reason in self.skipped[:_NAMED]:
            report(f"{file} is skipped: {reason}")
        if (more := len(self.skipped) - _NAMED) > 0:
            report(f"{more} more files are skipped")


def _with_bar(files: Sequence[Path]) -> Iterable[Path]:
    """Iterate, with a bar on standard error where that is a terminal; it goes when all is read."""
    if not files or sys.stderr is None or not sys.stderr.isatty():
        return files
    from rich.console import Console
    from rich.progress import track

    return track(files, "Reading", console=Console(stderr=True), transient=True)
