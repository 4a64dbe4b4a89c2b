"""Sources back from what a model was shown: in our forms and in those of others, from a text and from messages."""

import dataclasses
import itertools
from typing import Any

import pytest
from openai.types.chat import ChatCompletionMessage
from openai.types.responses import ResponseInputText, ResponseOutputMessage
from openai.types.responses.response_input_item import FunctionCallOutput, Message

from benchmarks.material import HOSTILE
from streamcite import OPENAI, CitationFormat, Reference, Source, Sources, instructions
from streamcite.material import Material, read_material, render_blocks, render_messages, render_tool_result

ROLES = ("tool", "function", "user", "system", "developer")
MARKER = OPENAI.write([Reference("turn0file1")])


def file(text: str, unit: Any = "document", id: str = "turn0file1", **about: Any) -> Source:
    return Source(id, text, kind="file", unit=unit, **about)


def read(material: Any, **options: Any) -> list[Source]:
    return list(read_material(material, **options).values())


def tool(text: str) -> list[Source]:
    return read([{"role": "tool", "content": text}])


# What we show comes back

SOURCES = [
    Source("turn0file1", "one\r\ntwo\n", title="A", url="https://a.example/", updated="May", kind="file"),
    Source("turn0block2", "[x]\n\n", kind="block", unit="block"),
    Source("turn1url0", " three", title="", kind="url", unit="document"),
    Source("file0", "", updated=""),
    Source("file1", "", unit="block"),
    Source("file2", "", unit="document"),
    Source("file3", "\n\n\n", url=" u "),
    Source("file4", "\n\r", unit="block"),
    Source("block1", "\r", unit="document", kind="block"),
    Source("file5", "a\rb\u2028c\x85\n d\x00\u200f\ufeff"),
    Source("plain", "Title: a\n\nb", unit="document"),
]


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize(
    "nothing", [Material(""), render_tool_result([]), render_blocks({})], ids=["", "tool", "blocks"]
)
def test_nothing_between_sources_is_part_of_them(place: int, nothing: Material) -> None:
    for form in (render_tool_result, render_blocks):
        shown = [form([source]) for source in SOURCES[:3]]
        shown[place:place] = [nothing]
        text = str(Material.join(shown))
        assert text == str(Material.join(form([source]) for source in SOURCES[:3]))
        parts = [{"type": "text", "text": str(each)} for each in shown]
        assert read([{"role": "user", "content": parts}]) == read(text)


@pytest.mark.parametrize("sources", [SOURCES, SOURCES[::-1]], ids=["forwards", "backwards"])
def test_what_is_shown_comes_back(sources: list[Source]) -> None:
    assert read(str(render_tool_result(sources))) == sources
    assert read(str(Material.join(render_messages(sources)))) == sources
    for role, source in itertools.product(ROLES, sources):
        (message,) = render_messages([source])
        assert read([{"role": role, "content": str(message)}]) == [source]
    assert [source.text for source in read(str(render_blocks(sources)))] == [source.text for source in sources]
    assert {source.unit for source in read(str(render_blocks(sources)))} == {"block"}


def test_a_prompt_may_hold_every_form() -> None:
    first, second, third, fourth = [*SOURCES[:3], Source("block7", "x", kind="block", unit="block")]
    parts = [
        *(instructions(), str(render_tool_result([first]))),
        *(str(Material.join(render_messages([second, third]))), instructions(material="blocks")),
        *(str(render_blocks([fourth])), "What is one?"),
    ]
    shown = read("\n\n".join(parts))
    assert [source.id for source in shown] == ["turn0file1", "turn0block2", "turn1url0", "block7"]
    assert [shown[0], shown[1], shown[3]] == [first, second, fourth]
    # Nothing but the next source or a closing tag says where a document ends.
    assert shown[2].text == f" three\n\n{instructions(material='blocks')}"


def test_the_kind_is_the_one_that_the_id_names() -> None:
    ids = ["turn0file1", "turn3search12", "block4", "file1", "turn1", "block", "turn0file1x"]
    shown = read(str(render_tool_result([Source(id, kind="odd") for id in ids])))
    assert [source.kind for source in shown] == ["file", "search", "block", "", "", "", ""]


