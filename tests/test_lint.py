"""The guide's rules on whole answers: for each rule what breaks it, and beside it a twin that does not."""

import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamcite import OPENAI, Citation, CitationFormat, Resolved, Source, Sources, clean, instructions, parse
from streamcite.lint import Finding, Rule, lint
from streamcite.resolve import resolve
from tests.linting import MARKER, PIECES, SOURCES, answers, cite
from tests.reading import source_text


def rules(answer: str, sources: dict[str, Source] | None = SOURCES) -> list[Rule]:
    """Lint an answer in which @ stands for a marker that is right."""
    return [finding.rule for finding in lint(answer.replace("@", MARKER), sources)]


# What a marker says


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Yes.@", []),
        ("Yes.\ue200cite\ue202\ue201@", ["malformed-marker"]),
        ("Yes.\ue201@", ["malformed-marker"]),
        ("Yes.\ue202@", ["malformed-marker"]),
        ("Yes.\ue200cite\ue201@", ["malformed-marker"]),
        ("Yes.\ue200 cite@", ["malformed-marker"]),
        (f"Yes.{cite('L1')}@", ["malformed-marker"]),
        (f"Yes.{cite('#')}@", ["malformed-marker"]),
        ("Yes.@\ue200cite\ue202turn0", ["malformed-marker"]),
        (f"Yes.{cite('turn0file1')}", []),
        ("Yes.\ue200cite\ue202turn0file1 and", ["repaired-marker"]),
        (f"Yes.{cite('turn0file1', '#')}", ["repaired-marker"]),
        (f"Yes.{cite('turn0file1', 'block-7')}", []),
        (f"Yes.{cite('turn0file1', 'turn0file7')}", ["unknown-source"]),
        (f"Yes.{cite('turn0file7', 'turn0file8', 'turn0file7')}", ["unknown-source", "unknown-source"]),
        (f"Yes.{cite('turn0file2')}", ["unknown-source"]),
        (f"Yes.{cite('handbook')}", []),
        (f"Yes.{cite('turn0file1', 'L3')}", []),
        (f"Yes.{cite('turn0file1', 'L1–3')}", []),
        (f"Yes.{cite('turn0file1', 'L0')}", ["unknown-lines"]),
        (f"Yes.{cite('turn0file1', 'L4')}", ["unknown-lines"]),
        (f"Yes.{cite('turn0file1', 'L1-L4')}", ["unknown-lines"]),
        (f"Yes.{cite('turn0file1', 'L2-L1')}", ["unknown-lines"]),
        (f"Yes.{cite('turn0file1', 'L1-L999999999')}", ["unknown-lines"]),
        (f"Yes.{cite('block-7', 'L1')}", ["unknown-lines"]),
        (f"Yes.{cite('block-7')}", []),
    ],
)
def test_what_a_marker_says(answer: str, expected: list[Rule]) -> None:
    assert rules(answer) == expected


def test_a_marker_that_was_prose() -> None:
    # What no source is called, and no tool's result, may have been words after a start that means nothing.
    answer = "See \ue200cite\ue202appendix2 and @"
    assert rules(answer) == ["repaired-marker", "unknown-source"]


def test_ids_that_mean_two_sources_or_an_old_one() -> None:
    sources = Sources()
    for number in (1, 2, 3):
        sources.add(Source(f"turn{number}file0", "one"))
    sources.mark_shown("turn1file0", "turn2file0")
    sources.mark_ambiguous("turn2file0")
    sources.user_message()
    sources.mark_shown("turn3file0")
    answer = "".join(f"Yes.{cite(f'turn{number}file0')} " for number in (1, 2, 3)) + "So."
    assert [finding.rule for finding in lint(answer, sources)] == ["ambiguous-source"]
    assert [finding.rule for finding in lint(answer, sources, scope="answer")] == ["stale-source", "ambiguous-source"]
    sources.mark_shown("turn1file0")
    assert [finding.rule for finding in lint(answer, sources, scope="answer")] == ["ambiguous-source"]


