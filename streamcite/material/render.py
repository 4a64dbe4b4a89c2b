"""Sources as a model is shown them: tool results, messages of a tool, blocks in the context."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from streamcite.format import OPENAI, CitationFormat, check_format
from streamcite.ids import marker_of
from streamcite.source import Source, each_source

from .content import read_about, write_about, write_text
from .safe import LINE_BREAK, Change, Field, Found, guard_for

# What stands between two sources in one text. The reader takes just this off, so that a text is exact.
_BETWEEN = "\n\n"


@dataclass(frozen=True, slots=True)
class Material:
    """What a model is shown of sources. ``str(material)`` is the text.

    Attributes:
        text: what goes into a prompt or a message, as it is.
        ids: the ids that it shows, in order; `Sources.mark_shown` takes them.
        changes: what was made safe, source by source.
    """

    text: str
    ids: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()

    def __str__(self) -> str:
        return self.text

    @classmethod
    def join(cls, materials: Iterable[Material]) -> Material:
        """Put several of one form into one text, from which `read_material` reads each source, in order.

        Of several forms, messages stand first, or their ids have the form of a tool's results: only where a text begins
        with ``【id】`` does any id in such a line open a source.
        """
        parts = tuple(part for part in materials if part.text)
        return cls(
            _BETWEEN.join(part.text for part in parts),
            tuple(id for part in parts for id in part.ids),
            tuple(change for part in parts for change in part.changes),
        )


def render_tool_result(
    sources: Iterable[Source] | Mapping[str, Source], *, format: CitationFormat = OPENAI
) -> Material:
    """Show sources as the result of a tool, each after its citation marker.

    A source is a line ``Citation Marker:`` with a marker that holds its id; the lines ``Title:``, ``URL:`` and
    ``Updated:``, where known; an empty line; and by its ``unit`` its ``lines``, each with its number as in ``[L1] ``,
    or a label ``[Block1]`` and the text of the ``block``, or the text of the ``document`` alone. One that is not
    citable has the line ``Citation Marker: none``. Its metadata, document and kind are not shown.

    What a source says is made safe, visibly, so that it can neither forge a citation nor pass for another source:
    tokens of the format (the start always, the others if they consist of private-use characters), ``<BLOCK>`` and
    ``</BLOCK>`` in any case, ids as in ``【turn2file1】``, lines that begin with ``[L1]``, ``[Block1]`` or
    ``Citation Marker:``, or that hold only ``【id】``, and line breaks in the title, the URL and the date. Ordinary
    text stays as it is.

    Args:
        sources: what to show, such as a list, a `Sources`, or the ``results`` of a `ToolCall`. A source given twice is
            shown once.
        format: what a marker looks like.

    Returns:
        The text, its ids, and what was made safe. `read_material` takes the text back.

    Raises:
        TypeError: an argument has the wrong type.
        ValueError: a citable source has an id that the format cannot write or that holds a line break, or that of
            another source with other content; the message names it.

    Source: the guide, element 2 (tool result).
    """
    return Material.join(_materials(sources, format, _tool_result))


def render_messages(
    sources: Iterable[Source] | Mapping[str, Source], *, format: CitationFormat = OPENAI
) -> tuple[Material, ...]:
    """Show sources as messages of a tool, one source a message, each with its id as in ``【turn2file1】``.

    This is the form that ``instructions(material="tool")`` describes. The id stands first and alone in its line; what
    follows, and what is made safe, is as in `render_tool_result`. `Material.join` makes one text of several messages.

    Args:
        sources: what to show, as for `render_tool_result`.
        format: what a marker looks like: here, what an id may be, and what must not stand in a text.

    Returns:
        One material a source.

    Raises:
        TypeError, ValueError: as `render_tool_result`.

    Source: the guide, element 2 (tool messages, general form).
    """
    return tuple(_materials(sources, format, _message))


def render_blocks(sources: Iterable[Source] | Mapping[str, Source], *, format: CitationFormat = OPENAI) -> Material:
    """Show sources as blocks of context, each between ``<BLOCK id="block1">`` and ``</BLOCK>``.

    In a block stand the lines ``Title:``, ``URL:`` and ``Updated:`` with an empty line after them, where known, and
    the text as it is, whatever its unit: blocks have no numbered lines. One that is not citable has no id. What is made
    safe is as in `render_tool_result`.

    Args:
        sources: what to show, as for `render_tool_result`.
        format: what a marker looks like: here, what an id may be, and what must not stand in a text.

    Returns:
        The text, its ids, and what was made safe.

    Raises:
        TypeError, ValueError: as `render_tool_result`.

    Source: the guide, element 2 (injected context).
    """
    return Material.join(_materials(sources, format, _block))


# Builds the text of a source that is safe, with the marker that cites it; None if it is not citable.
_Form: TypeAlias = Callable[[Source, str | None], str]


def _materials(
    sources: Iterable[Source] | Mapping[str, Source], format: CitationFormat, form: _Form
) -> Iterator[Material]:
    check_format(format)
    shown: dict[str, Source] = {}
    for source in each_source(sources):
        safe, changes = _make_safe(source, format)
        if not source.citable:
            yield Material(form(safe, None), changes=changes)
        elif source.id not in shown:
            shown[source.id] = source
            if LINE_BREAK.search(source.id):
                raise ValueError(f"id: {source.id!r} holds a line break")
            yield Material(form(safe, marker_of(source.id, format)), (source.id,), changes)
        elif shown[source.id] != source:
            raise ValueError(f"id: {source.id!r} is that of two sources with different content")


def _make_safe(source: Source, format: CitationFormat) -> tuple[Source, tuple[Change, ...]]:
    guard = guard_for(format)
    changes: list[Change] = []

    def note(field: Field, safe: tuple[str, list[Found]]) -> str:
        changes.extend(Change(source.id, field, found.kind, found.times, found.line) for found in safe[1])
        return safe[0]

    def line(field: Field, value: str | None) -> str | None:
        return None if value is None else note(field, guard.line(value))

    title, url, updated = line("title", source.title), line("url", source.url), line("updated", source.updated)
    text = note("text", guard.text(source.text))
    safe = replace(source, title=title, url=url, updated=updated, text=text) if changes else source
    return safe, tuple(changes)


def _tool_result(source: Source, marker: str | None) -> str:
    return f"Citation Marker: {marker or 'none'}\n{write_about(source)}{write_text(source)}"


def _message(source: Source, marker: str | None) -> str:
    if marker is None:
        return _tool_result(source, None)
    return f"【{source.id}】\n{write_about(source)}{write_text(source)}"


def _block(source: Source, marker: str | None) -> str:
    tag = "<BLOCK>" if marker is None else f'<BLOCK id="{source.id}">'
    about = write_about(source)
    # An empty line keeps the text apart from what is said about it, and from what the reader would take for that.
    between = "\n" if about or read_about(source.text)[1] else ""
    return f"{tag}\n{about}{between}{source.text}\n</BLOCK>"