def test_what_cannot_be_cited_does_not_come_back_but_ends_what_is_before_it() -> None:
    hidden = Source("x", "secret", title="B", citable=False, unit="document")
    for one, other in itertools.permutations([SOURCES[1], SOURCES[8]]):
        given = [hidden, one, hidden, hidden, other, hidden]
        assert read(str(render_tool_result(given))) == [one, other]
        assert read(str(Material.join(render_messages(given)))) == [one, other]
        assert [source.text for source in read(str(render_blocks(given)))] == [one.text, other.text]
        assert read([{"role": "tool", "content": str(render_messages([hidden])[0])}]) == []


def test_any_id_may_open_a_source_where_the_text_begins_with_one() -> None:
    plain = [Source("doc", "1", unit="document"), Source("FAQ", "2", unit="document")]
    hidden = Source("x", "", citable=False)
    text = str(Material.join(render_messages(plain)))
    assert read(text) == read(f" \n\n{text}") == plain
    assert read(str(Material.join(render_messages([hidden, *plain])))) == plain
    assert read(f"Sources:\n\n{text}") == []
    assert read(f"【見出し】\n{text}") == []
    # Else only ids of tool calls do: the other lines are headings.
    assert read("【turn0file1】\nx\n【turn0file2】\ny")[1] == file("y", id="turn0file2")
    assert read(f"Citation Marker: {MARKER}\n\nx\n\n【FAQ】\ny") == [file("x\n\n【FAQ】\ny")]


