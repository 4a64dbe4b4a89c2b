"""What the demo knows of a source that an answer cites."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from streamcite import Source


@dataclass(slots=True)
class CitedSource:
    """One source, numbered by its first appearance.

    Attributes:
        number: from 1.
        source: the source; where it is not known, one of which there is only the id.
        locators: where in it, as the model wrote it: the keys, in order.
    """

    number: int
    source: Source
    locators: dict[str, None] = field(default_factory=dict)

    def lines(self) -> list[tuple[str, str]]:
        """Give the cited lines that the source has, in its order: a label such as ``L8``, and the text."""
        texts = self.source.text.split("\n") if self.source.text else []
        cited: set[int] = set()
        for locator in self.locators:
            first, *last = map(int, re.findall("[0-9]+", locator))
            # The range may be nonsense; the source's length bounds it.
            cited.update(range(max(first, 1), min(last[0] if last else first, len(texts)) + 1))
        return [(f"L{number}", texts[number - 1]) for number in sorted(cited)]
