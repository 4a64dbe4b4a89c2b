"""Instructions for a prompt: every line of the guide's element 4 in every variant, and examples that the parser reads.

The folder `prompts` holds one text a variant, with its private-use characters escaped. After a change of the wording
``python -m tests.test_prompt`` writes them anew; the diff is what to review.
"""

import itertools
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import CHATGPT, OPENAI, Citation, CitationFormat, Reference, instructions, parse
from tests import strategies as sc

FOLDER = Path(__file__).parent / "prompts"
TAGS = CitationFormat(start="<|cite_start|>", delimiter="<|sep|>", stop="<|cite_stop|>", families=("ref",))

VARIANTS: dict[str, dict[str, Any]] = {
    "tool": {},
    "tool-lines": {"material": "tool_lines"},
    "blocks": {"material": "blocks"},
    "tool-required-omit": {"lines": "required", "unsupported": "omit", "placement": "sentence", "tool": "find_pages"},
    "tool-lines-none-considerations": {"material": "tool_lines", "lines": "none", "considerations": True},
    "tool-lines-one-marker": {"material": "tool_lines", "several": "one_marker"},
    "tool-lines-required": {"material": "tool_lines", "lines": "required"},
    "blocks-paragraph-one-marker-uncited": {
        "material": "blocks",
        "placement": "paragraph",
        "several": "one_marker",
        "unsupported": "answer_uncited",
    },
    "tags": {"format": TAGS, "material": "tool_lines"},
}


def readable(text: str) -> str:
    """Escape what no editor shows."""
    return "".join(ascii(c)[1:-1] if unicodedata.category(c) == "Co" else c for c in text) + "\n"


@pytest.mark.parametrize("name", VARIANTS)
def test_snapshot(name: str) -> None:
    assert (FOLDER / f"{name}.txt").read_text("utf-8") == readable(instructions(**VARIANTS[name]))


def test_there_is_no_other_snapshot() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.txt" for name in VARIANTS}


# The guide, line by line

CHOICES: dict[str, tuple[Any, ...]] = {
    "material": ("tool", "tool_lines", "blocks"),
    "placement": ("sentence", "paragraph"),
    "several": ("one_marker", "separate_markers"),
    "lines": ("none", "optional", "required"),
    "unsupported": ("say_so", "omit", "answer_uncited"),
    "considerations": (False, True),
}


def meaningful(options: dict[str, Any]) -> bool:
    return not (options["material"] == "blocks" and options["lines"] != "none") and not (
        options["several"] == "one_marker" and options["lines"] == "required"
    )


PRODUCT = (dict(zip(CHOICES, values, strict=True)) for values in itertools.product(*CHOICES.values()))
EVERY = [options for options in PRODUCT if meaningful(options)]
TEXTS = [(options, instructions(**options)) for options in EVERY]

TOOL, LINES, BLOCKS = {"material": "tool"}, {"material": "tool_lines"}, {"material": "blocks"}
RANGES = {"lines": "optional required"}
BARE = {"lines": "none optional"}
CITE, STOP, L8 = "\ue200cite\ue202", "\ue201", "\ue202L8-L13\ue201"
FORM, NINE = "exactly this form, here for", "The reading room closes at nine."