@pytest.mark.parametrize(
    ("fields", "count"),
    [
        (["turn0file1", "L1"], 0),
        (["turn0file1"], 1),
        (["turn0file1", "turn0file1", "L1"], 1),
        (["turn0file1", "handbook"], 2),
        (["block-7"], 0),
        (["handbook", "turn0file1", "L1", "nothing1"], 1),  # of which no line can be named
        (["nothing1"], 0),
    ],
    ids=str,
)
def test_lines_where_they_are_required(fields: list[str], count: int) -> None:
    answer = f"Yes.{cite(*fields)}"
    sources = SOURCES | {"nothing1": Source("nothing1")}
    found = lint(answer, sources, lines="required")
    assert [finding.rule for finding in found] == ["missing-lines"] * count
    assert lint(answer, sources) == []


def test_without_sources_no_id_is_looked_up() -> None:
    assert lint(f"Yes.{cite('turn9file9', 'L7')}") == []
    assert [finding.rule for finding in lint(f"Yes.{cite('a1')}", lines="required")] == ["missing-lines"]


# Ids in the text


@pytest.mark.parametrize(
    "text",
    [
        "As turn0file1 says.",
        "As turn12search34 says.",
        "As 【turn2file1】 says.",
        "As (turn0file1) says.",
        "As `turn0file1` says.",
        "As *turn0file1* says.",
        "As _turn0file1_ says.",
        "As __turn0file1__ says.",
        "As [turn0file1](https://example.org/) says.",
        "As turn0file1-based rules say.",
        "Das steht in turn0file1.",
        "これはturn0file1にある。",
        "turn0file1",
        "As block-7 says.",
        "As **block-7** says.",
        "As kb:12.a says.",
        "Siehe „block-7“.",
        "見るblock-7。",
        "As @turn0file1@ says.",
        "“turn0file1”",
        "«turn0file1»",
        "[turn0file1]",
        "[^turn0file1]",
        "[here](turn0file1)",
        "***turn0file1***",
        "turn0file1:L3",
        "【turn0file1†L3-L4】",
        "\u200fturn0file1\u200f",
        "انظر turn0file1، ثم",
        "에서turn0file1은",
        "ดูturn0file1ครับ",
        "🚀turn0file1🚀",
        "turn0file1\r\nSo.",
        "https://a.example, turn0file1",
        "https://a.example。turn0file1",
        "(https://a.example/b), block-7",
        "://(block-7 is open",
    ],
)
def test_an_id_in_the_text(text: str) -> None:
    assert rules(text + " Yes.@") == ["bare-id"]


@pytest.mark.parametrize(
    "text",
    [
        "As the handbook says.",  # a word, which the id of a source may be
        "In 1234 days.",
        "As block-78 says.",
        "As myblock-7 says.",
        "As block-7b says.",
        "As überblock-7 says.",
        "As block_7 says.",
        "As my_turn0file1 says.",
        "As turn0file1_x says.",
        "As return0file1 says.",
        "As turn0file1s says.",
        "As turnfile1 says.",
        "As turn0file says.",
        "As turn0file\N{SUPERSCRIPT ONE} says.",
        "As https://example.org/turn0file1/block-7 says.",
        "As [this](https://example.org/block-7) says.",
        "As kb:12.ab says.",
        "As https://en.wikipedia.org/wiki/A_(turn0file1) says.",
        "As https://a.example/b_(c)/block-7 says.",
        "As [this](https://a.example/(b)(block-7)/c) says.",
        "As https://a.example/?q=(turn0file1) says.",
        "As éturn0file1 and turn0file1ß say.",
        "As Block-7 and block--7 say.",
    ],
)
def test_what_is_no_id_in_the_text(text: str) -> None:
    assert rules(text + " Yes.@") == []


def test_an_id_is_told_with_its_brackets() -> None:
    answer = f"A.{MARKER} 【turn2file1】, [turn2file1]"
    found = lint(answer)
    assert [answer[finding.start : finding.end] for finding in found] == ["【turn2file1】", "turn2file1"]
    assert [clean(answer)[finding.position :][:5] for finding in found] == ["【turn", "turn2"]


def test_the_longest_id_is_told_once() -> None:
    sources = {id: Source(id) for id in ("a-1", "a-1.2", "b.a-1.2", "turn0file1", "turn0file1-a")}
    text = f"Yes.{cite('a-1')} https://a.example/a-1 b.a-1.2, https://a.example/2 a-1.2, turn0file1-a, a-1"
    found = [finding for finding in lint(text, sources) if finding.rule == "bare-id"]
    assert [text[finding.start : finding.end] for finding in found] == ["b.a-1.2", "a-1.2", "turn0file1", "a-1"]


