"""The files for a browser that come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

Asset: TypeAlias = Literal["streamcite.js", "streamcite.css", "native.d.ts", "native.md"]


def asset(name: Asset) -> Path:
    """Say where a file stands, for a server of static files or to read it (UTF-8).

    Args:
        name: ``streamcite.js``, the module that shows an answer; ``streamcite.css``, its style sheet; or what describes
            the protocol: ``native.md``, and ``native.d.ts`` in types.
    """
    return Path(__file__).with_name(name)
