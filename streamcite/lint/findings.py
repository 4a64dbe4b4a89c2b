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
]
Severity: TypeAlias = Literal["error", "warning"]

# An error costs the reader a citation, or shows one that is wrong. Where only its place or its form is not as it was
# asked for, that is a warning; so is an answer without any, which may be a greeting.
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
}


@dataclass(frozen=True, slots=True)
class Finding:
    """Report that an answer breaks a rule of citing.

    Attributes:
        rule: which one.
        severity: ``error`` where a reader loses a citation or is misled; else ``warning``.
        message: what to change, in one sentence.
        start, end: the part of the input that breaks it, in code points: a marker, an id in the text, several markers
            and what is between them; of an answer without citations all.
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