# Where a marker stands


@pytest.mark.parametrize(
    ("broken", "twin"),
    [
        ("`code@`", "`code`@"),
        ("`@code`", "@`code`"),
        ("``a ` b@ ``", "``a ` b ``@"),
        ("`a\nb@`", "`a\nb`@"),
        ("a `@` b", "a @ b"),
        ("a ``@`` b", "`a`@`b`"),  # which is one piece of code for the reader
        ("a `@ ` b", "a ` @ b"),
        ("`a@", None),
        ("*`code@`*", None),
        ("Run it:\n\n```\nx = 1@\n```\nDone.", "Run it:@\n\n```\nx = 1\n```\nDone."),
        ("```py @\nx = 1\n```\nDone.", "@ Yes.\n```py\nx = 1\n```\nDone."),
        ("```\nx = 1@", "x = 1@"),
        ("~~~\nx = 1@\n~~~\nDone.", "~~~\nx = 1\n~~~\nDone.@"),
        ("~~~\n```\nx = 1@\n~~~\nDone.", "```\n~~~\n```\nx = 1.@"),
        ("````\n```\nx@\n````\nDone.", "```\n```\nx@"),
        ("Run:\n\n    x = 1@\n\nDone.", "Run\n    x = 1@\n\nDone."),
        ("\tx = 1@", "   x = 1@"),
        ("- a\n\n      x = 1@", "- a\n\n  x = 1@"),
        ("- ```\n  x@\n  ```", "- ```\n  x\n  ```\n  y@"),
        ("> ```\n> x@\n> ```", "> x@"),
        ("1. a\n\n   ~~~\n   x@\n   ~~~\n", "1. a\n\n   x@\n"),
        ("| a | `b@` |\n|---|---|\n", "| a | `b`@ |\n|---|---|\n"),
        ("# Use `x@`", "# Use `x`@"),
        ("Use `x@`\n===", "Use `x`@\n==="),
        ("Use <code>x@</code> so.", "Use <code>x</code>@ so."),
        ("<pre>\nx@\n</pre>", "<pre>\nx\n</pre>\n\ny@"),
        ("<pre>\n<p>@</p>\n</pre>", "<pre>\n<p>x</p>\n</pre>\n\ny@"),
        ('<code title="a>b">x@</code>', '<code title="a>b">x</code>@'),
        ("<CODE>x@</CODE>", "`<code>`x@`</code>`"),
        ("```\n\n@\n```", "```\n\n```\na@"),
        ("```\nx\n```@ Done.", "```\nx\n```\n@ Done."),
        ("```\nx\n    ```\ny@", "```\nx\n  ```\ny@"),
        ("-     x@", "-    x@"),
        ("- ```\n  x@", "- ```\nx@"),
        ("| `a\\|b@` |\n|---|\n", "| `a\\|b`@ |\n|---|\n"),
        ("🚀`e\u0301@`", "🚀`e\u0301`@"),
        ("\u200f`x@`", "\\`x@\\`"),
        ("```\r\nx = 1@\r\n```\r\nDone.", "```\r\nx = 1\r\n```\r\nDone.@"),
        ("```\rx = 1@\r```\rDone.", "```\rx = 1\r```\rDone.@"),
    ],
)
def test_in_code(broken: str, twin: str | None) -> None:
    if twin is None:
        assert rules(broken) == ([] if broken == "`a@" else ["in-code", "in-emphasis"])
    else:
        assert rules(broken) == ["in-code"]
        assert rules(twin) == []


