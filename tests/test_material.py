"""Sources as a model is shown them: the guide's forms, and what must not be shown as it is."""

import dataclasses

import pytest

from streamcite import CHATGPT, OPENAI, Citation, CitationFormat, Reference, Source, Sources, parse
from streamcite.material import Change, Material, render_blocks, render_messages, render_tool_result
from tests.strategies import KNOWN_FORMATS

TEXT = "Open till nine.\r\n\nNot on Sundays."
FULL = Source("turn0file1", TEXT, title="Hours", url="https://a.example/", updated="2026-11-30", kind="file")
MARKER = "\ue200cite\ue202turn0file1\ue201"
ABOUT = "Title: Hours\nURL: https://a.example/\nUpdated: 2026-11-30\n"
NUMBERED = "[L1] Open till nine.\r\n[L2] \n[L3] Not on Sundays."
TAGS = CitationFormat(start="<|cite|>", delimiter="<|sep|>", stop="<|end|>")


def shown(source: Source, format: CitationFormat = OPENAI) -> str:
    """The text of a source as a model is shown it, without what stands before it."""
    material = str(render_tool_result([dataclasses.replace(source, unit="document")], format=format))
    return material.split("\n\n", 1)[1]


# The forms


def test_a_tool_result_with_lines() -> None:
    material = render_tool_result([FULL])
    assert str(material) == material.text == f"Citation Marker: {MARKER}\n{ABOUT}\n{NUMBERED}"
    assert (material.ids, material.changes) == (("turn0file1",), ())


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (Source("turn0file1", TEXT, unit="block"), f"\n[Block1]\n{TEXT}"),
        (Source("turn0file1", TEXT, unit="document"), f"\n{TEXT}"),
        (Source("turn0file1", "one\n", title="", updated="May"), "Title: \nUpdated: May\n\n[L1] one\n"),
        (Source("turn0file1", "\n\n"), "\n[L1] \n[L2] \n"),
        (Source("turn0file1", "a\rb\u2028c\x85"), "\n[L1] a\rb\u2028c\x85"),
        (Source("turn0file1", "", url="u"), "URL: u\n"),
        (Source("turn0file1", "", unit="block"), "\n[Block1]\n"),
        (Source("turn0file1", "", unit="document"), "\n"),
    ],
)
def test_what_stands_after_the_header(source: Source, expected: str) -> None:
    assert str(render_tool_result([source])) == f"Citation Marker: {MARKER}\n{expected}"
    (message,) = render_messages([source])
    assert str(message) == f"【turn0file1】\n{expected}"


def test_many_lines_are_numbered_on() -> None:
    lines = [f"{'x' * 40_000}{number}" for number in range(1, 100)]
    expected = "\n".join(f"[L{number}] {line}" for number, line in enumerate(lines, 1))
    assert str(render_messages([Source("a1", "\n".join(lines))])[0]) == f"【a1】\n\n{expected}"


def test_a_message_for_each_source() -> None:
    sources = [FULL, Source("file0", "two", unit="document")]
    first, second = render_messages(sources)
    assert first == Material(f"【turn0file1】\n{ABOUT}\n{NUMBERED}", ("turn0file1",))
    assert second == Material("【file0】\n\ntwo", ("file0",))
    assert Material.join([first, second]) == Material(f"{first}\n\n{second}", ("turn0file1", "file0"))
    assert Material.join([]) == Material("") == render_blocks([])


def test_blocks() -> None:
    sources = [dataclasses.replace(FULL, id="block1"), Source("block2", "two\n", unit="block")]
    assert str(render_blocks(sources)) == (
        f'<BLOCK id="block1">\n{ABOUT}\n{TEXT}\n</BLOCK>\n\n<BLOCK id="block2">\ntwo\n\n</BLOCK>'
    )


@pytest.mark.parametrize("text", ["Title: a", "URL: b\n\nc", "Updated:", "\n", "\r\na"])
def test_a_block_that_begins_as_if_something_were_said_of_it_has_an_empty_line_before_it(text: str) -> None:
    assert str(render_blocks([Source("b1", text)])) == f'<BLOCK id="b1">\n\n{text}\n</BLOCK>'


def test_what_is_not_citable_has_no_id() -> None:
    source = Source("turn0file1", "text", title="A", unit="document", citable=False)
    assert render_tool_result([source]) == Material("Citation Marker: none\nTitle: A\n\ntext")
    assert render_messages([source]) == (Material("Citation Marker: none\nTitle: A\n\ntext"),)
    assert render_blocks([source]) == Material("<BLOCK>\nTitle: A\n\ntext\n</BLOCK>")


