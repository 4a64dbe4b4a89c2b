"""What is open in a line of Markdown while it streams: code, links, emphasis."""

from __future__ import annotations


class Inlines:
    """Follow the inline content of a block, token by token. What seems to be open may turn out to be text."""

    def __init__(self) -> None:
        self.end()

    def end(self) -> None:
        """End the block: nothing is open any more."""
        self._ticks = ""  # what ends the span of code
        self._brackets = self._parentheses = 0
        self._angle = False
        self._runs: set[str] = set()  # the emphasis that is open

    @property
    def is_open(self) -> bool:
        """Say whether what comes next may be in code, a link or a tag."""
        return bool(self._ticks or self._brackets or self._parentheses or self._angle)

    @property
    def in_code(self) -> bool:
        """Say whether what comes next may be in a span of code."""
        return bool(self._ticks)

    def closes(self, text: str) -> bool:
        """Say whether a token ends code or emphasis that is open."""
        return text == self._ticks or text in self._runs

    def take(self, text: str, before: str, behind: str) -> None:
        """Take the next token.

        Args:
            text: the token: one run of backticks or marks of emphasis, one bracket, or anything else.
            before: the character before it.
            behind: the character after it; empty at the end.
        """
        if self._ticks:
            self._ticks = "" if text == self._ticks else self._ticks
        elif text[0] == "`":
            self._ticks = text
        elif text[0] in "*_~":
            self._take_run(text, before, behind)
        elif self._angle:
            self._angle = text != ">"
        elif text == "<":
            self._angle = behind.isalpha() or behind in ("/", "!", "?")
        elif self._parentheses:
            self._parentheses += {"(": 1, ")": -1}.get(text, 0)
        elif text == "(" and before == "]":
            self._parentheses = 1
        elif text in ("[", "]"):
            self._brackets = max(self._brackets + (1 if text == "[" else -1), 0)

    def _take_run(self, run: str, before: str, behind: str) -> None:
        in_word = run[0] == "_" and before.isalnum() and behind.isalnum()
        if run in self._runs:
            self._runs.discard(run)
        elif behind.strip() and not in_word:
            self._runs.add(run)