@pytest.mark.parametrize(
    ("broken", "twin"),
    [
        ("**Bold.@** Text.", "**Bold.**@ Text."),
        ("*Italic@*", "*Italic*@"),
        ("_Italic@_", "_Italic_@"),
        ("__Bold@__", "__Bold__@"),
        ("**@Bold**", "@**Bold**"),
        ("**Bold@**Text.", "**Bold**@Text."),  # which a character in the marker's place would undo
        ("**a *b@* c**", "**a *b* c**@"),
        ("**a *b*@ c**", "*a* b@ *c*"),
        ("**a@*", "**a*@"),  # an asterisk, and a in italics
        ("***a**@*", "***a***@"),
        ("**[a@](https://example.org)**", "**[a](https://example.org)**@"),
        ("[**a@**](https://example.org)", "[**a**@](https://example.org)"),
        ("**a\nb@\nc**", "**a\nb\nc**@"),
        ("- **a@** b", "- **a**@ b"),
        ("- a\n  - **b@**", "- a\n  - **b**@"),
        ("> **a@** b", "> **a**@ b"),
        ("> **a\nb@** c", "> **a\nb**@ c"),
        ("1. **a@**", "1. **a**@"),
        ("## **a@** ##", "## **a**@ ##"),
        ("# # **a@**", "# # **a**@"),
        ("**a@**\n---", "**a**@\n---"),
        ("> # **a@**", "> # **a**@"),
        ("| a | **b@** |\n|---|---|\n| c | d |", "| a | **b**@ |\n|---|---|\n| c | d |"),
        ("| a | b |\n|---|---|\n| **c@** | d |", "| a | b |\n|---|---|\n| **c**@ | d |"),
        ("| a | **b@** |\n|---|---|\n| c | d | e |", "| a | b |\n|---|---|\n| c | d | **e@** |"),
        ("\x0c\n**a@**", "\x0c\n**a**@"),
        ("| a | b |\n|---|---|\n| c \\| x | **d@** |", "| a | b |\n|---|---|\n| **c** \\| x@ | **d** |"),
        ("a | b\n---|---\nc | **d@**", "a | b\n---|---\n**c**@ | **d**"),
        ("- | a | **b@** |\n  |---|---|\n  | - | c |", "- | - | **b**@ |\n  |---|---|\n  | - | c |"),
        ("> | a | b |\n> |---|---|\n> | **c@** | d |", "> | a | b |\n> |---|---|\n> | **c**@ | d |"),
        ("a<b>c@</b>", "a<b>c</b>@"),
        ("a<em>c@</em>", "a<br>c@</em>"),
        ('a<b title="a>b">c@</b>', 'a<b title="a>b">c</b>@'),
        ("a<B\nclass=c>d@</B>", "a<bold>d@</bold>"),
        ("**a&amp;@**", "&ast;a@&ast;"),
        ("**\u202bنعم@\u202c**", "**\u202bنعم\u202c**@"),
        ("**e\u0301@**", "**e\u0301**@"),
        ("**🚀@**", "**🚀**@"),
        ("<div>\n<strong>a@</strong>@\n</div>", "<div>\n<strong>a</strong>@\n</div>"),
        ("太字**です@**。", "太字**です**。@"),
        ("„**Fett@**“", "„**Fett**@“"),
        ("**Bold @** text", "**Bold** @ text"),  # which is none for the reader, as a blank is left
        ("a *b @* c", "a *b* @ c"),
        ("a **@** b", "a @ b"),
        ("a **@ b** c", "a @**b** c"),
        ("a *@*", "a*@*"),
        ("***a***@ **b@**", "***a***@ **b**@"),
    ],
)
def test_in_emphasis(broken: str, twin: str) -> None:
    assert rules(broken) == ["in-emphasis"]
    assert rules(twin) == []


@pytest.mark.parametrize(
    "text",
    [
        "2 * 3@ * 4",
        "snake_case@_name",
        "\\*a@\\*",
        "`*`a@`*`",
        "*a@",
        "<https://example.org/*>a@*",
        "![*a*](b)@",
        "| *a | b@* |\n|---|---|\n",
        "*a\n\nb@*",
        "[*a*](<b *>)@*",
        "[a]: /b '*x*'\n\n[a]@",
        "~~a@~~",
        "**a**@**b**",
        "*a*@*b*",
        "__a__@__b__",
        "**a**@*b*",
        "a**@b",
    ],
)
def test_what_is_no_emphasis(text: str) -> None:
    assert rules(text) == []


@pytest.mark.parametrize(
    ("broken", "twin"),
    [
        ("```\nx\n```@\nDone.", "```\nx\n```\nDone.@"),
        ("```\nx\n``` @\nDone.", "Done:@\n```\nx\n```"),
        ("```\nx\n@```", "Done:@\n```\nx\n```"),
        ("~~~\nx\n~~~~@", "~~~\nx\n~~~\n\nDone.@"),
        ("```\n```@", "Done:@\n```\n```"),
        ("- ```\n  x\n  ```@", "- ```\n  x\n  ```\n- y@"),
        ("> ```\n> x\n> ```@\n", "> ```\n> x\n> ```\n> y@\n"),
        ("````\nx\n`````@", "````\nx\n````\ny@"),
        ("```\n\n```@", "```\n\n```\na@"),
        ("```\r\nx\r\n```@\r\nDone.", "```\r\nx\r\n```\r\nDone.@"),
    ],
)
def test_on_fence_line(broken: str, twin: str) -> None:
    assert rules(broken) == ["on-fence-line"]
    assert rules(twin) == []


