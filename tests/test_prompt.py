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
from tests.prompting import EVERY, TEXTS

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
