"""What `make mutate` leaves out, and what it explains, without the hours that it takes."""

import ast
import difflib
import json
import re
import tomllib
from pathlib import Path

import pytest

from mutation import __main__ as command
from mutation import cases, session, streams
from tests import reading, splices

ROOT = Path(__file__).parents[1]
EXPLAINED = tomllib.loads(command.EXPLAINED.read_text("utf-8"))


def test_every_module_that_is_explained_has_its_tests() -> None:
    assert {*EXPLAINED} <= {*command.MODULES}
    for module, runs in command.MODULES.items():
        assert (ROOT / module).is_file()
        for argument in " ".join(runs).split():
            assert not argument.startswith("tests/") or (ROOT / argument).is_file()


@pytest.mark.parametrize("module", EXPLAINED)
def test_what_is_explained_is_a_change_of_a_line_that_is_there(module: str) -> None:
    lines = [line.strip() for line in (ROOT / module).read_text("utf-8").splitlines()]
    for name, why in EXPLAINED[module].items():
        changed = re.sub(r"^\w+: ", "", name).replace("continue", "break")
        assert changed == "break" or changed not in lines
        assert difflib.get_close_matches(changed, lines, 1, 0.85), changed
        assert why.endswith(".")


def test_only_what_runs_is_changed() -> None:
    tree = ast.parse(
        "def f(a: int | None) -> int | str:\n    b: int | None = a | 1\n    match b:\n        case 1 | 2: pass\n"
    )
    spans = [*session.unread(tree)]
    assert ((1, 9), (1, 19)) in spans
    assert ((1, 24), (1, 33)) in spans
    assert ((2, 7), (2, 17)) in spans
    assert ((4, 13), (4, 18)) in spans
    assert not any(begin <= (2, 20) < end for begin, end in spans)


@pytest.mark.parametrize(
    ("operator", "left_out"),
    [
        ("core/ReplaceBinaryOperator_Add_Sub", False),
        ("core/ReplaceBinaryOperator_Add_RShift", True),
        ("core/ReplaceBinaryOperator_BitOr_BitAnd", False),
        ("core/ReplaceComparisonOperator_Lt_LtE", False),
        ("core/ReplaceComparisonOperator_Lt_NotEq", True),
        ("core/ReplaceComparisonOperator_Is_IsNot", False),
        ("core/AddNot", False),
        ("core/NumberReplacer", False),
    ],
)
def test_operators_change_into_their_neighbours(operator: str, left_out: bool) -> None:
    assert bool(session.LEFT_OUT.match(operator)) == left_out


def test_a_survivor_is_told_with_the_reason() -> None:
    mutant = session.Mutant("1", 7, "core/AddNot", "if not x:", survived=True)
    assert command.told(mutant, "Why not.") == "  line 7, core/AddNot: if not x:\n    Why not."
    assert "NOT EXPLAINED" in command.told(mutant, None)


def test_the_score_of_each_module_is_kept(tmp_path: Path) -> None:
    mutants = [
        session.Mutant("1", 7, "core/AddNot", "if not x:", survived=True),
        session.Mutant("2", 8, "core/AddNot", "if not y:", survived=True),
        session.Mutant("3", 9, "core/AddNot", "if not z:", survived=False),
    ]
    file = tmp_path / "scores.json"
    command.keep(file, "a.py", mutants, {"if not x:": "Why not."})
    command.keep(file, "b.py", mutants[2:], {})
    command.keep(file, "b.py", mutants[1:], {})
    assert json.loads(file.read_text("utf-8")) == {
        "a.py": {"changes": 3, "noticed": 1, "unexplained": 1},
        "b.py": {"changes": 2, "noticed": 1, "unexplained": 1},
    }


def test_a_change_falls_by_the_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cases.main() is None
    monkeypatch.setattr(reading.Case, "read", lambda *_: [])
    assert cases.main() == reading.CASES[0].id


def test_a_change_of_the_splice_falls_by_the_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    assert streams.main() is None
    monkeypatch.setattr(streams, "spliced", lambda pieces: splices.spliced([*pieces][:-1]))
    assert "chat" in str(streams.main())