@pytest.mark.parametrize("mark", [*".,;:!?", *"。，、；：！？．"])
def test_before_punctuation(mark: str) -> None:
    for broken in (f"Yes@{mark} No", f"Yes @{mark} No", f"はい@{mark}次", f"**Ja**@{mark}", f"Yes “so”@{mark}"):
        assert rules(broken) == ["before-punctuation"]
    assert rules(f"Yes@@{mark} No") == ["before-punctuation"] * 2
    for twin in (f"Yes{mark}@ No", f"Yes{mark} @ No", f"はい{mark}@次", f"Yes.@{mark}", f"Yes{mark}@@", f"Yes@ {mark}"):
        assert rules(twin) == []


def test_punctuation_in_emphasis_stands_before_a_marker() -> None:
    for twin in ("**Yes.**@, no", "**Sources:** @, @", "*__Yes!__* @. No", "~~Yes?~~@: no"):
        assert rules(twin) == []
    for broken in ("**Yes**@, no", "**Yes.** no @, so", "**@, no", "* @, no"):
        assert rules(broken) == ["before-punctuation"]


def test_an_image_behind_a_marker_begins_with_no_punctuation() -> None:
    assert rules("Yes@![a plan](b)") == []
    assert rules("Yes@! [a plan](b)") == ["before-punctuation"]
    assert rules("Yes@!@[a plan](b)") == ["before-punctuation"]
    assert rules("Yes@!") == ["before-punctuation"]


@pytest.mark.parametrize("word", [".NET", ".5", ":smile:", "./path", "!=", ";-)", "?x=1", ",b"])
def test_what_begins_a_word_is_no_punctuation_behind_a_blank(word: str) -> None:
    for twin in (f"Uses @{word} so", f"@{word} so", f"Uses\n@{word} so", f"Uses @@{word}", f"Uses\u3000@{word}"):
        assert rules(twin) == []
    for broken in (f"Yes@{word}", f"Yes @{word[0]}", f"Yes @{word[0]} so", f"Yes @{word[0]}\n", f"Yes @{word[0]})"):
        assert rules(broken) == ["before-punctuation"]
    assert rules(f"Yes @{word[0]}@{word[1:]}") == ["before-punctuation"]


def test_text_of_another_marker_is_text() -> None:
    named = '\ue200entity\ue202["person",".NET"]\ue201'
    assert rules(f"Uses@{named}.") == ["before-punctuation"]
    assert rules(f"Uses @{named}.") == []
    assert rules(f"Uses {named}@") == []
    assert rules(f"Uses {named}.@\ue200hidden\ue202x\ue201.") == []
    assert rules(f"Uses {named} for turn@") == []


@pytest.mark.parametrize(
    ("broken", "twin"),
    [
        ("Yes.\n@", "Yes.@\n"),
        ("Yes.\n\n@\n\nNo.", "Yes.@\n\nNo."),
        ("@\n\nYes.", "@ Yes."),
        ("Yes.\n  @ @\t\nNo.", "Yes.\n  @ @\tNo."),
        ("- Yes.\n- @", "- Yes.\n- @ No."),
        ("1. @\n2. Yes.", "1. a@\n2. Yes."),
        ("1. @\n   Yes.", "1. Yes.\n   No.@"),
        ("10) @", "10@"),
        ("> Yes.\n> @", "> Yes.\n> No.@"),
        ("# @", "# Yes@"),
        ("Yes.\n(@)", "Yes. (@)"),
        ("Yes.\n[@ @]", "Yes [@ @]"),
        ("Yes.\n\n---@\n\nNo.", "Yes.@\n\n---\n\nNo."),
        ("はい。\n（@）", "はい。（@）"),
        ("Yes.\r\n@\r\nNo.", "Yes.@\r\nNo."),
        ("<div>\n@\n</div>", "<div>\na@\n</div>"),
        ("Yes.\n\n<p>@</p>", "Yes.\n\n<p>a@</p>"),
        ("Yes.<br>\n<br>@", "<b>Yes.</b><br>@"),
        ("<p>Yes.\n<p>@", "Yes.\n`<p>`@"),
        ("Yes.\n&nbsp;@", "Yes.\n`&nbsp;`@"),
        ("Yes.[^1]\n\n[^1]: @", "Yes.[^1]\n\n[^1]: a@"),
        ("Yes.\n\n> [^note]:@", "Yes.\n\n[^1]@"),
        ("- [x] @", "- [x] a@"),
        ("- [ ] @", "- `[x]`@"),
        ("\u200b@", "\u200ba@"),
        ("\ufeff@\n\nYes.", "\ufeffYes.@"),
        ("نعم.\n\u200f@", "نعم.\u200f@"),
        ("Yes.\n\u2066@\u2069", "\u2066Yes.@\u2069"),
    ],
)
def test_alone(broken: str, twin: str) -> None:
    assert rules(broken) == ["alone"]
    assert rules(twin) == []


