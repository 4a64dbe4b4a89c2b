"""Which tests stand beside which module, and how many of its changes they notice."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .session import Mutant, run

# The most of the changes to a module that no test may notice, of all.
MOST = 0.05
CASES = "-m mutation.cases"
PYTEST = "-m pytest -q -x -p no:cacheprovider"
PROPERTIES = f"{PYTEST} tests/test_parser_properties.py"
PARSER = f"{PYTEST} {' '.join(f'tests/test_parser{part}.py' for part in ('', '_options', '_state', '_cost'))}"
# What is fast of these.
INTERFACE = f"{PARSER} -k 'not test_case and not each_character and not megabyte'"
FORMAT = f"{PYTEST} tests/test_format.py tests/test_format_write.py tests/test_options.py"
# What counts, and so sees a short cut that is not taken.
COUNTED = f"{PYTEST} tests/test_splice_lines.py tests/test_splice_unread.py tests/test_splice_result.py"
FAULTS = f"{PYTEST} tests/test_splice_faults.py"
# Of the adapter what needs no upstream of another language: the copy in which this runs has none.
ADAPTED = " ".join(
    f"tests/test_clean_sse.py::test_{name}"
    for name in (
        "it_gives_what_a_splice_gives",
        "an_error_comes_after_what_was_held",
        "a_line_that_is_too_long_ends_it",
        "what_is_not_a_stream_is_refused_by_name",
    )
)
STREAMS = f"{PYTEST} tests/test_splice_render.py {ADAPTED} tests/test_splice.py"
# The tests of a module: arguments of Python, for one run after the other, the fast ones first, since most changes fall
# at once.
MODULES: Mapping[str, Sequence[str]] = {
    "streamcite/parser.py": [CASES, INTERFACE, PROPERTIES, PARSER],
    "streamcite/format.py": [CASES, FORMAT, PROPERTIES, PARSER],
    "streamcite/relay/splice.py": ["-m mutation.streams", COUNTED, FAULTS, STREAMS],
}
EXPLAINED = Path(__file__).with_name("survivors.toml")


@dataclass(frozen=True)
class Score:
    """What became of the changes to a module.

    Attributes:
        module: the path of its file.
        mutants: the changes.
        explained: the lines of which ``survivors.toml`` says why no test can notice them, each with the reason.
    """

    module: str
    mutants: Sequence[Mutant]
    explained: Mapping[str, str]

    @property
    def survivors(self) -> Sequence[Mutant]:
        """Give the changes that no test notices."""
        return [mutant for mutant in self.mutants if mutant.survived]

    @property
    def unexplained(self) -> Sequence[Mutant]:
        """Give those of them without a reason."""
        return [mutant for mutant in self.survivors if mutant.line not in self.explained]

    @property
    def outdated(self) -> Sequence[str]:
        """Give what is explained, but noticed."""
        survived = {mutant.line for mutant in self.survivors}
        return [line for line in self.explained if line not in survived]

    @property
    def unnoticed(self) -> float:
        """Give how many changes no test notices, of all."""
        return len(self.survivors) / len(self.mutants)

    @property
    def is_good(self) -> bool:
        """Say whether enough is noticed, and all else explained."""
        return self.unnoticed <= MOST and not self.unexplained and not self.outdated

    def __str__(self) -> str:
        noticed = len(self.mutants) - len(self.survivors)
        lines = [f"{self.module}: {noticed} of {len(self.mutants)} changes noticed, {1 - self.unnoticed:.1%}"]
        for mutant in self.survivors:
            lines.append(f"  line {mutant.row}, {mutant.operator}: {mutant.line}")
            lines.append(f"    {self.explained.get(mutant.line, 'NOT EXPLAINED')}")
        lines.extend(f"  explained, but noticed: {line}" for line in self.outdated)
        return "\n".join(lines)


def score(module: str) -> Score:
    """Make all changes to a module, one by one, and run its tests on each; it takes minutes to an hour.

    Args:
        module: one of `MODULES`.

    Raises:
        TestsFail: they do so without any change.
    """
    explained = tomllib.loads(EXPLAINED.read_text(encoding="utf-8")).get(module, {})
    return Score(module, run(module, MODULES[module], explained), explained)