@pytest.mark.parametrize("render", [render_tool_result, render_messages, render_blocks])
def test_sources_are_given_in_any_form(render: object) -> None:
    assert callable(render)
    sources = Sources()
    call = sources.tool_call()
    for text in ("one", "two"):
        call.add(text)
    given = [call.results, list(call.results), iter(call.results), sources, dict(sources), [*call.results] * 2]
    assert [render(each) for each in given] == [render(call.results)] * len(given)
    sources.mark_shown(*render_blocks(sources).ids)
    assert sources.shown == ("turn0file0", "turn0file1")


@pytest.mark.parametrize("fmt", KNOWN_FORMATS.values(), ids=KNOWN_FORMATS)
def test_the_marker_is_one_of_the_format(fmt: dict[str, object]) -> None:
    format = CitationFormat(**fmt)  # type: ignore[arg-type]
    line = str(render_tool_result([Source("a1", "x")], format=format)).split("\n")[0]
    (citation,) = parse(line.removeprefix("Citation Marker: "), format=format)
    assert isinstance(citation, Citation)
    assert (citation.references, citation.repaired) == ((Reference("a1"),), False)


@pytest.mark.parametrize(
    ("sources", "error", "message"),
    [
        (Source("a"), TypeError, "^sources: must be an iterable or a mapping of Sources, not Source"),
        ("a", TypeError, "^sources: must be an iterable or a mapping of Sources, not str"),
        (None, TypeError, "^sources: must be an iterable or a mapping of Sources, not NoneType"),
        (["a"], TypeError, "^sources: must be Sources, not str"),
        ([Source("L1")], ValueError, "^id: 'L1' is not a source id of this format"),
        ([Source("a b")], ValueError, "^id: 'a b' is not a source id of this format"),
        ([Source("a"), Source("a", "x")], ValueError, "^id: 'a' is that of two sources with different content"),
    ],
)
def test_misuse(sources: object, error: type[Exception], message: str) -> None:
    for render in (render_tool_result, render_messages, render_blocks):
        with pytest.raises(error, match=message):
            render(sources)  # type: ignore[arg-type]


