"""The Markdown of a text that citations stand in, as markdown-it-py reads the text without them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.common.normalize_url import normalizeLink
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from streamcite.markdown.leaves import Leaves, block_reader
from streamcite.urls import is_safe_url

if TYPE_CHECKING:
    from markdown_it.utils import EnvType  # not in all versions

# What a sign may stand beside that is looked at closely: for each of this many in one block. More are placed at its
# end.
_MOST = 16
_OPENING, _CLOSING, _WORD = re.compile(r"[*_~`\[(<!\\]+\Z"), re.compile(r"[*_~`\])>]+"), re.compile(r"\S*")
_NEAR = 256
_NOTHING = re.compile(r"(?!)")


class Sign(NamedTuple):
    """What stands for a citation in the text of tokens: punctuation at both ends, so that emphasis beside it stays.

    Attributes:
        offset: where in the text the citation is, in code points.
        text: what stands for it.
    """

    offset: int
    text: str


def read(text: str, signs: Sequence[Sign], pattern: re.Pattern[str], env: EnvType) -> list[Token]:
    """Read a text as CommonMark with tables and strikethrough, without HTML, and put signs where citations are.

    But for the signs, the tokens are those of the text without citations. A sign is in the content of a token of text
    or of a block of code; that of a citation within a link, an image or a span of code is after that. Links are safe,
    as `is_safe_url` says; what is not a safe one is text.

    Args:
        text: whole blocks, whose lines end with a line feed.
        signs: those of its citations, in order.
        pattern: matches a sign, and nothing else in the text.
        env: what is known of link references; what is found is added.
    """
    leaves = Leaves(text, (sign.offset for sign in signs), _blocks(), env)
    within: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)  # by token
    behind: defaultdict[int, list[str]] = defaultdict(list)
    places = _Places(leaves.tokens)
    for sign in signs:
        leaf, offset = leaves.find(sign.offset)
        if leaf is not None and offset >= 0:
            within[id(leaf.token)].append((offset, sign.text))
        else:
            index = places.before(leaves.line(sign.offset) if leaf is None else leaf.begin)
            token = leaves.tokens[index] if index >= 0 else None
            if token is not None and token.type == "inline":
                within[id(token)].append((len(token.content), sign.text))
            else:
                behind[index].append(sign.text)
    _process(leaves.tokens, env)
    for token in leaves.tokens:
        if token.type == "inline":
            token.children = _with_signs(token, within.get(id(token), []), pattern, env)
        elif id(token) in within:
            token.content = _inserted(token.content, within[id(token)])
    return list(_with_paragraphs(leaves.tokens, behind))


def read_blocks(text: str, env: EnvType) -> list[Token]:
    """Read the blocks of a text, and nothing of what is in them.

    Args:
        text: whole blocks, or the beginning of them, whose lines end with a line feed.
        env: what is known of link references; what is found is added.
    """
    return _blocks().parse(text, env)


def read_inline(content: str, env: EnvType) -> list[Token]:
    """Read inline content without citations, as `read` does.

    Args:
        content: that of a token, or part of it.
        env: what is known of link references.
    """
    return list(_settled(_inline(content, env), _NOTHING))


class _Places:
    """Find the last block that begins on a line or before it."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        placed = [(token.map[0], index) for index, token in enumerate(tokens) if token.map and token.nesting >= 0]
        self._begins = [begin for begin, _ in placed]
        self._indices = [index for _, index in placed]

    def before(self, line: int) -> int:
        """Give the index of its token, the innermost's; -1 if there is none."""
        found = bisect_right(self._begins, line)
        return self._indices[found - 1] if found else -1


def _with_signs(token: Token, signs: Sequence[tuple[int, str]], pattern: re.Pattern[str], env: EnvType) -> list[Token]:
    """Give the inline content of a token with signs, if it stays what it is; else they come at its end."""
    clean = token.children or []
    if signs:
        shown = _rendered(clean, env)

        def fits(placed: Sequence[tuple[int, str]]) -> list[Token] | None:
            children = _inline(_inserted(token.content, placed), env)
            return children if pattern.sub("", _rendered(children, env)) == shown else None

        children = fits(signs)
        if children is None and len(signs) <= _MOST:
            moved = [_moved(token.content, sign, fits) for sign in signs]
            children = fits(sorted(moved, key=lambda sign: sign[0]))
        if children is None:
            children = [*clean, _text("".join(text for _, text in signs))]
        clean = children
    settled = list(_settled(clean, pattern))
    # What was moved may have overtaken others: all signs are alike, except for what they stand for.
    texts = iter([text for _, text in signs])
    for child in settled if signs else ():
        child.content = pattern.sub(lambda _: next(texts), child.content)
    return settled


