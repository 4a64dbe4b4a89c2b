"""What a model is told of citing: instructions for a prompt, from a format and the kind of material (guide, element 4).

The wording is this project's own. Each function below the public one writes one section, a rule a line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, product
from typing import Literal, TypeAlias

from .checks import check_choice
from .events import Citation, Reference
from .format import OPENAI, CitationFormat, check_format
from .ids import family_of
from .parser import parse

MaterialForm: TypeAlias = Literal["tool", "tool_lines", "blocks"]
Placement: TypeAlias = Literal["sentence", "paragraph"]
Several: TypeAlias = Literal["one_marker", "separate_markers"]
LocatorUse: TypeAlias = Literal["none", "optional", "required"]
Unsupported: TypeAlias = Literal["say_so", "omit", "answer_uncited"]

DEFAULT_TOOL = "search"
# After these words stands the first id of the text, which is an example and names no source.
EXAMPLE_FOLLOWS = "The id of a source is the first one in its message that has the form "

# Two ids of each kind of material, as the guide writes them, and the placement it recommends there.
_IDS: dict[MaterialForm, tuple[str, str]] = {
    "tool": ("turn2file1", "turn2file2"),
    "tool_lines": ("turn0file1", "turn0file2"),
    "blocks": ("block1", "block2"),
}
_PLACEMENT: dict[MaterialForm, Placement] = {"tool": "paragraph", "tool_lines": "sentence", "blocks": "sentence"}
_LINES: dict[MaterialForm, LocatorUse] = {"tool": "none", "tool_lines": "optional", "blocks": "none"}

# Where a format reads no such id, one that people use is looked for: file-1, doc_01, SRC:0001, 17 and the like.
_NAMES = ("file", "block", "doc", "source", "src", "page", "chunk", "ref", "id", "kb", "f", "b", "d", "s", "p", "c", "")
_CASES = (str.lower, str.title, str.upper)
_SEPARATORS = ("", "-", "_", ".", ":", "/", "#")
_ENDINGS = (*((f"{1:0{width}}", f"{2:0{width}}") for width in range(1, 9)), ("a", "b"), ("A", "B"))

# Lines 8 to 13, and line 42 alone: the forms of a format's locator, the guide's first.
_LOCATORS = (
    *product(("L8-L13", "L8-13", "L8–L13", "L8–13"), ("L42", "L42-L42", "L42-42", "L42–L42", "L42–42")),
    *product(("8-13", "8–13"), ("42", "42-42", "42–42")),
)


def instructions(
    format: CitationFormat = OPENAI,
    *,
    material: MaterialForm = "tool",
    tool: str = DEFAULT_TOOL,
    placement: Placement | None = None,
    several: Several | None = None,
    lines: LocatorUse | None = None,
    unsupported: Unsupported = "say_so",
    considerations: bool = False,
) -> str:
    """Write the part of a prompt that tells a model how to cite.

    What is left out has the value that OpenAI's citation guide recommends for the material. The text is Markdown, a
    rule a line, the same for the same arguments. ``parse(text, format=format)`` finds each marker in it as a citation.

    Args:
        format: what a marker looks like; its tokens stand in every example.
        material: how the sources are shown to the model. ``"tool"``: messages of a tool, each with its id as
            ``【turn2file1】``. ``"tool_lines"``: tool results that begin with a line ``Citation Marker:``; their lines
            may be numbered. ``"blocks"``: ``<BLOCK id="block1">`` tags in the context.
        tool: the name of the tool that gives the sources, printable and without a backtick. Injected blocks have none.
        placement: where a marker stands: at the end of the ``"sentence"`` that it supports, or of the ``"paragraph"``.
            By default the latter for ``"tool"``, else the former.
        several: how several sources for one text are cited: in ``"one_marker"`` (the default for ``"tool"`` without
            lines), or in ``"separate_markers"`` (for all else).
        lines: whether a marker names lines, which must then be shown as ``[L1]``, ``[L2]`` …: ``"none"``,
            ``"optional"`` (the default for ``"tool_lines"``) or ``"required"``.
        unsupported: what to do with a statement that no source supports: ``"say_so"``, ``"omit"`` it, or
            ``"answer_uncited"``.
        considerations: whether to add what to consider when choosing sources, for stricter grounding.

    Returns:
        The instructions, without a newline at the end.

    Raises:
        TypeError: ``format`` is not a `CitationFormat`.
        ValueError: an argument has no meaning, or none beside the others (``lines`` with blocks, ``tool`` with blocks,
            ``several="one_marker"`` with required lines, as a marker of the guide holds one locator, its last field);
            or the format leaves no room for an example. The message begins with the name of the argument, or of the
            field of the format.

    Source: the guide, element 4; for the forms of material, element 2.
    """
    check_format(format)
    check_choice("material", material, MaterialForm)
    lines = _LINES[material] if lines is None else lines
    placement = _PLACEMENT[material] if placement is None else placement
    if several is None:
        several = "one_marker" if (material, lines) == ("tool", "none") else "separate_markers"
    check_choice("placement", placement, Placement)
    check_choice("several", several, Several)
    check_choice("lines", lines, LocatorUse)
    check_choice("unsupported", unsupported, Unsupported)
    if not isinstance(considerations, bool):
        raise ValueError(f"considerations: must be True or False, not {considerations!r}")
    _check_tool(tool, material)
    if material == "blocks" and lines != "none":
        raise ValueError(f"lines: must be 'none' with material='blocks', which has no numbered lines, not {lines!r}")
    if several == "one_marker" and lines == "required":
        raise ValueError("several: must be 'separate_markers' with lines='required': a marker holds one range of lines")
    return _write(_Task(format, material, tool, placement, several, lines, unsupported, considerations))


@dataclass(slots=True)
class _Task:
    """Hold the checked arguments, the examples that the format allows, and what was shown of them."""

    format: CitationFormat
    material: MaterialForm
    tool: str
    placement: Placement
    several: Several
    lines: LocatorUse
    unsupported: Unsupported
    considerations: bool
    family: str = field(init=False)
    ids: tuple[str, str] = field(init=False)
    locators: tuple[str | None, str | None] = field(init=False)
    shown: list[tuple[Reference, ...]] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.family = family_of(self.format)
        if not self.family:
            raise ValueError("families: there is none in this format, so that nothing can be cited")
        self.ids = self._find_ids()
        self.locators = (None, None) if self.lines == "none" else self._find_locators()

    @property
    def unit(self) -> str:
        return "block" if self.material == "blocks" else "source"

    @property
    def carried(self) -> str:
        return "citation marker" if self.material == "tool_lines" else "source id"

    def marker(self, *references: Reference) -> str:
        """Give the marker of an example that is shown next."""
        self.shown.append(references)
        return self.format.write(references, self.family)

    def _find_ids(self) -> tuple[str, str]:
        for ids in chain([_IDS[self.material]], _usual_ids()):
            first, second = map(Reference, ids)
            # Each alone too, since the end of an id may make a token with what follows it.
            if self._can_write(first, second) and self._can_write(first) and self._can_write(second):
                return ids
        raise ValueError(
            f"source_id: no id was found to show that markers of this format hold: {self.format.source_id!r}"
        )

    def _find_locators(self) -> tuple[str, str]:
        first, second = self.ids
        for several, one in _LOCATORS:
            if self._can_write(Reference(first, several)) and self._can_write(Reference(second, one)):
                return several, one
        raise ValueError(f"locator: markers of this format hold no range of lines as L8-L13: {self.format.locator!r}")

    def _can_write(self, *references: Reference) -> bool:
        try:
            return bool(self.format.write(references, self.family))
        except ValueError:
            return False


def _usual_ids() -> Iterator[tuple[str, str]]:
    for name, case, separator, (first, second) in product(_NAMES, _CASES, _SEPARATORS, _ENDINGS):
        yield case(name) + separator + first, case(name) + separator + second


def _check_tool(tool: str, material: MaterialForm) -> None:
    if not isinstance(tool, str) or not tool.isprintable() or "`" in tool or tool != tool.strip() or not tool:
        raise ValueError(f"tool: must be the name of a tool, printable and without a backtick, not {tool!r}")
    if material == "blocks" and tool != DEFAULT_TOOL:
        raise ValueError(f"tool: injected blocks come from no tool, such as {tool!r}")


def _write(task: _Task) -> str:
    sections: list[tuple[str, Sequence[str]]] = [
        ("Sources", _sources(task)),
        ("The marker", _marker(task)),
        ("Several sources", _several(task)),
        ("Placement", _placement(task)),
        ("When to cite", _when(task)),
        ("Never", _never(task)),
    ]
    if task.considerations:
        sections.append(("Choosing sources", _CONSIDERATIONS))
    written = (f"## {title}\n\n" + "\n".join(f"- {rule}" for rule in rules) for title, rules in sections)
    text = "\n\n".join(["# Citations", *written])
    citations = [event for event in parse(text, format=task.format) if isinstance(event, Citation)]
    # The words round a marker may hold the format's tokens, as those of the answers will.
    if [(event.references, event.repaired) for event in citations] != [(shown, False) for shown in task.shown]:
        tokens = ", ".join(map(repr, task.format.tokens))
        raise ValueError(f"format: its tokens run into the words of the text: {tokens}")
    return text


def _sources(task: _Task) -> list[str]:
    id = task.ids[0]
    if task.material == "blocks":
        return [
            "Your sources are the blocks of the context that you were given: each `<BLOCK>` tag holds one block.",
            "The id of a block is the `id` attribute of the first such tag, the one that opens the block.",
            f'So the id of <BLOCK id="{id}"> is {id}.',
            "What stands outside these tags is not meant to be cited.",
        ]
    rules = [f"Your sources are the results of the tool `{task.tool}`: each message of the tool is one source."]
    if task.material == "tool":
        rules += [
            f"{EXAMPLE_FOLLOWS}【{id}】.",
            f"So the id of a source with 【{id}】 is {id}, without the brackets.",
        ]
    else:
        rules += [
            f"{EXAMPLE_FOLLOWS}{id}.",
            f'It stands in a marker behind the words "Citation Marker:", such as {task.marker(Reference(id))}',
        ]
    if task.lines != "none":
        rules.append("Each line of a text begins with its number: [L1], [L2] and so on.")
    elif task.material == "tool_lines":
        rules.append("A label in front of a text or a line, such as [Block1] or [L1], is no id and is not cited.")
    return [*rules, f"A result that carries no {task.carried} is not meant to be cited."]


def _marker(task: _Task) -> list[str]:
    (first, second), (span, one) = task.ids, task.locators
    rules = []
    if task.lines != "required":
        marker = task.marker(Reference(first))
        rules.append(f"To cite one {task.unit} take exactly this form, here for {first}: {_SENTENCES[0]}{marker}")
    if task.lines != "none":
        marker, here = task.marker(Reference(first, span)), f"here for lines 8 to 13 of {first}"
        rules.append(f"To cite lines of one source take exactly this form, {here}: {_SENTENCES[0]}{marker}")
        marker, here = task.marker(Reference(second, one)), f"here for line 42 of {second}"
        rules.append(f"To cite a single line take exactly this form, {here}: {_SENTENCES[1]}{marker}")
        rules.append(_LINES_RULE[task.lines])
    varies = "the id" if task.lines == "none" else "the id and the range of lines"
    return [
        *rules,
        f"In a marker only {varies} may differ from this form. Copy an id as it was given.",
        f'Copy every other character as it stands here, also the special ones round "{task.family}".',
    ]


def _several(task: _Task) -> list[str]:
    unit = task.unit
    first, second = map(Reference, task.ids, task.locators if task.lines == "required" else (None, None))
    rule = f"Where several {unit}s support the same text, write "
    if task.several == "separate_markers":
        markers = task.marker(first) + task.marker(second)
        return [rule + f"one marker for each {unit}, one right behind the other: {_SENTENCES[2]}{markers}"]
    marker = task.marker(first, second)
    rules = [rule + f"one marker with their ids, one after the other: {_SENTENCES[2]}{marker}"]
    if task.lines == "optional":
        rules.append("A marker with a range of lines names one source only: give each source that needs one its own.")
    return rules


def _placement(task: _Task) -> list[str]:
    return [
        *_PLACEMENT_RULES[task.placement],
        "Put it after punctuation, never before: behind the full stop or the comma that ends what it supports.",
        "Put no marker in bold or italic text, in code or a code fence, nor on the line that closes a code fence.",
        "Do not gather the markers all together at the end of the answer.",
        "A marker never stands alone in a line or a paragraph.",
    ]


def _when(task: _Task) -> list[str]:
    unit = task.unit
    rules = [
        f"Cite all {unit}s that materially support a statement.",
        f"Cite only {unit}s that directly support the text in front of the marker.",
    ]
    if task.lines != "none":
        rules.append(f"Every result that you use must be cited, but only where it carries a {task.carried}.")
    return [
        *rules,
        f"Cite nothing for what rests on no {unit}, such as a greeting, a question, or your own reasoning.",
        f"Where {unit}s disagree, cite both and describe the disagreement accurately.",
        f"Where no {unit} supports a statement{_UNSUPPORTED[task.unsupported]}",
    ]


def _never(task: _Task) -> list[str]:
    invented = ["an id", *["a range of lines"] * (task.lines != "none"), *["a block"] * (task.material != "tool")]
    rules = [f"Never invent {' or '.join(invented)}."]
    if task.material == "blocks":
        rules.append("Cite only blocks of the given context, never outside knowledge or outside authorities.")
    brackets = f", nor in brackets such as 【{task.ids[0]}】" if task.material == "tool" else ""
    return [
        *rules,
        f"Never write an id in the text outside a marker{brackets}.",
        "Never cite in another way, such as numbers in brackets, footnotes, or a list of sources.",
    ]


_SENTENCES = ("The reading room closes at nine.", "Members may bring a guest.", "Entry is free on Sundays.")

_LINES_RULE: dict[LocatorUse, str] = {
    "optional": "The range of lines is optional: add it where a short passage supports the text, else leave it out.",
    "required": "The range of lines is mandatory: write no marker without one.",
}

_PLACEMENT_RULES: dict[Placement, tuple[str, ...]] = {
    "sentence": (
        "Put a marker at the end of the sentence that it supports.",
        "In a long sentence with several supported clauses put it inline, right behind the clause that it supports.",
    ),
    "paragraph": (
        "Put a marker at the end of the paragraph that it supports.",
        "In a long paragraph put it inline, right behind the sentence that it supports.",
        "Where the user asks for a specific placement, follow that instead.",
    ),
}

_UNSUPPORTED: dict[Unsupported, str] = {
    "say_so": " that the answer needs, say so in the answer, without a marker.",
    "omit": ", leave the statement out.",
    "answer_uncited": ", you may still make it from your own knowledge, without a marker.",
}

_CONSIDERATIONS = (
    "Relevance: cite only what bears on the question. Irrelevant sources destroy trust in all the others.",
    "Diversity: draw on several domains rather than on one.",
    "Trustworthiness: cite a less reputable domain only where it is the only source.",
    "Accuracy: represent each source accurately and as a whole. Do not read it selectively.",
    "Context: how good a source is depends on the question that it is to answer.",
    "Viewpoints: cover the whole spectrum, with one high-quality source for each major viewpoint.",
    "Debate: do so also where reliable sources disagree or the matter is debated.",
    "Recognition: take more than half of the citations from widely recognised outlets.",
    "Completeness: do not ignore a relevant source because it is of low quality.",
)
