"""What `make mutate` leaves out, and what it explains, without the hours that it takes."""

import ast
import difflib
import re
import resource
import shlex
import subprocess
import tomllib
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks import mutants
from benchmarks.report import Figure, Table
from mutation import __main__ as command
from mutation import cases, scores, session, streams
from mutation.scores import Score
from mutation.session import Mutant
from tests import reading, splices

ROOT = Path(__file__).parents[1]
MODULES = [*scores.MODULES]
EXPLAINED = tomllib.loads(scores.EXPLAINED.read_text("utf-8"))
MADE = [
    Mutant("1", 7, "core/AddNot", "if not x:", survived=True),
    Mutant("2", 8, "core/AddNot", "if not y:", survived=True),
    *(Mutant(str(row), row, "core/AddNot", f"if not {row}:", survived=False) for row in range(9, 107)),
]


def test_every_module_that_is_explained_has_its_tests() -> None:
    assert {*EXPLAINED} <= {*scores.MODULES}
    for module, runs in scores.MODULES.items():
        assert (ROOT / module).is_file()
        for argument in " ".join(runs).split():
            file, _, test = argument.partition("::")
            assert not file.startswith("tests/") or f"def {test}" in (ROOT / file).read_text("utf-8")


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


def test_a_score_names_each_survivor_with_the_reason() -> None:
    found = Score("a.py", MADE, {"if not x:": "Why not.", "if not 9:": "Not so."})
    assert found.unnoticed == 0.02
    assert [each.line for each in found.unexplained] == ["if not y:"]
    assert str(found).splitlines() == [
        "a.py: 98 of 100 changes noticed, 98.0%",
        "  line 7, core/AddNot: if not x:",
        "    Why not.",
        "  line 8, core/AddNot: if not y:",
        "    NOT EXPLAINED",
        "  explained, but noticed: if not 9:",
    ]


@pytest.mark.parametrize(
    ("mutants", "explained", "is_good"),
    [
        (MADE, ["if not x:", "if not y:"], True),
        (MADE[:40], ["if not x:", "if not y:"], True),
        (MADE[:39], ["if not x:", "if not y:"], False),
        (MADE, ["if not x:"], False),
        (MADE, ["if not x:", "if not y:", "if not 9:"], False),
    ],
)
def test_a_score_is_good_where_most_is_noticed_and_all_else_explained(
    mutants: Sequence[Mutant], explained: Sequence[str], is_good: bool
) -> None:
    assert Score("a.py", mutants, dict.fromkeys(explained, "Why not.")).is_good == is_good


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["mutation", *arguments])
    return command.main()


def test_the_command_says_whether_all_scores_are_good(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "score", lambda module: Score(module, MADE[1 if module == MODULES[0] else 2 :], {}))
    assert run(monkeypatch, MODULES[0]) == 1
    assert run(monkeypatch, MODULES[1]) == 0
    assert run(monkeypatch) == 1
    assert capsys.readouterr().out.count(" changes noticed, ") == 2 + len(MODULES)


def test_a_mistake_is_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        run(monkeypatch, "nowhere.py")
    assert stopped.value.code == 2
    assert "no tests are named for nowhere.py" in capsys.readouterr().err


def test_tests_that_fail_without_a_change_end_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*arguments: object, **_: object) -> None:
        raise subprocess.CalledProcessError(1, "baseline")

    monkeypatch.setattr(session, "_ray", fails)
    with pytest.raises(SystemExit) as stopped:
        run(monkeypatch, MODULES[0])
    assert stopped.value.code == 2
    assert f"{MODULES[0]}: fails without any change: {scores.CASES}" in capsys.readouterr().err


def test_limits_are_for_what_runs_with_a_change_and_for_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    limits: list[str] = []

    def asked(copy: Path, *_: object) -> None:
        settings = tomllib.loads((copy / "settings.toml").read_text("utf-8"))
        command = shlex.split(settings["cosmic-ray"]["test-command"])
        limits.append(subprocess.check_output(command, text=True))
        raise subprocess.CalledProcessError(1, "baseline")

    monkeypatch.setattr(session, "_ray", asked)
    told = "import resource as r; print(r.getrlimit(r.RLIMIT_CPU)[0], r.getrlimit(r.RLIMIT_AS)[0] >> 10)"
    with pytest.raises(session.TestsFail):
        session.run(MODULES[0], [f"-c {shlex.quote(told)}"], {})
    assert limits == [f"{session.LIMITS[0]} {session.MEMORY}\n"]
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_the_report_has_the_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutants, "import_module", lambda _: None)

    def scored(module: str) -> Score:
        return Score(module, MADE, {"if not x:": "Why not."})

    assert [*mutants.figures(modules=["a.py"], scored=scored)] == [
        Figure("changes that no test notices, of all: a.py", 0.02, 0.05),
        Figure("of these, without a reason that none can: a.py", 1, 0),
        Table(
            "Changes to the core, one at a time",
            ["", "changes", "unnoticed", "unexplained"],
            [["a.py", "100", "2", "1"]],
            "Each reason stands in `mutation/survivors.toml`; most are changes that make no difference.",
        ),
    ]


def test_a_change_falls_by_the_cases(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cases.main() is None
    monkeypatch.setattr(reading.Case, "read", lambda *_: [])
    assert cases.main() == reading.CASES[0].id


def test_a_change_of_the_splice_falls_by_the_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    assert streams.main() is None
    monkeypatch.setattr(streams, "spliced", lambda pieces: splices.spliced([*pieces][:-1]))
    assert "chat" in str(streams.main())
