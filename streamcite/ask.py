"""From documents and a question to what a model is asked: units, choice, material, instructions. Pure.

It only composes the parts of this library, to be copied where an application needs other ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from .checks import check_choice
from .choose import DEFAULT_BUDGET, choose
from .files import Document
from .format import OPENAI, CitationFormat
from .material import render_blocks, render_messages, render_tool_result
from .prompt import DEFAULT_TOOL, MaterialForm, instructions
from .source import Source, SourceUnit
from .sources import SourceFields, Sources
from .surrogates import replace_surrogates
from .units import DEFAULT_SIZE, split_blocks

_SIZES: Mapping[SourceUnit, int] = {"block": DEFAULT_SIZE, "lines": 10 * DEFAULT_SIZE}
# How a unit is best shown: the guide's recommendation for blocks; lines need their numbers.
_FORMS: Mapping[SourceUnit, MaterialForm] = {"block": "blocks", "document": "tool", "lines": "tool_lines"}


@dataclass(frozen=True, slots=True)
class Asked:
    """What a model is asked, and what it may cite.

    Attributes:
        question: the user's.
        sources: all that there are; those shown are marked so.
        shown: those that the model is shown.
        system: what the system says: how to cite, and blocks of context.
        results: what the tool said, for material that is a tool's; one a message.
    """

    question: str
    sources: Sources
    shown: tuple[Source, ...]
    system: str
    results: tuple[str, ...]

    @property
    def messages(self) -> list[dict[str, Any]]:
        """Give the ``messages`` of a chat completion."""
        calls = [
            {"id": _call_id(number), "type": "function", "function": {"name": DEFAULT_TOOL, "arguments": self._query}}
            for number in range(len(self.results))
        ]
        return [
            {"role": "system", "content": self.system},
            {"role": "user", "content": self.question},
            *([{"role": "assistant", "tool_calls": calls}] if calls else []),
            *(
                {"role": "tool", "tool_call_id": _call_id(number), "content": result}
                for number, result in enumerate(self.results)
            ),
        ]

    @property
    def input(self) -> list[dict[str, Any]]:
        """Give the ``input`` of the Responses API."""
        calls = [
            {"type": "function_call", "call_id": _call_id(number), "name": DEFAULT_TOOL, "arguments": self._query}
            for number in range(len(self.results))
        ]
        return [
            {"role": "system", "content": self.system},
            {"role": "user", "content": self.question},
            *calls,
            *(
                {"type": "function_call_output", "call_id": _call_id(number), "output": result}
                for number, result in enumerate(self.results)
            ),
        ]

    @property
    def _query(self) -> str:
        return json.dumps({"query": self.question})


def prepare(
    question: str,
    documents: Iterable[Document],
    *,
    unit: SourceUnit = "block",
    size: int | None = None,
    budget: int = DEFAULT_BUDGET,
    material: MaterialForm | None = None,
    sources: Sources | None = None,
    format: CitationFormat = OPENAI,
) -> Asked:
    """Make sources of documents, choose those that a question needs, and write what a model is asked.

    Args:
        question: the user's. Surrogates, which no message can hold, are replaced.
        documents: such as those of `read_file`; each is read when its turn comes.
        unit: as what they are cited: as ``block``s of at most ``size`` code points, by the ``lines`` of these, or each
            ``document`` as a whole.
        size: of a block, in code points; by default 2,000, and 20,000 where lines are cited, so that most files are
            whole and their lines have the numbers that they have in the file.
        budget: the most code points of text that are shown, see `choose`.
        material: how sources are shown; by default ``blocks`` for blocks, ``tool_lines`` for lines, ``tool`` for
            documents.
        sources: where sources are added, under keys that stay, such as ``handbook.md#3``; by default a new registry.
        format: what a marker looks like.

    Returns:
        What is asked. Its ids are the same for the same documents, whatever the question; with a registry that is kept
        also where others come and go.

    Raises:
        TypeError: ``documents`` gives something else, such as names of files.
        ValueError: an argument has no meaning, or none beside the others (``lines`` have no numbers in ``blocks``).
        ModuleNotFoundError: a document is Markdown, and markdown-it-py is missing; the extra ``markdown`` brings it.

    Source: the guide, elements 1, 2 and 4.
    """
    check_choice("unit", unit, SourceUnit)
    form = _FORMS[unit] if material is None else material
    if form == "blocks" and unit == "lines":
        raise ValueError("material: 'blocks' have no numbered lines; take 'tool_lines' with unit='lines'")
    question = replace_surrogates(question)[0]
    sources = Sources(format) if sources is None else sources
    call = sources.tool_call() if form != "blocks" else None
    units: list[Source] = []
    for document in documents:
        if not isinstance(document, Document):
            raise TypeError(f"documents: must be what read_file gives, not {type(document).__name__}")
        for number, part in enumerate(_parts(document, unit, size)):
            key = f"{document.key}#{number}"
            about: SourceFields = {"title": part.title, "metadata": {"path": document.key, "line": part.line}}
            if call is None:
                units.append(sources.add_block(part.text, key=key, **about))
            else:
                units.append(call.add(part.text, key=key, unit=unit, **about))
    shown = tuple(choose(units, question, budget=budget))
    sources.mark_shown(*(source.id for source in shown))
    told = instructions(format, material=form, lines="optional" if unit == "lines" else None)
    if form == "blocks":
        return Asked(question, sources, shown, f"{told}\n\n{render_blocks(shown, format=format)}", ())
    if form == "tool_lines":
        return Asked(question, sources, shown, told, (render_tool_result(shown, format=format).text,))
    return Asked(question, sources, shown, told, tuple(m.text for m in render_messages(shown, format=format)))


class _Part(NamedTuple):
    """A unit of a document; ``line`` is the number of its first line there, from 1."""

    text: str
    title: str
    line: int


def _parts(document: Document, unit: SourceUnit, size: int | None) -> Iterator[_Part]:
    if unit == "document":
        yield _Part(document.text, document.title, 1)
        return
    line = 1
    size = _SIZES[unit] if size is None else size
    for number, block in enumerate(split_blocks(document.text, size=size, markdown=document.markdown), 1):
        title = document.title
        if len(block.text) < len(document.text):
            where = document.lines(line, line + block.text.rstrip().count("\n"))
            # The lines that are cited of it are counted from its own first one.
            title += f", part {number} ({where})" if unit == "lines" else f", {where}"
        yield _Part(block.text, title, line)
        line += block.text.count("\n")


def _call_id(number: int) -> str:
    return f"call_{number}"
