"""What a terminal would take for commands: no text that another program wrote may hold it there."""

from __future__ import annotations

# A carriage return is part of a line end, or a trick.
_CONTROLS = {code: "\ufffd" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"} | {0x0D: None}


def without_controls(text: str) -> str:
    """Replace control codes except for line ends and tabs by U+FFFD, and leave carriage returns out."""
    return text.translate(_CONTROLS)
