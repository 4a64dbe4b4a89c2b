"""Where a marker stands: each rule on places, what breaks it, and a twin that does not."""

import pytest

from streamcite import Source, Sources
from streamcite.lint import lint
from tests.linting import rules


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
def test_what_is_not_emphasis(text: str) -> None:
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


def test_an_image_after_a_marker_does_not_begin_with_punctuation() -> None:
    assert rules("Yes@![a plan](b)") == []
    assert rules("Yes@! [a plan](b)") == ["before-punctuation"]
    assert rules("Yes@!@[a plan](b)") == ["before-punctuation"]
    assert rules("Yes@!") == ["before-punctuation"]


@pytest.mark.parametrize("word", [".NET", ".5", ":smile:", "./path", "!=", ";-)", "?x=1", ",b"])
def test_what_begins_a_word_is_not_punctuation_after_a_blank(word: str) -> None:
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
def test_what_is_left_of_a_citation_is_not_reported_as_none(tried: str, twin: str) -> None:
    assert rules(f"Yes.{tried}") == ["malformed-marker"]
    assert sorted(rules(f"Yes.{twin}")) == ["malformed-marker", "uncited"]


def test_a_citation_that_was_prose_is_not_reported_as_none() -> None:
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
