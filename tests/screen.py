"""A terminal's screen and what has scrolled off it: as much of a terminal as rich makes use of."""

import re
from itertools import groupby
from operator import itemgetter

from rich.cells import cell_len

_PIECE = re.compile(
    r"\x1b\[(?P<private>\??)(?P<number>[0-9;]*)(?P<code>[A-Za-z])"  # a control sequence
    r"|\x1b\]8;(?P<link>[^\x1b]*)\x1b\\"  # a hyperlink
    r"|(?P<character>[^\x1b])",
    re.DOTALL,
)


class Screen:
    """Show output as a terminal does, and refuse what it cannot do: change lines that have scrolled off the screen.

    Attributes:
        lines: All lines from the top.
        wrapped: What the terminal had to wrap, since it was longer than a line.
    """

    def __init__(self, output: bytes, *, columns: int, rows: int) -> None:
        self.lines = [""]
        self.wrapped: list[str] = []
        self.cursor_shown = True
        self.links: list[str] = []
        self.colours: set[str] = set()
        self._style = ""  # what sets it: the control sequence that came last
        self._styles: list[list[str]] = [[]]  # of each character
        self._row = self._column = 0
        self._columns, self._rows = columns, rows
        text = output.decode()
        end = 0
        for piece in _PIECE.finditer(text):
            assert piece.start() == end, f"what is {text[end : piece.start()]!r}?"
            end = piece.end()
            if piece["character"]:
                self._put(piece["character"])
            elif piece["code"]:
                self._control(piece["private"], piece["number"], piece["code"])
            else:
                self.links.append(piece["link"].partition(";")[2])
        assert end == len(text), f"what is {text[end:]!r}?"

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def styled(self) -> str:
        """The text with the control sequences that set its styles."""
        return "".join(
            "".join(
                f"\x1b[{style}m{''.join(character for character, _ in run)}"
                for style, run in groupby(zip(line, styles, strict=True), itemgetter(1))
            )
            + "\x1b[0m\n"
            for line, styles in zip(self.lines, self._styles, strict=True)
        )

    def _put(self, character: str) -> None:
        assert character.isprintable() or character in "\r\n\u200d\ufe0f", f"a control code: {character!r}"
        line = self.lines[self._row]
        changed = line[: self._column] + character + line[self._column + 1 :]
        if character == "\r":
            self._column = 0
        elif character == "\n":
            self._down()
        elif cell_len(changed) <= self._columns:
            self.lines[self._row] = changed
            self._styles[self._row][self._column : self._column + 1] = [self._style]
            self._column += 1
        else:
            self.wrapped.append(line)
            self._column = 0
            self._down()
            self._put(character)

    def _down(self) -> None:
        self._row += 1
        if self._row == len(self.lines):
            self.lines.append("")
            self._styles.append([])

    def _control(self, private: str, number: str, code: str) -> None:
        match private, number, code:
            case "", _, "A":
                self._row -= int(number or "1")
                assert self._row >= max(0, len(self.lines) - self._rows), "above the screen"
            case "", "2", "K":
                self.lines[self._row], self._styles[self._row] = "", []
            case "?", "25", "h" | "l":
                self.cursor_shown = code == "h"
            case "", _, "m":
                self._style = "0;" + number
                self.colours.update(part for part in number.split(";") if re.fullmatch("[349][0-7]", part))
            case _:
                raise AssertionError(f"unknown: {private}{number}{code}")
