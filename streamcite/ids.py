"""What an id of a source looks like, and the marker that cites it.

The ids are those of OpenAI's citation guide: ``turn0file1`` for a result of a tool's call, by the number of the call
and its own in it, and ``block1`` for a block of given context. Any other id that the format can write is one too.

Source: the guide, elements 1 and 2.
"""

from __future__ import annotations

import re

from .events import Reference
from .format import CitationFormat, ids_of, may_be_id

KIND = "[A-Za-z]+"
# A result's id, as part of a larger pattern: no word of prose has its form.
RESULT_ID = f"turn[0-9]+{KIND}[0-9]+"

_RESULT = re.compile(f"turn(?P<call>[0-9]+)(?P<kind>{KIND})[0-9]+")
_BLOCK = re.compile("block[0-9]+")
# No registry gives a call's number more digits, and Python refuses to read one of thousands.
_MAX_DIGITS = 9


def result_id(call: int, kind: str, number: int) -> str:
    """Give the id of a result of a tool's call."""
    return f"turn{call}{kind}{number}"


def block_id(number: int) -> str:
    """Give the id of a block of given context."""
    return f"block{number}"


def is_result_id(id: str) -> bool:
    """Say whether an id has the form of a result's."""
    return _RESULT.fullmatch(id) is not None


def call_of(id: str) -> int | None:
    """Give the number of the call that a result's id names; None for another id, and beyond nine digits."""
    found = _RESULT.fullmatch(id)
    return int(found["call"]) if found and len(found["call"]) <= _MAX_DIGITS else None


def kind_of(id: str) -> str:
    """Give the kind of source that an id names, such as ``file`` or ``block``; empty if it names none."""
    if found := _RESULT.fullmatch(id):
        return found["kind"]
    return "block" if _BLOCK.fullmatch(id) else ""


def family_of(format: CitationFormat) -> str:
    """Give the family to write markers with: ``cite``, else the format's first; empty for a format without any."""
    return "cite" if "cite" in format.families else next(iter(format.families), "")


def marker_of(id: str, format: CitationFormat) -> str:
    """Give the marker that cites a source.

    Raises:
        ValueError: no citation of the format can name this id; the message names it.
    """
    try:
        return format.write([Reference(id)], family_of(format))
    except ValueError:
        why = "" if may_be_id(id, format) else f", {ids_of(format)} (source_id=...)"
        raise ValueError(f"id: {id!r} is not a source id of this format{why}") from None


def check_id(id: str, format: CitationFormat) -> None:
    """Require an id that a citation of the format can name.

    Raises:
        ValueError: as `marker_of`.
    """
    marker_of(id, format)
