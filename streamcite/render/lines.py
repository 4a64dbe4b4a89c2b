"""What kind of line a Markdown text is in while it streams: prose, code, or what says what a block is."""

from __future__ import annotations

import re

_MARKER = r"[-+*]|[0-9]{1,9}[.)]"
# The beginning of a line that says what it is: quotes, items of lists, headings, the bar of a table.
_PREFIX = re.compile(rf"(?:[ \t]*(?:>|\||(?:{_MARKER}|\#{{1,6}})(?=[ \t]|\Z)))*[ \t]*")
# A line that is nothing else, or may become that, or a rule, or what sets the head of a table off.
_STRUCTURE = re.compile(rf"{_PREFIX.pattern}(?:[-+*=_:|#\s]*|[0-9]{{1,9}}[.)]?|`{{3,}}|~{{3,}})")
_ITEM = re.compile(rf"[ \t>]*(?:{_MARKER})(?:[ \t]+|\Z)")
_FAR_ITEM = re.compile(rf"[ \t>]*(?:{_MARKER})(?: {{5}}|[ \t]*\t)")
_FENCE = re.compile(rf"(?P<prefix>(?:[ \t]*(?:>|(?:{_MARKER})(?=[ \t])))*[ \t]*)(?P<mark>`{{3,}}|~{{3,}})(?P<info>.*)")
_HEADING = re.compile(r"[ \t>]*#{1,6}[ \t]")
_ROW = re.compile(r"[ \t>]*\|")
_DEFINITION = re.compile(r" {0,3}\[[^\[\]^][^\[\]]*\]:")
# More of the beginning of a line does not matter.
_ENOUGH = 64  # code points


class Lines:
    """Follow the lines of a text, token by token.

    It is an estimate: what nests in each other is not followed. It errs on the side of code.

    Attributes:
        head: the beginning of the line.
        content: whether it has more than structure.
        begins: whether a block begins on it for certain.
        after_row: whether the last line may be a row of a table.
    """

    def __init__(self) -> None:
        self.after_row: bool = False
        self._fresh = True
        self._code_before = self._code = False  # indented code
        # The mark, the least indentation in it, whether it is quoted, and what stands before its lines.
        self._fence: tuple[str, int, bool, str] | None = None
        self._item = 0  # how far the content of the item of a list is indented
        self._begin()

    def _begin(self) -> None:
        self.head: str = ""
        self.content: bool = False
        self.begins: bool = False
        self._parts: list[str] = []

    @property
    def line(self) -> str:
        """Give the line as far as it has come."""
        return "".join(self._parts)

    @property
    def fence(self) -> str | None:
        """Give the line that closes the code that is open; None if none is."""
        return None if self._fence is None else self._fence[3] + self._fence[0]

    @property
    def is_code(self) -> bool:
        """Say whether what comes next is in a block of code."""
        return self._fence is not None or self._code

    @property
    def is_prose(self) -> bool:
        """Say whether what comes next is inline content for certain."""
        if not self.content or self.is_code or _DEFINITION.match(self.head):
            return False
        fence = _FENCE.match(self.head)
        return fence is None or (fence["mark"][0] == "`" and "`" in fence["info"])

    @property
    def is_row(self) -> bool:
        """Say whether it looks like a row of a table."""
        return bool(_ROW.match(self.head))

    @property
    def is_heading(self) -> bool:
        """Say whether it is a heading."""
        return bool(_HEADING.match(self.head))

    @property
    def is_empty(self) -> bool:
        """Say whether the line is blank so far."""
        return not self.head.strip()

    @property
    def indentation(self) -> str:
        """Give what a line begins with that belongs to the item of a list that is open."""
        return " " * self._item

    @property
    def is_item(self) -> bool:
        """Say whether the line is nothing but the mark of an item so far."""
        return bool(_ITEM.fullmatch(self.head))

    def look(self, token: str, behind: str) -> None:
        """Look at the next token of the line before it is taken: what it begins.

        Args:
            token: the text of one token of Markdown, not empty.
            behind: the character after the token; empty at the end.
        """
        if not self.content:
            beginning = self.head + token
            emphasis = token[0] in "*_" and not behind.isspace() and behind != ""
            if emphasis or not _STRUCTURE.fullmatch(beginning):
                self.content = True
                self._judge(beginning)

    def take(self, token: str) -> None:
        """Take the next token of the line."""
        self._parts.append(token)
        if len(self.head) < _ENOUGH:
            self.head += token

    def end(self) -> str | None:
        """End the line.

        Returns:
            If it closes a block of code, what stands before the mark that does.
        """
        line, closed = self.line, None
        blank = not line.strip()
        if not blank and not self.content:
            self._judge(line)
        fence = _FENCE.fullmatch(line)
        if self._fence is not None:
            mark, depth, quoted, _ = self._fence
            marks = line.strip(" \t>" if quoted else " \t")
            before = line[: line.find(mark)]
            close = not marks.strip(mark[0]) and len(marks) >= len(mark) and "\t" not in before
            if close and len(before.rpartition(">")[2]) <= depth + 3:
                closed, self._fence = before, None
        elif fence and not self._code and not (fence["mark"][0] == "`" and "`" in fence["info"]):
            self._open(fence)
        elif not self._code and (item := _ITEM.match(line)):
            self._item = min(len(item[0]), _ENOUGH)
        self._code_before = self._code or (blank and self._code_before)
        self._code = False
        # After any of these no paragraph goes on.
        self._fresh = blank or closed is not None or self.is_heading or not self.content
        self.after_row = self.is_row
        self._begin()
        return closed

    @property
    def is_behind_code(self) -> bool:
        """Say whether indented code may go on."""
        return self._code_before

    def _judge(self, beginning: str) -> None:
        indent = len(beginning[: len(beginning) - len(beginning.lstrip(" \t"))].expandtabs(4))
        if self._fence is not None:
            _, depth, quoted, _ = self._fence
            if indent < depth or (quoted and beginning[indent : indent + 1] != ">"):
                self._fence = None  # with the item or the quote that it is in
        if self._fence is None:
            prefix = _PREFIX.match(beginning)
            self.begins = self._fresh or self._code_before or bool(prefix and prefix[0].strip())
            item = _ITEM.match(beginning)
            if indent == 0 and self.begins and (item is None or (self.content and item[0] == item[0].rstrip())):
                self._item = 0
            far = indent >= self._item + 4 and (self._fresh or self._code_before)
            self._code = far or bool(_FAR_ITEM.match(beginning))

    def _open(self, fence: re.Match[str]) -> None:
        prefix = fence["prefix"]
        if _ITEM.match(prefix):
            self._item = min(len(prefix), _ENOUGH)
        depth = self._item if len(prefix.expandtabs(4)) >= self._item else 0
        beside = re.sub(r"[^ \t>]", " ", prefix)
        self._fence = fence["mark"], depth, prefix.lstrip().startswith(">"), beside