def _moved(content: str, sign: tuple[int, str], fits: Any) -> tuple[int, str]:
    """Find the nearest place for a sign that changes nothing: beside the marks and the word that it stands in."""
    offset, text = sign
    near = content[max(offset - _NEAR, 0) : offset]
    opening, closing, word = _OPENING.search(near), _CLOSING.match(content, offset), _WORD.match(content, offset)
    places = (
        offset,
        closing.end() if closing else offset,
        offset - len(opening[0]) if opening else offset,
        word.end() if word else offset,
    )
    return next(((place, text) for place in dict.fromkeys(places) if fits([(place, text)])), (len(content), text))


def _settled(children: Sequence[Token], pattern: re.Pattern[str]) -> Iterator[Token]:
    """Take signs out of what no citation can be drawn in, and put them after it; and show images as links."""
    moved: list[str] = []
    links = 0

    def cut(text: str) -> str:
        moved.extend(found[0] for found in pattern.finditer(text))
        return pattern.sub("", text)

    for token in _leading_somewhere(children):
        if token.type == "image":
            alt = _text(cut("".join(_words(token.children or []))))
            href = normalizeLink(cut(str(token.attrs["src"])))
            cut(str(token.attrs.get("title", "")))
            if links or not href:
                yield alt
            else:
                yield from (Token("link_open", "a", 1, attrs={"href": href}), alt, Token("link_close", "a", -1))
        else:
            if token.type == "link_open":
                links += 1
                known = len(moved)
                token.attrs = {name: cut(str(value)) for name, value in token.attrs.items()}
                if token.info == "auto":
                    del moved[known:]  # they come again, in its text
                token.attrs["href"] = normalizeLink(str(token.attrs["href"]))
            elif token.type == "link_close":
                links -= 1
            elif links or token.type == "code_inline":
                token.content = cut(token.content)
            yield token
        if moved and not links:
            yield _text("".join(moved))
            moved.clear()


def _leading_somewhere(children: Sequence[Token]) -> Iterator[Token]:
    """Leave out links with nothing between their brackets, which would lead to the page that they are on."""
    is_left_out = False
    for token in children:
        if token.type == "link_open":
            is_left_out = not token.attrs["href"]
        if not (is_left_out and token.type in ("link_open", "link_close")):
            yield token


def _words(children: Sequence[Token]) -> Iterator[str]:
    for token in children:
        if token.type == "image":
            yield from _words(token.children or [])
        else:
            yield " " if token.type in ("softbreak", "hardbreak") else token.content


def _with_paragraphs(tokens: Sequence[Token], behind: dict[int, list[str]]) -> Iterator[Token]:
    """Put in a paragraph the signs that stand after a block of code, or where nothing else is."""
    for index in range(-1, len(tokens)):
        if index >= 0:
            yield tokens[index]
        if index in behind:
            hidden = index >= 0 and tokens[index].type == "list_item_open"
            yield Token("paragraph_open", "p", 1, block=True, hidden=hidden)
            yield Token("inline", "", 0, children=[_text("".join(behind[index]))], block=True)
            yield Token("paragraph_close", "p", -1, block=True, hidden=hidden)


def _inserted(content: str, signs: Sequence[tuple[int, str]]) -> str:
    parts, begin = [], 0
    for offset, text in signs:
        parts += [content[begin:offset], text]
        begin = offset
    return "".join([*parts, content[begin:]])


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _inline(content: str, env: EnvType) -> list[Token]:
    token = Token("inline", "", 0, content=content, children=[])
    _process([token], env)
    return token.children or []


def _process(tokens: list[Token], env: EnvType) -> None:
    reader = _inlines()
    state = StateCore("", reader, env, tokens)
    reader.core.process(state)


def _rendered(children: Sequence[Token], env: EnvType) -> str:
    return _html().renderInline(children, _inlines().options, env)


@cache
def _html() -> RendererHTML:
    return RendererHTML()


@cache
def _blocks() -> MarkdownIt:
    return _careful(block_reader(html=False))


@cache
def _inlines() -> MarkdownIt:
    # With the nesting that CommonMark's preset allows: each level of brackets that are not links reads them once more.
    reader = MarkdownIt("commonmark", {"html": False}).enable("strikethrough")
    reader.core.ruler.disable(["normalize", "block"])
    return _careful(reader)


def _careful(reader: MarkdownIt) -> MarkdownIt:
    # A sign within a URL is taken out before it is written as one.
    reader.normalizeLink = lambda url: url  # type: ignore[method-assign]
    reader.validateLink = is_safe_url  # type: ignore[method-assign]
    return reader