# What others show


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Citation Marker: {MARKER}\n\nx", [file("x")]),
        (f"Citation Marker: {MARKER}\nx", [file("x")]),
        (f"  citation marker:{MARKER}  \r\nTitle:A\r\n\r\nx\r\n", [file("x\r\n", title="A")]),
        (f"Citation Marker: {MARKER}", [file("", "lines")]),
        (f"Citation Marker: see {MARKER} and {OPENAI.write([Reference('b')])}\n\nx", [file("x")]),
        (f"Citation Marker: {OPENAI.write([Reference('turn0file1', 'L2'), Reference('b')])}\n\nx", [file("x")]),
        (f"Citation Marker: {MARKER[:-1]}\n\nx", [file("x")]),
        (
            f"Citation Marker: {MARKER}\nUpdated: b\nTitle: a\nTitle: c\nx",
            [file("Title: c\nx", title="a", updated="b")],
        ),
        (f"Citation Marker: {MARKER}\nAuthor: b\n\nx", [file("Author: b\n\nx")]),
        (f"Citation Marker: {MARKER}\n\n[L1] a\n[L2]\n[L3] c", [file("a\n\nc", "lines")]),
        (f"Citation Marker: {MARKER}\n\n[L1] a\n[L2] b\n\nNow answer.", [file("a\nb", "lines")]),
        (f"Citation Marker: {MARKER}\n\n[L1] a\n\n\nNow answer.", [file("a\n", "lines")]),
        (f"Citation Marker: {MARKER}\n\n[L1] a\nNow answer.", [file("a", "lines")]),
        (f"Citation Marker: {MARKER}\n\n[L1] a\n[L2]b", [file("a", "lines")]),
        (f"Citation Marker: {MARKER}\n\n[L4] a\n[L5] b", [file("[L4] a\n[L5] b")]),
        (f"Citation Marker: {MARKER}\n\n[L1]a", [file("[L1]a")]),
        (f"Citation Marker: {MARKER}\n\n[Block3]\r\na", [file("a", "block")]),
        (f"Citation Marker: {MARKER}\n\n[Block3] a", [file("[Block3] a")]),
        (f"Citation Marker: {MARKER}\nx\nCitation Marker: {MARKER}\nx", [file("x")]),
        (f"Citation Marker: {MARKER}\nx\nCitation Marker: {OPENAI.start}\ny", [file("x")]),
        (f"Citation Marker: {MARKER}\n\nx\n<block id='b'>y</block> z", [file("x"), Source("b", "y", unit="block")]),
        (f"a Citation Marker: {MARKER}\n\nx", []),
        ("<BLOCK id=b>\r\n\r\nx</BLOCK>", [Source("b", "x", unit="block")]),
        ('a <Block  class="y" ID = "b" >Title: A</ block > c', [Source("b", "", title="A", unit="block")]),
        ('<BLOCK id="b">\n[L1] a\n[L2] b\n</BLOCK>', [Source("b", "a\nb")]),
        ('<BLOCK id="b">\n【turn0file1】\nx\n</BLOCK>', [Source("b", "【turn0file1】\nx", unit="block")]),
        ('<BLOCK id="a"> <BLOCK id="b">x</BLOCK> </BLOCK>', [Source("b", "x", unit="block")]),
        ('<BLOCK id="a" title="b">\nx\n</BLOCK>', [Source("a", "x", unit="block")]),
        ('<BLOCK id="a">\nx', []),
        ('<BLOCK id="a"\n>x</BLOCK>', []),
        ('<BLOCK id="">x</BLOCK><BLOCK id="a b">y</BLOCK><BLOCK>z</BLOCK></BLOCK><BLOCK id="L1">x</BLOCK>', []),
        ('<BLOCKS id="a">x</BLOCKS><blockquote id="a">x</blockquote>', []),
        ("see 【turn0file1】 x", []),
        ("x\n【turn0file1】 \r\ny", [file("y")]),
        ("", []),
    ],
)
def test_the_forms_of_others(text: str, expected: list[Source]) -> None:
    assert read(text) == expected
    assert read([{"role": "user", "content": text}]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("【turn0file1】 Title: A\nx", [file("x", title="A")]),
        (" \n【turn0file1】x", [file("x")]),
        ("a 【turn0file1】b【turn0file2】", [file("a b【turn0file2】")]),
        ("x\n【turn0file1】\ny", [file("x\ny")]),
        ("x\n【turn0file1】", [file("x\n")]),
        ("【turn0file1】", [file("", "lines")]),
        ("{'id': '【turn0file1】', 'text': 'x'}", [file("{'id': '', 'text': 'x'}")]),
        ("2 results\n\n【turn0file1】\nx\n\n【turn0file2】\ny", [file("x"), file("y", id="turn0file2")]),
        (f"see 【turn0file9】\nCitation Marker: {MARKER}\n\nx", [file("x")]),
        ("Citation Marker: none\n\nsee 【turn0file1】", []),
        ("see 【turn0】 【file1】 turn0file1 【TURN0file1】", []),
    ],
)
def test_a_message_of_a_tool_is_one_source_by_the_first_id_in_it(text: str, expected: list[Source]) -> None:
    assert tool(text) == expected
    assert read([{"role": "function", "content": text}]) == expected
    assert read([{"type": "function_call_output", "call_id": "c", "output": text}]) == expected


HEADING = "# Citations\n\n## Sources\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"【turn0file1】 x\n{HEADING}", [file(f"x\n{HEADING}")]),
        (f"{HEADING}【turn0file1】 x", [file(f"{HEADING} x")]),
        (f"{HEADING}\n- Books: 【turn0file1】", [file(f"{HEADING}\n- Books: ")]),
        (f"see 【turn0file1】:\n\n{instructions()}", [file(f"see :\n\n{instructions()}")]),
        (instructions(), []),
        (f"{instructions()}\n\n【turn0file1】", []),
    ],
)
def test_a_message_of_a_tool_may_quote_instructions(text: str, expected: list[Source]) -> None:
    assert tool(text) == expected


VARIANTS = [
    {"material": material, "lines": lines, "several": several, "considerations": True}
    for material, lines, several in itertools.product(
        ("tool", "tool_lines", "blocks"), ("none", "optional", "required"), ("one_marker", "separate_markers")
    )
    if not (material == "blocks" and lines != "none") and not (several == "one_marker" and lines == "required")
]


@pytest.mark.parametrize("options", VARIANTS, ids=str)
def test_instructions_show_no_source(options: dict[str, Any]) -> None:
    for format in (OPENAI, CitationFormat(start="[[", delimiter="|", stop="]]", source_id=".+")):
        text = instructions(format, **options)
        for prompt in (text, f"You are helpful.\n\n{text}\n\nWhat is one?"):
            assert read(prompt, format=format) == []
            for role in ROLES:
                assert read([{"role": role, "content": prompt}], format=format) == []