# Where rules must stand (anywhere else they must not); and the rules of the guide, each in this project's words.
RULES: list[tuple[dict[str, str], list[tuple[str, str]]]] = [
    # The table, and what holds of all
    (
        TOOL,
        [
            ("where the id stands", "the first one in its message that has the form 【turn2file1】."),
            ("no id outside a marker", "nor in brackets such as 【turn2file1】."),
            ("what carries no marker", "A result that carries no source id is not meant to be cited."),
        ],
    ),
    (
        {"material": "tool tool_lines"},
        [("which tool", "the results of the tool `search`: each message of the tool is one source.")],
    ),
    (TOOL | BARE, [("single source", f"{FORM} turn2file1: {NINE}{CITE}turn2file1{STOP}\n")]),
    (TOOL | {"several": "one_marker"}, [("several sources", f"{CITE}turn2file1\ue202turn2file2{STOP}\n")]),
    (TOOL | {"lines": "none"}, [("never invented", "Never invent an id.")]),
    (
        LINES,
        [
            ("where the id stands", "the first one in its message that has the form turn0file1."),
            ("where the id stands", f'behind the words "Citation Marker:", such as {CITE}turn0file1{STOP}\n'),
            ("what carries no marker", "A result that carries no citation marker is not meant to be cited."),
        ],
    ),
    (LINES | BARE, [("single source", f"{FORM} turn0file1: {NINE}{CITE}turn0file1{STOP}\n")]),
    (LINES | RANGES, [("never invented", "Never invent an id or a range of lines or a block.")]),
    (
        BLOCKS,
        [
            ("which tag", "the blocks of the context that you were given: each `<BLOCK>` tag holds one block."),
            ("where the id stands", "The id of a block is the `id` attribute of the first such tag"),
            ("where the id stands", 'So the id of <BLOCK id="block1"> is block1.'),
            ("single source", f"{FORM} block1: {NINE}{CITE}block1{STOP}\n"),
            (
                "only the context",
                "Cite only blocks of the given context, never outside knowledge or outside authorities.",
            ),
            ("what carries no marker", "What stands outside these tags is not meant to be cited."),
        ],
    ),
    (BLOCKS | {"several": "separate_markers"}, [("several sources", "one marker for each block, ")]),
    ({"material": "tool_lines blocks", "lines": "none"}, [("never invented", "Never invent an id or a block.")]),
    (
        {"several": "one_marker"},
        [("several sources", "support the same text, write one marker with their ids, one after the other: ")],
    ),
    ({"several": "separate_markers"}, [("several sources", "support the same text, write one marker for each ")]),
    (
        {"placement": "sentence"},
        [
            ("placement", "Put a marker at the end of the sentence that it supports."),
            ("placement", "In a long sentence with several supported clauses put it inline"),
        ],
    ),
    (
        {"placement": "paragraph"},
        [
            ("placement", "Put a marker at the end of the paragraph that it supports."),
            ("placement", "In a long paragraph put it inline"),
            ("placement", "Where the user asks for a specific placement, follow that instead."),
        ],
    ),
    (
        {},
        [
            ("not in emphasis", "Put no marker in bold or italic text, "),
            ("not in code", "in code or a code fence, "),
            ("not behind a fence", "nor on the line that closes a code fence."),
            ("not all at the end", "Do not gather the markers all together at the end of the answer."),
            ("not alone", "A marker never stands alone in a line or a paragraph."),
            ("after punctuation", "Put it after punctuation, never before"),
            ("no id outside a marker", "Never write an id in the text outside a marker"),
            ("all that support", "s that materially support a statement."),
            ("only what supports", "s that directly support the text in front of the marker."),
            ("never invented", "Never invent an id"),
            ("disagreement", "s disagree, cite both and describe the disagreement accurately."),
            # What instructions must define beyond these
            ("exact syntax", "Copy every other character as it stands here"),
            ("when not to cite", "Cite nothing for what rests on no "),
            ("forbidden", "Never cite in another way"),
        ],
    ),
    ({"unsupported": "say_so"}, [("nothing supports", "say so in the answer, without a marker.")]),
    ({"unsupported": "omit"}, [("nothing supports", ", leave the statement out.")]),
    (
        {"unsupported": "answer_uncited"},
        [("nothing supports", "you may still make it from your own knowledge, without a marker.")],
    ),
    # Where locators are wanted
    (
        RANGES,
        [
            ("numbered lines", "Each line of a text begins with its number: [L1], [L2] and so on."),
            ("exact form of one line", f"\ue202L42{STOP}\n"),
            ("every result used", "Every result that you use must be cited, but only where it carries a "),
        ],
    ),
    (TOOL | RANGES, [("exact range", f"lines 8 to 13 of turn2file1: {NINE}{CITE}turn2file1{L8}\n")]),
    (LINES | RANGES, [("exact range", f"lines 8 to 13 of turn0file1: {NINE}{CITE}turn0file1{L8}\n")]),
    (LINES | {"lines": "none"}, [("labels", "such as [Block1] or [L1], is no id and is not cited.")]),
    ({"lines": "optional"}, [("optional", "The range of lines is optional")]),
    ({"lines": "required"}, [("mandatory", "The range of lines is mandatory")]),
    (
        {"lines": "optional", "several": "one_marker"},
        [("one locator a marker", "A marker with a range of lines names one source only")],
    ),
    # Considerations
    (
        {"considerations": "True"},
        [
            ("relevance", "Irrelevant sources destroy trust"),
            ("diversity", "draw on several domains"),
            ("trustworthiness", "a less reputable domain only where it is the only source."),
            ("accuracy", "represent each source accurately and as a whole. Do not read it selectively."),
            ("context", "how good a source is depends on the question"),
            ("viewpoints", "the whole spectrum, with one high-quality source for each major viewpoint."),
            ("debate", "also where reliable sources disagree or the matter is debated."),
            ("recognition", "more than half of the citations from widely recognised outlets."),
            ("low quality", "do not ignore a relevant source because it is of low quality."),
        ],
    ),
]


