"""The guide's rules on an answer: what is wrong with its citations, and what to change.

Needs the extra ``markdown``: ``pip install "streamcite[markdown]"``.
"""

from .findings import Finding, Rule, Severity
from .linter import MAX_ANSWER, Linter, LinterClosed, LocatorRule, lint

__all__ = ["MAX_ANSWER", "Finding", "Linter", "LinterClosed", "LocatorRule", "Rule", "Severity", "lint"]