def test_a_cell_in_html_may_hold_a_marker_alone() -> None:
    assert rules("<table>\n<tr>\n<td>@</td>\n</tr>\n</table>") == []


def test_each_marker_of_a_block_has_its_place() -> None:
    assert rules("```\n@x\n@y\n```") == ["in-code", "in-code"]
    assert rules("| **a@** | b@ | `c@` |\n|---|---|---|\n| a@ | b@ | *c@* |") == [
        "in-emphasis",
        "in-code",
        "in-emphasis",
    ]
    assert rules("# **a@** b@ `c@`") == ["in-emphasis", "in-code"]
    assert rules("**a@** b@ `c@`\n*d@*@ e") == ["in-emphasis", "in-code", "in-emphasis"]


def test_a_cell_of_a_table_may_hold_a_marker_alone() -> None:
    assert rules("| Rule | Source |\n|---|---|\n| Yes | @ |\n| | @ |\n") == []


@pytest.mark.parametrize(
    ("broken", "twin"),
    [
        ("A.\n\nB.@@@", "A.@\n\nB.@@"),
        ("A.\n\nB. @ @ @", "A.\n\nB.@@ C.@"),
        ("A.\n\nB.\n\nSources: @, @, @", "A.\n\nB.\n\nSources: @, b, @, @"),
        ("- a\n- b@@@", "- a@\n- b@@"),
        ("A.\n\n> b@@@", "A.\n\n> b@@@c"),
        ("# T\n\nA.\n\nB.@@@\n\n---", "# T\n\nA.@@@"),
        ("A.\n\nB.@@@\n\n```\nx\n```", "A.\n\nB.@@@\n\n# T"),
        ("A.\n\nB.@@@\n\n", "A.\nB.@@@\n"),
        ("A.\n\nB.@@@\n\n<hr>", "A.\n\nB.@@@\n\n<p>C.</p>"),
        ("A.\n\nB.@@@\n\n<!-- C. -->", "A.\n\nB.@@@\n\n<div>\nC.\n</div>"),
        ("A.\n\nB.@@@\n\n<!-- C.", "A.\n\nB.@@@\n\n<!-- b -->C."),
        ("A.\n\nB.@@@\n\n> <div\n> ", "A.\n\nB.@@@\n\n> <div>a\n> "),
        ("A.\n\nB.\n\n<p title='c'>D.@@@</p>", "A.\n\nB.\n\n<p>C.@@d@</p>"),
        ("文。\n\n次。@@@", "文。次。@@@"),
    ],
)
def test_all_at_end(broken: str, twin: str) -> None:
    assert [rule for rule in rules(broken) if rule != "before-punctuation"] == ["all-at-end"]
    assert "all-at-end" not in rules(twin)


def test_two_at_the_end_are_those_of_the_last_paragraph() -> None:
    assert rules("A.\n\nB.@@") == []


def test_a_list_of_markers_at_the_end() -> None:
    assert rules("A.\n\nB.\n\n1. @\n2. @\n3. @\n") == ["alone", "all-at-end", "alone", "alone"]


def test_uncited() -> None:
    assert rules("Yes.") == ["uncited"]
    assert rules("") == ["uncited"]
    assert rules("Yes.@") == []
    assert rules("Yes.", None) == []
    assert rules("Yes.", {}) == []
    assert rules("Yes.", {"a1": Source("a1", citable=False)}) == []