@pytest.mark.parametrize(
    ("where", "words"),
    [pytest.param(where, words, id=f"{rule}: {words}") for where, rows in RULES for rule, words in rows],
)
def test_a_rule_of_the_guide(where: dict[str, str], words: str) -> None:
    for options, text in TEXTS:
        wanted = all(str(options[name]) in values.split() for name, values in where.items())
        assert (words in text + "\n") == wanted, options


# What one kind of material has must not be told of another.
FOREIGN = {
    "tool": ("BLOCK", "block", "turn0", "Citation Marker"),
    "tool_lines": ("BLOCK", "【", "turn2"),
    "blocks": ("turn", "【", "Citation Marker", "[L1]", "lines", "L8", "tool"),
}


def test_nothing_of_another_variant() -> None:
    for options, text in TEXTS:
        assert [word for word in FOREIGN[options["material"]] if word in text] == []
        assert options["lines"] != "none" or not re.search(r"\bL8|\branges?\b", text)
        assert text.count("search") == (options["material"] != "blocks")


def test_every_option_counts() -> None:
    assert len({text for _, text in TEXTS}) == len(EVERY)


def test_a_rule_is_a_line_and_stands_once() -> None:
    for _, text in TEXTS:
        lines = list(filter(None, text.split("\n")))
        assert all(re.match("#{1,2} [A-Z][a-z ]+$|- [A-Z]", line) for line in lines)
        assert len(lines) == len(set(lines))


def test_the_defaults_are_the_guides_three_variants() -> None:
    tool = {"placement": "paragraph", "several": "one_marker", "lines": "none"}
    lines = {"placement": "sentence", "several": "separate_markers", "lines": "optional"}
    blocks = {"placement": "sentence", "several": "separate_markers", "lines": "none"}
    assert instructions() == instructions(OPENAI, material="tool", tool="search", unsupported="say_so", **tool)  # type: ignore[arg-type]
    assert instructions(material="tool_lines") == instructions(material="tool_lines", **lines)  # type: ignore[arg-type]
    assert instructions(material="blocks") == instructions(material="blocks", **blocks)  # type: ignore[arg-type]
    # A marker holds one range of lines, so that several sources with lines take several markers.
    for wanted in ("optional", "required"):
        assert instructions(lines=wanted) == instructions(lines=wanted, several="separate_markers")


# Examples


def expected(options: dict[str, Any], ids: tuple[str, str], locators: tuple[str, str]) -> list[tuple[Reference, ...]]:
    """The references of every example, in order."""
    first, second = map(Reference, ids)
    several = (first, second)
    shown = [(first,)] * (options["material"] == "tool_lines") + [(first,)] * (options["lines"] != "required")
    if options["lines"] != "none":
        ranged = Reference(ids[0], locators[0]), Reference(ids[1], locators[1])
        shown += [(reference,) for reference in ranged]
        several = ranged if options["lines"] == "required" else several
    return shown + ([several] if options["several"] == "one_marker" else [(reference,) for reference in several])