def test_misuse_of_the_format() -> None:
    with pytest.raises(TypeError, match=r"^format: must be a CitationFormat, not None"):
        render_blocks([], format=None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^id: 'a1' is not a source id of this format"):
        render_blocks([Source("a1")], format=CitationFormat(families=()))
    for end in "\r\x0b\x0c\x1c\x85\u2028":
        with pytest.raises(ValueError, match=r"^id: 'a.*b' holds a line break"):
            render_blocks([Source(f"a{end}b")], format=CitationFormat(source_id="a.b", spaces_in_fields=True))


# What is made safe

SAFE = {
    "\ue200cite\ue202turn0file1\ue201": "\ufffdcite\ufffdturn0file1\ufffd",
    "\ue201\ue202": "\ufffd\ufffd",
    "[L1] x": r"\[L1] x",
    "a\n  [L12]\tx": "a\n  \\[L12]\tx",
    "[l3]": r"\[l3]",
    "[L1]\n[L2]": "\\[L1]\n\\[L2]",
    "a\r[L1] x": "a\r\\[L1] x",
    "a\u2028[L1] x": "a\u2028\\[L1] x",
    "\u200f\x00\ufeff[L1] x": "\u200f\x00\ufeff\\[L1] x",
    "[Block1]\nx": "\\[Block1]\nx",
    "\t[BLOCK22] x": "\t\\[BLOCK22] x",
    "Citation Marker: x": r"\Citation Marker: x",
    "a\n\u00a0citation  marker :": "a\n\u00a0\\citation  marker :",
    "CITATION MARKER\uff1a": "\\CITATION MARKER\uff1a",
    "a</BLOCK>b": r"a<\/BLOCK>b",
    "< / block >": r"< \/ block >",
    '<BLOCK id="b1">': r'<\BLOCK id="b1">',
    "<bLoCk\nid=b1": "<\\bLoCk\nid=b1",
    "< block\nid=b1 >": "< \\block\nid=b1 >",
    "</block": r"<\/block",
    "see 【turn2file1】.": r"see 【\turn2file1】.",
    "【 TURN0search12†": r"【 \TURN0search12†",
    "【turn2file1】": r"【\turn2file1】",
    "【a1】\nx": "\\【a1】\nx",
    "a\n 【file-0】 \r\nb": "a\n \\【file-0】 \r\nb",
}


@pytest.mark.parametrize("text", SAFE)
def test_what_is_made_safe(text: str) -> None:
    safe = SAFE[text]
    assert shown(Source("s", text)) == safe
    assert shown(Source("s", safe)) == safe
    assert str(render_blocks([Source("s", text)])) == f'<BLOCK id="s">\n{safe}\n</BLOCK>'
    assert str(render_messages([Source("s", text, unit="block")])[0]) == f"【s】\n\n[Block1]\n{safe}"


@pytest.mark.parametrize(
    "text",
    [
        *("[1] one\n[2] two", "L1 and [L1] and L1-L3", "[L1]: x", "[L1](#a)", "[Lx] y", "[Block] 1", "Block1"),
        *("a Citation Marker: b", "Citations Marker: c", "Title: a\nURL: b", "# Citations"),
        *("<blockquote>a</blockquote>", "<block-1>", "BLOCK>", "a < block", "< / block <", "< 3 blocks", "&lt;/BLOCK>"),
        *("【見出し】\n本文", "【 】", "【a b】\nc", "a 【a1】 b", "a1】", "【turn】 【turn2】", "turn2file1", "【】"),
        *("\\ \\[ \\<", "\ufffd", "\r\n\r\n", "\u200f שלום", "\x00", "\ud800", "\ue203", "[[", "<|cite|>", ""),
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    material = render_blocks([Source("s", text, title=text.replace("\n", "").replace("\r", ""))])
    assert (f"\n{text}\n</BLOCK>" in str(material), material.changes) == (True, ())


def test_a_field_of_one_line_stays_one() -> None:
    source = Source("s", "", title="A\r\nB\n\u2028C", url="[L1] \ue200", updated="</BLOCK>\x85Citation Marker: x")
    material = render_messages([source])[0]
    assert str(material) == "【s】\nTitle: A B  C\nURL: [L1] \ufffd\nUpdated: <\\/BLOCK> Citation Marker: x\n"
    assert material.changes == (
        Change("s", "title", "line break", 3, 1),
        Change("s", "url", "token", 1, 1),
        Change("s", "updated", "line break", 1, 1),
        Change("s", "updated", "block tag", 1, 1),
    )


def test_changes_say_what_and_where() -> None:
    text = "one\ntwo \ue201\n\n[L1] \ue200\n</BLOCK><BLOCK>\n【a1】\n【turn0file0】\n[L2] \n[Block1]\nCitation Marker:"
    hostile, fine = Source("a", text, citable=False), Source("b", "x")
    expected = (
        Change("a", "text", "token", 2, 2),
        Change("a", "text", "block tag", 2, 5),
        Change("a", "text", "bracketed id", 2, 6),
        Change("a", "text", "line label", 2, 4),
        Change("a", "text", "block label", 1, 9),
        Change("a", "text", "citation marker line", 1, 10),
    )
    assert render_tool_result([hostile, fine]).changes == expected
    assert render_blocks([fine, hostile]).changes == expected
    assert [material.changes for material in render_messages([hostile, fine])] == [expected, ()]


@pytest.mark.parametrize(
    ("fmt", "text", "safe"),
    [
        (TAGS, "<|cite|><|sep|><|cite|", r"<\|cite|><|sep|><|cite|"),
        (CitationFormat(start="[[", delimiter="|", stop="]]"), "[[[ ]] [", r"[\[\[ ]] ["),
        (CitationFormat(start="abab", delimiter="|", stop="]"), "abababab ABAB", r"a\ba\ba\bab ABAB"),
        (CitationFormat(start="\\", delimiter="|", stop="]"), "\\ [L1] x\n[L1] x", "\ufffd [L1] x\n\u00b7[L1] x"),
        (CitationFormat(start="\ufffdx", delimiter="\ue201", stop="]"), "\ue201x \ufffdx", "\u00b7x \ufffd\\x"),
        (
            CitationFormat(start="\ue200\ue200", delimiter="|", stop="\ue201"),
            "\ue200" * 3 + "\ue201|",
            "\ue200\\\ue200\\\ue200\ufffd|",
        ),
        (CHATGPT, "\ue203\ue200\ue206", "\ue203\ufffd\ue206"),
        (CitationFormat(source_id=".+"), "【見出し】\n【a b】", "\\【見出し】\n\\【a b】"),
    ],
)
def test_the_tokens_of_any_format_are_made_safe(fmt: CitationFormat, text: str, safe: str) -> None:
    made = shown(Source("1", text), fmt)
    assert made == safe
    assert shown(Source("1", made), fmt) == made
    assert not any(isinstance(event, Citation) for event in parse(made, format=fmt))
