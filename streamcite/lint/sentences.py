"""What the findings say: one sentence each, which tells whoever writes the answer, or its prompt, what to change."""

from __future__ import annotations

from streamcite.events import Citation, Reason, Reference
from streamcite.resolve import Link, Problem

IN_CODE = "Move the marker out of the code, after the text that it supports."
IN_EMPHASIS = "Move the marker out of the bold or italic text, to just after it."
ON_FENCE_LINE = "Move the marker away from the line that closes the code fence, after the text that it supports."
ALONE = "Move the marker to the end of the text that it supports: it stands alone here."
UNCITED = "Cite the sources that the answer rests on: it has no citation."

_MALFORMED: dict[Reason, str] = {
    "stray_delimiter": "Write a whole marker or none: this is a delimiter outside a marker.",
    "stray_stop": "Write a whole marker or none: this is a stop outside a marker.",
    "no_delimiter": "Write a delimiter and an id after the family: this marker ends without.",
    "bad_family": "Begin the marker with its family and a delimiter: what follows this start is not a family.",
    "empty": "Write the id of a source into the marker: this one is empty.",
    "no_source": "Write the id of a source before the lines: this marker has none.",
    "bad_source_id": "Cite by an id that the format can write, just as it was given: this marker holds something else.",
    "unclosed": "End the marker with its stop, right after the last id or lines: this one has none.",
    "too_long": "End the marker with its stop, and cite fewer sources in one: this one is too long.",
    "truncated": "Let the answer end after a whole marker: it breaks off in this one.",
}


def malformed(reason: Reason) -> str:
    """Say how to mend markup that could not be read."""
    return _MALFORMED[reason]


def repaired(citation: Citation) -> str:
    """Say how to mend a marker that was read in part."""
    read = ", ".join(" ".join(filter(None, reference)) for reference in citation.references)
    return f"Write the marker in its exact form: of this one only {read} could be read."


def problem(link: Link, problem: Problem) -> str:
    """Say how to mend a reference that points to nothing a reader can rely on."""
    source_id, locator = link.reference
    match problem:
        case "unknown-source":
            return f"Cite a source that was given: none that may be cited has the id {source_id}."
        case "ambiguous-source":
            return f"Give each source an id of its own: {source_id} was shown with different content too."
        case "stale-source":
            return f"Cite what was shown for this answer: {source_id} was shown only before the user's last message."
    count = len(link.source.lines) if link.source is not None and link.source.unit == "lines" else 0
    if not count:
        return f"Leave {locator} out: {source_id} has no numbered lines."
    return f"Cite lines that {source_id} has, {'L1' if count == 1 else f'from L1 to L{count}'}: it has no {locator}."


def missing_lines(reference: Reference) -> str:
    """Say how to complete a reference without lines."""
    return f"Name the lines of {reference.source_id} that support the text, such as L8-L13."


def too_long(limit: int) -> str:
    """Say what to do with an answer of more code points than are read."""
    return f"Write a shorter answer: of this one only the first {limit} characters were looked at."


def all_at_end(number: int) -> str:
    """Say what to do with markers that stand together at the end."""
    return f"Move each marker to the text that it supports: all {number} stand together at the end."