def check_examples(
    fmt: CitationFormat, options: dict[str, Any], ids: tuple[str, str], locators: tuple[str, str]
) -> None:
    text = instructions(fmt, **options)
    shown = expected(options, ids, locators)
    events = [event for event in parse(text, format=fmt) if isinstance(event, Citation)]
    assert [event.references for event in events] == shown
    assert not any(event.repaired for event in events)
    # Each is what the format writes, and no other private-use character stands in the text.
    rest = text
    for references in shown:
        marker = fmt.write(references, "cite" if "cite" in fmt.families else fmt.families[0])
        assert marker in rest
        rest = rest.replace(marker, "", 1)
    assert not any(unicodedata.category(character) == "Co" for character in rest)


IDS = {
    "tool": ("turn2file1", "turn2file2"),
    "tool_lines": ("turn0file1", "turn0file2"),
    "blocks": ("block1", "block2"),
}


@pytest.mark.parametrize("fmt", [OPENAI, CHATGPT, TAGS], ids=["openai", "chatgpt", "tags"])
def test_every_example_parses(fmt: CitationFormat) -> None:
    for options in EVERY:
        check_examples(fmt, options, IDS[options["material"]], ("L8-L13", "L42"))


def test_an_example_stands_where_the_rules_want_it() -> None:
    for _, text in TEXTS:
        for event in parse(text):
            if isinstance(event, Citation):
                assert text[: event.start].endswith((".", "\ue201", '"Citation Marker:", such as '))


def test_a_family_of_its_own() -> None:
    for families, family in ((("ref", "cite"), "cite"), (("ref", "note"), "ref")):
        fmt = CitationFormat(families=families)
        text = instructions(fmt)
        assert {event.family for event in parse(text, format=fmt) if isinstance(event, Citation)} == {family}
        assert f'the special ones round "{family}".' in text


@pytest.mark.parametrize(
    ("source_id", "ids"),
    [
        ("file[0-9]", ("file1", "file2")),
        ("[0-9]+", ("1", "2")),
        ("[A-Z]-[0-9]{4}", ("F-0001", "F-0002")),
        ("doc_[0-9]{2}", ("doc_01", "doc_02")),
        ("(?:KB|SRC)[0-9]{3}", ("SRC001", "SRC002")),
        ("Page:[0-9]", ("Page:1", "Page:2")),
        ("[a-z]", ("a", "b")),
    ],
)
def test_ids_that_the_format_reads(source_id: str, ids: tuple[str, str]) -> None:
    fmt = CitationFormat(source_id=source_id)
    for options in EVERY[::23]:
        check_examples(fmt, options, ids, ("L8-L13", "L42"))
    # The form that is named is the one that is shown.
    assert f"【{ids[0]}】" in instructions(fmt)
    assert f'<BLOCK id="{ids[0]}">' in instructions(fmt, material="blocks")


@pytest.mark.parametrize(
    ("locator", "locators"),
    [
        ("L[0-9]+-L[0-9]+", ("L8-L13", "L42-L42")),
        ("L[0-9]+(?:-[0-9]+)?", ("L8-13", "L42")),
        ("[0-9]+–[0-9]+", ("8–13", "42–42")),
        ("[0-9]+(?:-[0-9]+)?", ("8-13", "42")),
    ],
)
def test_lines_that_the_format_reads(locator: str, locators: tuple[str, str]) -> None:
    fmt = CitationFormat(locator=locator)
    for options in EVERY:
        check_examples(fmt, options, IDS[options["material"]], locators)


