"""Line ends of all kinds as line feeds, in a text that grows."""

from __future__ import annotations


class Newlines:
    """Give a text with line feeds for all line ends; a carriage return is held until what follows it is known."""

    def __init__(self) -> None:
        self._held = ""

    def read(self, text: str) -> str:
        """Read more of the text."""
        if not self._held and "\r" not in text:
            return text
        text = self._held + text
        self._held = "\r" if text.endswith("\r") else ""
        text = text.removesuffix("\r")
        return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text

    def end(self) -> str:
        """Give what was held at the end of the text."""
        held, self._held = self._held, ""
        return "\n" if held else ""