# Messages


def test_messages_of_every_api() -> None:
    texts = [str(message) for message in render_messages([Source(f"turn0file{number}", "x") for number in range(11)])]
    messages = [
        {"role": "system", "content": texts[0]},
        {"role": "developer", "content": [{"type": "text", "text": texts[1]}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {}}, {"type": "input_text", "text": texts[2]}]},
        {"role": "assistant", "content": texts[3], "tool_calls": []},
        {"role": "tool", "tool_call_id": "a", "content": texts[4]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": texts[5]}]},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": texts[3]},
        {"type": "function_call_output", "call_id": "a", "output": texts[6]},
        {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": texts[7]}]},
        {"type": "custom_tool_call_output", "call_id": "a", "output": texts[8]},
        Message(role="developer", content=[ResponseInputText(text=texts[9], type="input_text")]),
        FunctionCallOutput(call_id="a", output=texts[10], type="function_call_output"),
        ChatCompletionMessage(role="assistant", content=texts[3]),
        ResponseOutputMessage.model_construct(role="assistant", type="message", content=[]),
    ]
    sources = read_material(messages)
    assert list(sources) == [f"turn0file{number}" for number in (0, 1, 2, 4, 5, 6, 7, 8, 9, 10)]
    assert sources.shown == tuple(sources)
    assert list(read_material(iter(messages), roles={"assistant"})) == ["turn0file3"]
    assert list(read_material(messages, roles=["tool"])) == [f"turn0file{number}" for number in (4, 6, 7, 8, 10)]
    assert list(read_material(messages, roles=())) == []


def test_each_part_of_a_message_may_be_a_source() -> None:
    texts = [str(message) for message in render_messages(SOURCES)]
    assert read([{"role": "tool", "content": [{"type": "text", "text": text} for text in texts]}]) == SOURCES
    assert read([{"role": "tool", "content": tuple(texts)}]) == SOURCES


def test_material_may_be_put_into_messages_as_it_is() -> None:
    sources = [Source(f"turn0file{number}", f"One.\nTwo: {number}.", kind="file") for number in range(2)]
    result, messages = render_tool_result(sources), render_messages(sources)
    for given in (
        result,
        [result],
        messages,
        [{"role": "tool", "content": result}],
        [{"role": "tool", "content": list(messages)}],
        [{"role": "tool", "content": message} for message in messages],
    ):
        assert list(read_material(given)) == ["turn0file0", "turn0file1"]
    assert list(read_material(result).values()) == sources
    assert list(read_material([result, {"role": "user", "content": "Why?"}], roles=["user"])) == []


def test_what_was_shown_before_a_message_of_the_user_is_stale() -> None:
    first, second, third = ({"role": "tool", "content": f"【turn{number}file0】\n\nx"} for number in range(3))
    user, block = {"role": "user", "content": "?"}, {"role": "user", "content": '<BLOCK id="block1">x</BLOCK>'}
    sources = read_material([first, user, second, first, block, third], roles=["tool", "user"])
    assert [id for id in sources if sources.is_stale(id)] == ["turn0file0", "turn1file0"]
    # Whoever reads only the tools' messages still sees the user's.
    sources = read_material([first, second, user, first], roles=["tool"])
    assert [id for id in sources if sources.is_stale(id)] == ["turn1file0"]
    assert sources.tool_call().number == 2


def test_the_first_definition_of_an_id_wins_and_another_makes_it_ambiguous() -> None:
    one, other, same = ("【turn0file1】\n\nx", "【turn0file1】\n\ny", f"Citation Marker: {MARKER}\n\nx")
    sources = read_material([{"role": "tool", "content": text} for text in (one, same, "【turn0file2】\n\nz", one)])
    assert not any(map(sources.is_ambiguous, sources))
    sources = read_material([{"role": "tool", "content": text} for text in (one, "【turn0file2】\n\nz", other, one)])
    assert [(source.text, sources.is_ambiguous(id)) for id, source in sources.items()] == [("x", True), ("z", False)]
    sources = read_material(f"{one}\n\n{other}")
    assert (sources["turn0file1"].text, sources.is_ambiguous("turn0file1")) == ("x", True)


