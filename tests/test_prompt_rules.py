"""Instructions for a prompt, line by line: the guide's element 4 in every variant."""

import re

import pytest

from streamcite import OPENAI, instructions
from tests.prompting import EVERY, TEXTS

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
