"""What lint reports: a rule that an answer breaks, where, and what to change."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

Rule: TypeAlias = Literal[
    "malformed-marker",
    "repaired-marker",
    "unknown-source",
    "ambiguous-source",
    "stale-source",
    "unknown-lines",
    "missing-lines",
    "bare-id",
    "in-code",
    "in-emphasis",
    "on-fence-line",
    "before-punctuation",
    "alone",
    "all-at-end",
    "uncited",
    "too-long",
]
"""A rule of citing, or of what can be linted; a finding names one.

- ``malformed-marker``: markup that could not be read, a `Malformed` event.
- ``repaired-marker``: a marker that was read, though it is not well formed.
- ``unknown-source``: an id that no source has, or one that must not be cited.
- ``ambiguous-source``: an id that the model was shown with different content.
- ``stale-source``: with scope ``answer``, an id that was shown only before the last message of the user.
- ``unknown-lines``: line 0, reversed lines, lines beyond the end, or of a source that has none.
- ``missing-lines``: no lines where they are required.
- ``bare-id``: outside a marker, as a whole word, an id of the form ``turn0file1``, also in ``【】``, or the id of a
  source that holds a letter and a digit.
- ``in-code``: a marker in a fenced or indented block of code, or a span of it.
- ``in-emphasis``: a marker in bold or italic text.
- ``on-fence-line``: a marker on the line that closes a fence.
- ``before-punctuation``: a marker right before one of ``. , ; : ! ?``, or of the same in Chinese and Japanese,
  where none stands before it; after a blank not one that begins a word, such as ``.NET``.
- ``alone``: a line with nothing but markers.
- ``all-at-end``: three or more citations, all after the last of several paragraphs.
- ``uncited``: sources that may be cited were given, but the answer has no citation, nor what is left of one.
- ``too-long``: the answer goes on after what is read of one; the finding is the point from which on nothing was.

Source: the guide, elements 4 and 5; ``too-long`` is a limit of this library.
"""
Severity: TypeAlias = Literal["error", "warning"]

# An error costs the reader a citation, or shows one that is wrong; what was not read may. Where only its place or its
# form is not as it was asked for, that is a warning; so is an answer without any, which may be a greeting.
SEVERITY: dict[Rule, Severity] = {
    "malformed-marker": "error",
    "repaired-marker": "warning",
    "unknown-source": "error",
    "ambiguous-source": "error",
    "stale-source": "error",
    "unknown-lines": "error",
    "missing-lines": "error",
    "bare-id": "error",
    "in-code": "warning",
    "in-emphasis": "warning",
    "on-fence-line": "warning",
    "before-punctuation": "warning",
    "alone": "warning",
    "all-at-end": "warning",
    "uncited": "warning",
    "too-long": "error",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """Report that an answer breaks a rule of citing.

    Attributes:
        rule: which one.
        severity: ``error`` where a reader loses a citation or is misled; else ``warning``.
        message: what to change, in one sentence.
        start, end: the part of the input that breaks it, in code points: a marker, an id in the text, several markers
            and what is between them; of an answer without citations all; of one that is too long the point.
        position: where that stands in the clean text, in code points.
    """

    rule: Rule
    severity: Severity
    message: str
    start: int
    end: int
    position: int

    def to_dict(self) -> dict[str, Any]:
        """Give the attributes as a new dict of JSON values."""
        return asdict(self)


class Spot(NamedTuple):
    """A part of the input, and where it stands in the clean text; offsets in code points."""

    start: int
    end: int
    position: int

    def report(self, rule: Rule, message: str) -> Finding:
        """Give the finding of a rule that is broken here."""
        return Finding(rule, SEVERITY[rule], message, self.start, self.end, self.position)