@pytest.mark.parametrize(
    ("tried", "twin"),
    [
        ("\ue200cite\ue202turn0file1", "\ue200entity\ue202["),
        ("\ue200cite\ue202", "\ue200cited\ue202"),
        ("\ue200filecite", "\ue200entity"),
        ("\ue200ci", "\ue200cix"),
        ("\ue200", "\ue201"),
        ("\ue200cite\ue202\ue201", "\ue200entity\ue201"),
        ("\ue200cite\ue201", "\ue202"),
        ("\ue200cite\ue202L3\ue201", "\ue200entity\ue202[\ue200entity\ue202x\ue201"),
        ("\ue200 a", "\ue201 a"),
    ],
)
def test_what_is_left_of_a_citation_is_not_told_as_none(tried: str, twin: str) -> None:
    assert rules(f"Yes.{tried}") == ["malformed-marker"]
    assert sorted(rules(f"Yes.{twin}")) == ["malformed-marker", "uncited"]


def test_a_citation_that_was_prose_is_not_told_as_none() -> None:
    assert rules("See \ue200cite\ue202appendix2 and") == ["repaired-marker", "unknown-source"]


def test_what_must_not_be_cited_is_not_missed() -> None:
    sources = Sources()
    for number in (0, 1):
        sources.add(Source(f"turn{number}file0", "one"))
    sources.mark_shown("turn0file0")
    sources.user_message()
    assert lint("Yes.", sources)[0].rule == "uncited"
    assert lint("Yes.", sources, scope="answer")[0].rule == "uncited"  # the other may have been shown
    sources.mark_shown("turn1file0")
    assert lint("Yes.", sources, scope="answer")[0].rule == "uncited"
    sources.user_message()
    assert lint("Yes.", sources, scope="answer") == []


# What a finding tells


def test_a_finding() -> None:
    answer = f"Naïve 🚀.{cite('nope')} So `x{MARKER}`."
    assert lint(answer, SOURCES) == [
        Finding(
            rule="unknown-source",
            severity="error",
            message="Cite a source that was given: none that may be cited has the id nope.",
            start=8,
            end=8 + len(cite("nope")),
            position=8,
        ),
        Finding(
            rule="in-code",
            severity="warning",
            message="Move the marker out of the code, after the text that it supports.",
            start=len(f"Naïve 🚀.{cite('nope')} So `x"),
            end=len(answer) - 2,
            position=len("Naïve 🚀. So `x"),
        ),
    ]
    assert lint(answer, SOURCES)[0].to_dict() == {
        "rule": "unknown-source",
        "severity": "error",
        "message": "Cite a source that was given: none that may be cited has the id nope.",
        "start": 8,
        "end": 19,
        "position": 8,
    }


def test_a_finding_of_several_markers_spans_them() -> None:
    answer = f"A.\n\nB.{MARKER} {MARKER} {MARKER}"
    assert [(finding.start, finding.end, finding.position) for finding in lint(answer)] == [(6, len(answer), 6)]
    answer = f"A.\n {MARKER} {MARKER}\n"
    assert [(finding.start, finding.end, finding.position) for finding in lint(answer)] == [(4, len(answer) - 1, 4)]


def test_messages_name_what_is_wrong() -> None:
    sources = {**SOURCES, "one1": Source("one1", "line"), "none1": Source("none1", "")}
    fields = [("turn0file1", "L9"), ("one1", "L2"), ("none1", "L1"), ("block-7", "L1")]
    answer = "".join(f"Yes.{cite(*pair)} " for pair in fields) + "Yes.\ue200cite\ue202turn0file1\ue202L1 so"
    assert [finding.message for finding in lint(answer, sources)] == [
        "Cite lines that turn0file1 has, from L1 to L3: it has no L9.",
        "Cite lines that one1 has, L1: it has no L2.",
        "Leave L1 out: none1 has no numbered lines.",
        "Leave L1 out: block-7 has no numbered lines.",
        "Write the marker in its exact form: of this one only turn0file1 L1 could be read.",
    ]
    sentences = [finding.message for finding in lint("\ue200cite\ue202\ue201 \ue201", sources)]
    assert all(message.endswith(".") and message[0].isupper() for message in sentences)