class Broken:
    role = "tool"
    content = 7


DEEP: list[Any] = []
for _ in range(100_000):
    DEEP = [DEEP]
NO_TEXTS: list[Any] = [None, 1, b"x", [], {}, DEEP]
NO_MESSAGES: list[Any] = [
    *(None, 1, "text", b"bytes", [], {}, [{"role": "tool"}], DEEP, Broken(), object()),
    *({"role": role, "content": "【turn0file1】\nx"} for role in NO_TEXTS),
    *({"role": "tool", "content": content} for content in (None, 1, {}, b"x", DEEP, {"text": "【turn0file1】"})),
    *({"role": "tool", "content": [part]} for part in (None, 1, b"x", {}, {"type": "text"}, {"type": [], "text": "a"})),
    *({"role": "tool", "content": [{"type": "text", "text": text}]} for text in (None, 1, [], DEEP)),
    {"role": "tool", "content": [{"type": "refusal", "text": "【turn0file1】\nx"}]},
    *({"type": kind, "role": "tool", "content": "【turn0file1】\nx"} for kind in ("reasoning", *NO_TEXTS[1:])),
    *({"type": "function_call_output", "output": output} for output in NO_TEXTS),
]


def test_what_is_not_a_message_is_passed_over() -> None:
    assert read(NO_MESSAGES) == []
    assert read([*NO_MESSAGES, {"role": "tool", "content": "【turn0file1】\n\nx"}]) == [file("x")]


@pytest.mark.parametrize("material", [None, 1, b"text", {"role": "tool"}, Source("a")])
def test_what_is_neither_a_text_nor_messages_is_refused(material: Any) -> None:
    with pytest.raises(TypeError, match=r"^material: must be a text or messages, not "):
        read_material(material)


def test_misuse() -> None:
    with pytest.raises(TypeError, match=r"^roles: must be a collection of roles, not 'tool'"):
        read_material([], roles="tool")
    with pytest.raises(TypeError, match=r"^roles: must be a collection of roles, not 1"):
        read_material([], roles=1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^format: must be a CitationFormat"):
        read_material([], format=None)  # type: ignore[arg-type]
    assert isinstance(read_material(""), Sources)


def test_an_id_that_only_looks_like_one_is_none() -> None:
    tags = CitationFormat(source_id=".+")
    assert read("【<block>x</block>】\n\nx", format=tags) == [Source("<block>x</block>", "x", unit="document")]
    # Its pattern allows it, but the marker would be longer than one may be, or hold a token.
    odd = CitationFormat(source_id=".+", delimiter="|", start="[", stop="]")
    for id in ("a" * 4096, "a|b"):
        assert read(f"【{id}】\n\nx\n\n【b】\n\ny", format=odd) == [Source("b", "y", unit="document")]
    for id in ("a\u2028b", " a"):
        assert read(f"【{id}】\n\nx", format=odd) == []
    # An id that could not be shown again.
    spaced = CitationFormat(source_id="a.b", spaces_in_fields=True)
    marker = spaced.write([Reference("a\u2028b")])
    assert read(f"Citation Marker: {marker}\n\nx", format=spaced) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", [*HOSTILE.values(), "\n[L1] \x00\u200f", "< ", "【a1】\n", "\ue200", "Title: \n", "\n "]
)
def test_large_hostile_texts_come_to_an_end(piece: str) -> None:
    # Whatever took a step for each pair of these characters would take hours.
    text = piece * (200_000 // len(piece))
    source = Source("turn0file0", text, title=text, kind="file", unit="document")
    for render in (render_tool_result, render_blocks):
        material = render([source])
        assert sum(change.count for change in material.changes) <= 2 * len(text)
        (back,) = read(str(material))
        assert render([back]) == dataclasses.replace(material, changes=())
    assert len(read([{"role": "tool", "content": text}])) <= 1


def test_a_large_document_and_many_sources_come_back() -> None:
    large = file("x\r\n" * 100_000, "lines")
    many = [file(str(number), id=f"turn{number}file0") for number in range(2_000)]
    assert read(str(render_tool_result([large, *many]))) == [large, *many]
