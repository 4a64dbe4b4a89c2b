"""What a benchmark tells: figures, each beside its limit."""

from __future__ import annotations

import platform
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One line of a report.

    Attributes:
        name: what was measured.
        value: a ratio, or a number of bytes.
        limit: the most it may be; None if it is only told.
    """

    name: str
    value: float
    limit: float | None = None

    def __str__(self) -> str:
        verdict = "" if self.limit is None else f"of {self.limit:6.2f}  {'ok' if self.value <= self.limit else 'OVER'}"
        digits = 3 if self.value < 0.1 else 2
        return f"{self.name:72} {self.value:8.{digits}f}  {verdict}".rstrip()


def machine() -> str:
    """Say on what the figures were measured."""
    return f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}"
