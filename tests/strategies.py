"""Hypothesis strategies for formats, options, texts and cuts.

A format is drawn as keyword arguments, so that a test can build `Fmt(**d)` and `CitationFormat(**d)` from one draw.
Everything is drawn from small pools: what finds faults is the order of tokens, not the variety of letters.
"""

import itertools
from collections.abc import Iterator
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

FormatArgs = dict[str, Any]
Options = dict[str, Any]


def examples(number: int) -> settings:
    """Let a property whose examples are slow have that many of them where others have 200, and its share elsewhere."""
    return settings(max_examples=max(5, number * settings().max_examples // 200))


# What a display function may do. They are named, so that a failing example can be read.


def show_all(fields: tuple[str, ...]) -> str:
    return "/".join(fields)


def show_raising(fields: tuple[str, ...]) -> str:
    raise LookupError(fields)


def show_no_text(fields: tuple[str, ...]) -> Any:
    return len(fields)


def show_markup(fields: tuple[str, ...]) -> str:
    """Return tokens of several formats, some of which only meet when what stands between them is removed."""
    return "a[[b]][\ud800[\ue200\ue203c<<<|x|x<|\udfff\ue201*" + fields[0]


OPENAI: FormatArgs = {}
CHATGPT: FormatArgs = {"ignored": ("\ue203", "\ue204", "\ue206")}
SHORT: FormatArgs = {"families": ("c", "ref")}
SPACED: FormatArgs = {
    "families": ("c",),
    "source_id": r"[\w.:-]+",
    "locator": "P(?:aragraph)? [0-9]+",
    "spaces_in_fields": True,
}
SPACED_LINES: FormatArgs = {"spaces_in_fields": True, "ignored": ("*",)}
BRACKETS: FormatArgs = {"start": "[[", "delimiter": "|", "stop": "]]", "families": ("c", "ref")}
CJK_BRACKETS: FormatArgs = {"start": "【", "delimiter": "†", "stop": "】", "families": ("c",), "ignored": ("*", "「")}
ASCII: FormatArgs = {"start": "{", "delimiter": ":", "stop": "}", "families": ("c",), "field_chars": "[a-z0-9-]"}
TAGS: FormatArgs = {"start": "<|cite|>", "delimiter": "|", "stop": "<|/cite|>", "families": ("cite",)}
NASTY: FormatArgs = {"start": "<<|x", "delimiter": "|", "stop": "<|", "families": ("c",)}
START_IN_DELIMITER: FormatArgs = {"start": "<|", "delimiter": "x<", "stop": ">", "families": ("c",)}
STOP_IN_START: FormatArgs = {"start": "aab", "delimiter": "ac", "stop": "b", "families": ("cite", "c")}
LETTERS: FormatArgs = {"start": "AB", "delimiter": "CD", "stop": "EF", "families": ("c", "cC")}
PRIVATE: FormatArgs = {"start": "\ue200\ue201\ue203", "delimiter": "\ue202\ue202", "stop": "\ue201", "families": ("c",)}
HALF_PRIVATE: FormatArgs = {"delimiter": "|", "families": ("c",)}
WIDE: FormatArgs = {"families": ("c",), "source_id": r"[\w.]+", "field_chars": r"\S", "ignored": ("*", "\ue203")}
WHITESPACE_CHARS: FormatArgs = {"families": ("c",), "field_chars": r"[\s!-~]", "source_id": r"[^#]+"}

KNOWN_FORMATS: dict[str, FormatArgs] = {
    "openai": OPENAI,
    "chatgpt": CHATGPT,
    "short": SHORT,
    "spaced": SPACED,
    "spaced lines": SPACED_LINES,
    "brackets": BRACKETS,
    "CJK brackets": CJK_BRACKETS,
    "ASCII": ASCII,
    "tags": TAGS,
    "nasty": NASTY,
    "start in delimiter": START_IN_DELIMITER,
    "stop in start": STOP_IN_START,
    "letters": LETTERS,
    "private": PRIVATE,
    "half private": HALF_PRIVATE,
    "wide": WIDE,
    "whitespace chars": WHITESPACE_CHARS,
}

_FAMILIES = (
    "c",
    "cite",
    "filecite",
    "ref",
    "url",
    "url",
    "entity",
    "entity",
    "g",
    "g",
    "cit",
    "",
    "c1",
    "C-_",
    "1",
    "é",
    "a" * 32,
    "a" * 33,
)
_GOOD_FIELDS = ("a1", "b2", "c", "turn0file0", "turn1search2", "L2", "L8-L13", "L8–13", "P 2", '["x","Ada",0]')
_FIELDS = (
    *(
        "a1",
        "b",
        "turn0file0",
        "turn1search2",
        "L2",
        "L8-L13",
        "L8–13",
        "L8x",
        "a1.",
        "a1)",
        "a1(",
        "a1-",
        "a.1",
        ".a1",
    ),
    *("", " ", "#", "é1", "文1", "a٣", "L٣", "https://a.example/1", "doc.v2:3", "P 2", "Paragraph 21", "a1 b", "a1” b"),
    *('{"a":[1]}', '["x","Ada",0]', '["x","\\ue201\\ud800[["]', "[1", "{\n1}", "{\n\n", "{\r\n\r\n", "[\n\r\r\n", "{"),
    *("a1" * 32, " " + "a1" * 32, "a1" * 32 + "b"),
)
_PROSE = (
    *("a", "x", "B", "1", "9", " ", "  ", "\n", "\r\n", "\r", "\n\n", "\t", "\u3000", "\x85", "\x1c", "\xa0", "\u200b"),
    *(
        ".",
        ",",
        "!",
        ")",
        "(",
        ";",
        ":",
        "”",
        "“",
        "'",
        '"',
        "-",
        "–",
        "—",
        "−",
        "_",
        "=",
        "*",
        "#",
        "{",
        "[",
        "]",
        "}",
    ),
    *("and so on", "。", "「", "中文", "é", "\N{GRINNING FACE}", "\ud800", "\ue0b0", "\ue203", "\ue206"),
)
# What stands before and after a token in its field.
_PADDING = st.sampled_from((*[("", "")] * 8, (" ", ""), ("", " "), ("\n", ""), ("", "\n"), ("\t", "  ")))
_FAULTS = (*["none"] * 5, *["no stop"] * 3, "missing", "doubled", "other", "cut")


# Bodies as models write them, and what may stand after one where its stop should be.
_BODIES = (
    *(
        ["a1"],
        ["a1", "L2"],
        ["a1", "b2"],
        ["a1", "L2", "L3"],
        ["a1", "L2", "b2", "L8–13"],
        ["a1", "P 2"],
        ["c"],
        ["L2"],
    ),
    *(["a1", ""], ["", " ", "a1"], [" a1 ", "L2 "], ["a1."], ["a1", "L2,"], ["a1", "#"], ["a1", "c"], ["a1", " L2"]),
)
_SEQUELS = ("", " ", " x", "\n", "\n\nx", ". Next", ".", ")x", "é", "中文", "  .", "\r\n")


def tokens_of(fmt: FormatArgs) -> tuple[str, str, str]:
    """Return start, delimiter and stop of a drawn format."""
    return fmt.get("start", "\ue200"), fmt.get("delimiter", "\ue202"), fmt.get("stop", "\ue201")


def _may_be_tokens(tokens: tuple[str, str, str]) -> bool:
    return not any(a.startswith(b) for a, b in itertools.permutations(tokens, 2))


_TOKEN_ALPHABETS = ("<|x", "[]|", "ab", "\ue200\ue201\ue202", "<|\ue200", "{}", "1-L", "aL1:", "。x.")


@st.composite
def random_formats(draw: st.DrawFn) -> FormatArgs:
    """Draw a format with overlapping tokens; only rules of the semantics are kept, no good sense."""
    token = st.text(draw(st.sampled_from(_TOKEN_ALPHABETS)), min_size=1, max_size=4)
    tokens = draw(st.tuples(token, token, token).filter(_may_be_tokens))
    ignored = st.sampled_from([c for c in "*\ue203\ue206~•" if c not in "".join(tokens)])
    optional = {
        "families": st.sampled_from((("c",), ("cite", "ref"), ("a", "b"), ("url",), ("a" * 32,))),
        "source_id": st.sampled_from((r"[\w.:-]+", "[A-Za-z0-9_-]+", "[a-z]*[0-9]", ".+")),
        "locator": st.sampled_from((r"L?[0-9]+", "P [0-9]+", ".*2")),
        "field_chars": st.sampled_from((r"\S", ".", "[a-z0-9]", "[!-~*文]", r"[^.*]")),
        "spaces_in_fields": st.booleans(),
        "ignored": st.lists(ignored, unique=True, max_size=3).map(tuple),
    }
    names = ("start", "delimiter", "stop")
    return {**dict(zip(names, tokens, strict=True)), **draw(st.fixed_dictionaries({}, optional=optional))}


_DISPLAYS = st.dictionaries(
    st.sampled_from(("url", "entity", "g", "c1")),
    st.sampled_from((show_all, show_raising, show_no_text, show_markup)),
    max_size=3,
)


@st.composite
def formats(draw: st.DrawFn) -> FormatArgs:
    """Draw the keyword arguments of a format: a known one more often than a random one."""
    known = st.sampled_from(list(KNOWN_FORMATS.values()))
    fmt = draw(random_formats() if draw(st.integers(0, 3)) == 0 else known)
    return {**fmt, "display": draw(_DISPLAYS)} if draw(st.integers(0, 3)) == 0 else fmt


@st.composite
def options(draw: st.DrawFn) -> Options:
    """Draw keyword arguments of a parser, `format` apart; limits are low where there are any."""
    drawn: Options = {}
    if draw(st.booleans()):
        drawn["malformed"] = draw(st.sampled_from(("drop", "keep")))
    if draw(st.booleans()):
        drawn["repair"] = draw(st.booleans())
    if draw(st.integers(0, 2)) == 0:
        drawn["max_marker"] = draw(st.sampled_from((8, 9, 10, 12, 16, 24, 32, 48, 64, 128)))
    if draw(st.integers(0, 2)) == 0:
        drawn["max_payload"] = drawn.get("max_marker", 4096) + draw(st.sampled_from((0, 1, 2, 8, 100)))
    return drawn


@st.composite
def usual_markers(draw: st.DrawFn, fmt: FormatArgs) -> str:
    """Draw a marker of a citation family as models write them, often without its stop."""
    start, delimiter, stop = tokens_of(fmt)
    family: str = draw(st.sampled_from(tuple(fmt.get("families", ("cite", "filecite")))))
    body = delimiter.join(draw(st.sampled_from(_BODIES)))
    ending: str = draw(st.sampled_from((*[stop] * len(_SEQUELS), *_SEQUELS, start)))
    return start + family + delimiter + body + ending


@st.composite
def markers(draw: st.DrawFn, fmt: FormatArgs) -> str:
    """Draw a marker in which, now and then, one part is missing, doubled or another one."""
    start, delimiter, stop = tokens_of(fmt)
    cited = st.sampled_from(tuple(fmt.get("families", ("cite", "filecite"))))
    family = draw(st.one_of(cited, cited, st.sampled_from(_FAMILIES)))
    parts = [start, family]
    good = st.sampled_from(_GOOD_FIELDS)
    field = st.one_of(good, good, good, st.sampled_from(_FIELDS))
    for _ in range(draw(st.sampled_from((1, 2, 2, 3, 4)))):
        before, behind = draw(_PADDING)
        parts += [delimiter, before, draw(field), behind]
    parts.append(stop)
    place = draw(st.integers(0, len(parts) - 1))
    match draw(st.sampled_from(_FAULTS)):
        case "no stop":
            del parts[-1]
        case "missing":
            del parts[place]
        case "doubled":
            parts.insert(place, parts[place])
        case "other":
            parts[place] = draw(st.sampled_from((start, delimiter, stop, *_PROSE)))
        case "cut":
            parts[place:] = [parts[place][:-1]]
    return "".join(parts)


@st.composite
def texts(draw: st.DrawFn, fmt: FormatArgs, *, max_pieces: int = 8) -> str:
    """Draw a text for a format: markers, nearly markers, tokens, pieces of tokens and prose, in any order."""
    tokens = tokens_of(fmt)
    fragments = sorted({t[i:j] for t in tokens for i, j in itertools.combinations(range(len(t) + 1), 2)})
    piece = st.one_of(
        *[usual_markers(fmt)] * 3,
        *[markers(fmt)] * 3,
        st.sampled_from(tokens),
        st.sampled_from(fragments),
        st.sampled_from((*_FIELDS, *_FAMILIES)),
        st.sampled_from((*_PROSE, *fmt.get("ignored", ()))),
        st.sampled_from(_PROSE),
    )
    # The size is drawn first: lists that hypothesis sizes itself are mostly too short for a marker and its sequel.
    size = draw(st.integers(1, max_pieces))
    return "".join(draw(st.lists(piece, min_size=size, max_size=size)))


def short_texts(fmt: FormatArgs, *, max_pieces: int = 12) -> st.SearchStrategy[str]:
    """Draw a text of a few characters' pieces, short enough for every partition of it to be tried."""
    pieces = (
        *tokens_of(fmt),
        *tokens_of(fmt),
        *fmt.get("families", ("cite",)),
        *"aa11 L2.\n{*é",
        *fmt.get("ignored", ()),
    )
    sized = st.integers(0, max_pieces).flatmap(
        lambda size: st.lists(st.sampled_from(pieces), min_size=size, max_size=size)
    )
    return sized.map("".join)


@st.composite
def cuts(draw: st.DrawFn, text: str) -> list[str]:
    """Draw a partition of `text` into deltas, empty ones included."""
    places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=len(text) + 2)))
    return [text[i:j] for i, j in itertools.pairwise([0, *places, len(text)])]


def partitions(text: str) -> Iterator[list[str]]:
    """Give every partition of `text` into non-empty deltas: two to the power of the places between characters."""
    between = range(1, len(text))
    for size in range(len(text) or 1):
        for places in itertools.combinations(between, size):
            yield [text[i:j] for i, j in itertools.pairwise([0, *places, len(text)])]


@st.composite
def inputs(draw: st.DrawFn) -> tuple[FormatArgs, Options, str, bool]:
    """Draw a format, options, a text for the format, and what `close` is told."""
    fmt = draw(formats())
    text = draw(st.one_of(texts(fmt), texts(fmt), short_texts(fmt)))
    return fmt, draw(options()), text, draw(st.booleans())