# The options


def test_another_format() -> None:
    brackets = CitationFormat(start="[[", delimiter="|", stop="]]", source_id="[a-z0-9]+")
    assert [finding.rule for finding in lint("**a[[cite|b1]]** b1", {"b1": Source("b1")}, format=brackets)] == [
        "in-emphasis",
        "bare-id",
    ]


def test_options_of_the_parser() -> None:
    answer = "Yes.\ue200cite\ue202turn0file1"
    assert rules(answer) == ["malformed-marker"]
    assert [finding.rule for finding in lint(answer, SOURCES, complete=True)] == ["repaired-marker"]
    found = lint(f"Yes.\ue201 A{MARKER}.", malformed="keep")
    assert [(finding.rule, finding.position) for finding in found] == [
        ("malformed-marker", 4),
        ("before-punctuation", 7),
    ]


def test_misuse() -> None:
    with pytest.raises(ValueError, match=r"^lines: must be one of 'optional', 'required', not 'none'"):
        lint("", lines="none")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^scope: must be one of"):
        lint("", scope="turn")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^sources: must be a mapping"):
        lint("", [])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^format: must be a CitationFormat"):
        lint("", format="openai")  # type: ignore[arg-type]


def test_without_markdown_it_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("streamcite.lint.markdown", "streamcite.lint.inline"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "markdown_it", None)
    with pytest.raises(
        ModuleNotFoundError, match=r'^markdown_it is not .* pip install "streamcite\[markdown\]"'
    ) as raised:
        lint("")
    assert raised.value.name == "markdown_it"


# Examples


def examples(text: str, format: CitationFormat = OPENAI) -> list[str]:
    """Give the answers that instructions show: a sentence and the markers after it, at the end of a rule."""
    rules = [rule.rpartition(": ") for rule in text.split("\n") if format.start in rule]
    return [example for _, colon, example in rules if colon]


@pytest.mark.parametrize("material", ["tool", "tool_lines", "blocks"])
@pytest.mark.parametrize("several", ["one_marker", "separate_markers"])
def test_nothing_is_found_in_an_example_of_the_instructions(material: str, several: str) -> None:
    shown = examples(instructions(material=material, several=several))  # type: ignore[arg-type]
    assert len(shown) >= 2
    for answer in shown:
        cited = [id for event in parse(answer) if isinstance(event, Citation) for id in event.source_ids]
        assert cited
        assert lint(answer, {id: Source(id, "line\n" * 50) for id in cited}, scope="answer") == []


def test_nothing_is_found_in_the_examples_with_required_lines() -> None:
    for answer in examples(instructions(material="tool_lines", lines="required")):
        assert lint(answer, lines="required") == []


# Anything


@given(answers)
def test_no_answer_raises_and_findings_are_within_it(answer: str) -> None:
    events = parse(answer)
    assert source_text(events) == answer
    for finding in lint(answer, SOURCES):
        assert 0 <= finding.start <= finding.end <= len(answer)
        if finding.rule == "bare-id":
            assert re.fullmatch("(?:turn0file1+|block-7)", answer[finding.start : finding.end].strip("【】"))
        elif finding.rule not in ("alone", "all-at-end", "uncited"):
            assert answer[finding.start] in "\ue200\ue201\ue202"


@given(answers)
def test_a_position_is_what_the_reader_sees_in_front(answer: str) -> None:
    shown = ""  # of what stands before each character of the input
    places = []
    for event in resolve(answer, SOURCES):
        if not isinstance(event, Resolved):
            places += [len(shown)] * len(event.raw) if not isinstance(event, str) else []
            places += range(len(shown), len(shown) + len(event)) if isinstance(event, str) else []
            shown += str(event)
    for finding in lint(answer, SOURCES):
        assert finding.position == [*places, len(shown)][finding.start]


def calls(answer: str) -> int:
    """Count the calls of functions that linting takes, also of those written in C."""
    count = 0

    def note(_: object, event: str, __: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        lint(answer, SOURCES)
    finally:
        sys.setprofile(None)
    return count


@settings(max_examples=60)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join))
def test_a_longer_answer_takes_as_many_more_calls(unit: str) -> None:
    lint(unit, SOURCES)  # what is made once
    assert calls(unit * 160) < 4.5 * calls(unit * 40) + 2_000