# What cannot be said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"material": "lines"}, "material: must be one of 'tool', 'tool_lines', 'blocks', not 'lines'"),
        ({"material": None}, "material: must be one of "),
        ({"material": []}, "material: must be one of "),
        ({"placement": "line"}, "placement: must be one of 'sentence', 'paragraph', not 'line'"),
        ({"several": "both"}, "several: must be one of 'one_marker', 'separate_markers', not 'both'"),
        ({"lines": True}, "lines: must be one of 'none', 'optional', 'required', not True"),
        ({"unsupported": None}, "unsupported: must be one of 'say_so', 'omit', 'answer_uncited', not None"),
        ({"considerations": 1}, "considerations: must be True or False, not 1"),
        ({"tool": ""}, "tool: must be the name of a tool"),
        ({"tool": "a\nb"}, "tool: must be the name of a tool"),
        ({"tool": "a`b"}, "tool: must be the name of a tool"),
        ({"tool": " a"}, "tool: must be the name of a tool"),
        ({"tool": "\ue200"}, "tool: must be the name of a tool"),
        ({"tool": None}, "tool: must be the name of a tool"),
        ({"material": "blocks", "tool": "find"}, "tool: injected blocks come from no tool"),
        ({"material": "blocks", "lines": "optional"}, "lines: must be 'none' with material='blocks'"),
        ({"material": "blocks", "lines": "required"}, "lines: must be 'none' with material='blocks'"),
        ({"lines": "required", "several": "one_marker"}, "several: must be 'separate_markers' with lines='required'"),
        ({"format": CitationFormat(families=())}, "families: "),
        ({"format": CitationFormat(source_id="secret")}, "source_id: "),
        # Either the first id or the second would end in the beginning of the stop.
        ({"format": CitationFormat(source_id="file[12]", stop="11")}, "source_id: "),
        ({"format": CitationFormat(source_id="file[12]", stop="22")}, "source_id: "),
        ({"format": CitationFormat(field_chars="#")}, "source_id: "),
        ({"format": CitationFormat(locator="p[0-9]+"), "lines": "optional"}, "locator: "),
        ({"format": CitationFormat(start="..")}, "format: its tokens run into the words of the text: '..', "),
        ({"format": TAGS, "tool": "<|cite_start|>ref<|sep|>a<|cite_stop|>"}, "format: its tokens run into the words"),
    ],
    ids=str,
)
def test_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(message)):
        instructions(**options)


def test_a_format_that_is_none() -> None:
    with pytest.raises(TypeError, match="format: must be a CitationFormat, not str"):
        instructions("openai")  # type: ignore[arg-type]


def test_a_format_without_ranges_can_do_without() -> None:
    fmt = CitationFormat(locator="p[0-9]+")
    assert "Citation Marker" in instructions(fmt, material="tool_lines", lines="none")


# Any options and any format

GUIDE_IDS = list(itertools.chain(*IDS.values()))


def can_write(fmt: CitationFormat) -> bool:
    """Whether this format writes the guide's own examples, with tokens that no English text resembles."""
    if any(character.isascii() for character in "".join(fmt.tokens)):
        return False
    try:
        for id in GUIDE_IDS:
            fmt.write([Reference(id, "L8-L13"), Reference(id, "L42")], fmt.families[0])
    except ValueError:
        return False
    return True


@given(sc.formats(), st.sampled_from(EVERY), st.sampled_from(["search", "file_search", "mcp/find.pages"]))
def test_any_format(args: sc.FormatArgs, options: dict[str, Any], tool: str) -> None:
    fmt = CitationFormat(**args)
    if options["material"] != "blocks":
        options = options | {"tool": tool}
    try:
        text = instructions(fmt, **options)
    except ValueError as error:
        refused = str(error)
    else:
        refused = ""
        check_text(fmt, options, text)
    assert re.match("(source_id|locator|format): |$", refused)
    assert not (refused and can_write(fmt))


def check_text(fmt: CitationFormat, options: dict[str, Any], text: str) -> None:
    assert instructions(fmt, **options) == text == text.strip()
    assert all(line == line.strip() for line in text.split("\n"))
    citations = [event for event in parse(text, format=fmt) if isinstance(event, Citation)]
    first, second = dict.fromkeys(reference.source_id for citation in citations for reference in citation.references)
    locators = [reference.locator for citation in citations for reference in citation.references if reference.locator]
    span, line = locators[:2] or ("", "")
    check_examples(fmt, options, (first, second), (span, line))
    # Nothing else depends on the format.
    for marker in sorted({citation.raw for citation in citations}, key=len, reverse=True):
        text = text.replace(marker, "")
    assert len(text.split("\n")) == len(instructions(**options).split("\n"))


def test_no_mark_of_another_format() -> None:
    for options in EVERY:
        text = instructions(TAGS, **options)
        assert not any(unicodedata.category(character) == "Co" for character in text)


if __name__ == "__main__":
    for name, options in VARIANTS.items():
        (FOLDER / f"{name}.txt").write_text(readable(instructions(**options)), "utf-8")
