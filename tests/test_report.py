"""The command of the benchmarks, what it keeps, and the report that it writes."""

import ast
import json
import os
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import __main__ as command
from benchmarks import asserted, plots, readme, results, suites, targets, written
from benchmarks.report import Figure, Point, Result, Table, shown
from benchmarks.results import Results

GIVEN: list[Result] = [
    Figure("speed | of one", 1.1, 1.0),
    Figure("speed of two", 0.5, 1.0),
    Figure("told", 3_600.4),
    Table("Who does what", ["who", "what"], [["a|b", "x"]], "A note."),
]


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, int]]:
    """Let there be one suite, and give the sizes that it is run with."""
    sizes: list[dict[str, int]] = []

    def figures(*, passes: int = 9) -> Iterator[Result]:
        sizes.append({"passes": passes})
        yield from GIVEN

    module = SimpleNamespace(figures=figures, QUICK={"passes": 1})
    names = {"one": "The first", "lost": "The lost", "wrong": "The wrong"}
    monkeypatch.setattr(suites, "SUITES", names)
    monkeypatch.setattr(written, "SUITES", names)

    def load(name: str) -> object:
        if name == "benchmarks.lost":
            raise ModuleNotFoundError(name="melody")
        assert name != "benchmarks.wrong"
        return module

    monkeypatch.setattr(suites, "import_module", load)
    return sizes


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["benchmarks", *arguments])
    return command.main()


def test_every_suite_can_be_run_in_seconds() -> None:
    for name in suites.SUITES:
        module = import_module(f"benchmarks.{name}")
        assert module.QUICK.keys() <= module.figures.__kwdefaults__.keys()


def test_a_suite_is_measured_and_kept(
    monkeypatch: pytest.MonkeyPatch, suite: list[dict[str, int]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "kept.json"
    assert run(monkeypatch, "one", "--json", str(kept)) == 1
    assert run(monkeypatch, "--quick") == 1
    assert suite == [{"passes": 9}, {"passes": 1}]
    printed = capsys.readouterr().out
    assert "speed of two" in printed
    assert re.findall("^1 over their limit.*$", printed, re.MULTILINE) == [
        "1 over their limit",
        "1 over their limit, as far as a quick run can tell",
    ]
    assert "not measured: melody is not installed" in printed
    assert "not measured: what was to be measured is not right" in printed
    found = results.load(kept)
    assert found.suites == {"one": GIVEN}
    assert found.quick == set()


def test_what_is_not_over_its_limit_ends_well(monkeypatch: pytest.MonkeyPatch, suite: list[dict[str, int]]) -> None:
    monkeypatch.setattr("tests.test_report.GIVEN", GIVEN[1:])
    assert run(monkeypatch, "one") == 0
    assert run(monkeypatch, "lost") == run(monkeypatch, "wrong") == 1


def test_a_rough_figure_fails_no_quick_run_but_a_number_of_things_does(
    monkeypatch: pytest.MonkeyPatch, suite: list[dict[str, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert (run(monkeypatch, "one"), run(monkeypatch, "one", "--quick")) == (1, 0)
    assert "1 over their limit, as far as a quick run can tell" in capsys.readouterr().out
    assert run(monkeypatch, "lost", "--quick") == run(monkeypatch, "wrong", "--quick") == 1
    monkeypatch.setattr("tests.test_report.GIVEN", [Figure("wrong streams", 1, 0)])
    assert run(monkeypatch, "one", "--quick") == 1


def test_what_takes_minutes_runs_when_it_is_named(
    monkeypatch: pytest.MonkeyPatch, suite: list[dict[str, int]], capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(suites, "SUITES", {"one": "The first", "soak": "The long"})
    assert run(monkeypatch) == 1
    assert "The long" not in capsys.readouterr().out
    monkeypatch.setattr(suites, "import_module", lambda _: SimpleNamespace(figures=told))
    assert run(monkeypatch, "soak", "--seconds", "2.5", "--seed", "7") == 0
    assert "seconds 2.5, seed 7" in capsys.readouterr().out


def told(**size: float) -> Iterator[Result]:
    yield Figure(", ".join(f"{name} {value:g}" for name, value in size.items()), 0, 0)


def test_a_number_of_things_is_whole_and_may_be_none() -> None:
    assert [shown(value) for value in (0, 7, 0.0123, 7.0)] == ["0", "7", "0.012", "7.00"]
    assert (targets.verdict(0, 0), targets.verdict(0, 3)) == ("met", "**missed**")


@pytest.mark.parametrize(
    "arguments",
    ["none", "report", "core --seconds 3", "--seed 3", *(f"soak --seconds {number}" for number in ("0", "inf", "nan"))],
)
def test_a_mistake_is_reported(monkeypatch: pytest.MonkeyPatch, arguments: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        run(monkeypatch, *arguments.split())
    assert stopped.value.code == 2


NOTHING = '{"machine": {}, "quick": [], "suites": {}, "missing": {}}'


@pytest.mark.parametrize("held", [None, "", "[]", "{}", '{"suites": {"core": [{}]}}', NOTHING])
def test_a_file_without_results_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, held: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(plots, "draw", None)
    path = tmp_path / "kept.json"
    if held is not None:
        path.write_text(held)
    assert run(monkeypatch, "report", "--json", str(path)) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert str(path) in line or held == NOTHING


@pytest.mark.parametrize("name", ["none/kept.json", "folder", "text.json"])
def test_nothing_is_measured_that_cannot_be_kept(
    monkeypatch: pytest.MonkeyPatch,
    suite: list[dict[str, int]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "text.json").write_text("none")
    with pytest.raises(SystemExit) as stopped:
        run(monkeypatch, "one", "--json", str(tmp_path / name))
    assert stopped.value.code == 2
    assert str(tmp_path / name) in capsys.readouterr().err.splitlines()[-1]
    assert suite == []


def test_what_was_kept_stays_where_keeping_more_is_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    results.Results({"Python": "3"}, set(), {"a": GIVEN}).save(path)

    def stopped(path: Path, text: str, encoding: str) -> None:
        path.write_bytes(text[:9].encode())
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", stopped)
    with pytest.raises(KeyboardInterrupt):
        results.Results({"Python": "3"}, set(), {"b": GIVEN}).save(path)
    assert results.load(path).suites == {"a": GIVEN}


def test_whoever_reads_may_have_enough(monkeypatch: pytest.MonkeyPatch, suite: list[dict[str, int]]) -> None:
    monkeypatch.setattr("sys.argv", ["benchmarks", "one"])
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as closed:  # noqa: PTH123
        monkeypatch.setattr("sys.stdout", closed)
        assert command.run() == 1


@pytest.mark.parametrize(("error", "status"), [(KeyboardInterrupt(), 130), (BrokenPipeError("of a socket"), None)])
def test_what_stops_it(monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int | None) -> None:
    def main() -> int:
        raise error

    monkeypatch.setattr(command, "main", main)
    if status is None:
        with pytest.raises(BrokenPipeError):
            command.run()
    else:
        assert command.run() == status


def test_what_was_measured_before_stays_on_the_same_machine(tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    point = Figure("a point", 1.0, None, Point("length", "streamcite", 3))
    results.Results({"Python": "3"}, {"a", "b"}, {"a": [point], "b": []}, {"c": "melody"}).save(path)
    results.Results({"Python": "3"}, set(), {"b": GIVEN}).save(path)
    assert results.load(path) == results.Results({"Python": "3"}, {"a"}, {"a": [point], "b": GIVEN})
    results.Results({"Python": "4"}, set(), {"b": GIVEN}).save(path)
    assert results.load(path).suites == {"b": GIVEN}


def test_the_report_gives_each_figure_beside_its_limit(suite: list[dict[str, int]], tmp_path: Path) -> None:
    found = results.Results({"Python": "3"}, {"one"}, {"one": GIVEN}, {"lost": "melody is not installed"})
    written.write(found, tmp_path)
    text = (tmp_path / "REPORT.md").read_text("utf-8")
    assert "Measured on: Python 3." in text
    assert "| speed \\| of one | 1.10 | 1 | **missed by 10.0%** |" in text
    assert "| speed of two | 0.50 | 1 | met |" in text
    assert "| told | 3600 |  |  |" in text
    assert "### Who does what\n\n<!-- --8<-- [start:who-does-what] -->\n| who | what |" in text
    assert "| x |\n<!-- --8<-- [end:who-does-what] -->\n\nA note." in text
    assert "| a\\|b | x |" in text
    assert "## The lost\n\nNot measured: melody is not installed." in text
    assert "**A quick run**" in text
    for line in text.splitlines():
        assert not line.startswith("|") or line.endswith("|")


def test_the_readme_has_the_figures_of_the_report() -> None:
    text, report = readme.README.read_text("utf-8"), (written.FOLDER / "REPORT.md").read_text("utf-8")
    assert readme.written(text, report) == text
    assert "| streamcite |" in text


def test_figures_of_the_readme_are_written_anew(tmp_path: Path) -> None:
    measured: list[Result] = [Figure("relay / pump: paced", 1.25, 1.5), Figure("nginx / pump: burst", 0.5)]
    (tmp_path / "REPORT.md").write_text("\n".join(written.lines(Results({}, set(), {"relay": measured}), {})))
    file = tmp_path / "README.md"
    file.write_text(f"# One\n\n  {readme.BEGIN}\n  | streamcite | 9 | 9 |\n\n  {readme.END}\n\n| x | y |\n")
    readme.write(tmp_path, file)
    first = file.read_text()
    assert first.startswith(f"# One\n\n  {readme.BEGIN}\n\n  | CPU time")
    assert first.endswith(f"|\n\n  {readme.END}\n\n| x | y |\n")
    assert "  | streamcite | 1.25 |  |\n" in first
    assert "  | nginx, which looks into nothing |  | 0.50 |\n" in first
    assert "litellm" not in first
    assert "99.9" not in first
    readme.write(tmp_path, file)
    assert file.read_text() == first
    measured += [Figure(readme.AT_ONCE, 500), Figure(f"  {readme.ADDED}", 3.2)]
    (tmp_path / "REPORT.md").write_text("\n".join(written.lines(Results({}, set(), {"relay": measured}), {})))
    readme.write(tmp_path, file)
    assert "With 500 streams at once, 99.9 % of events come at most 3.20 ms later" in file.read_text()
    file.write_text("# One\n")
    with pytest.raises(ValueError, match="README"):
        readme.write(tmp_path, file)


def test_a_target_is_decided_by_the_worst_of_its_figures() -> None:
    measured: dict[str, list[Result]] = {
        "core": [Figure("feed / null: 1 per 200", 2.0), Figure("bytes of an idle parser", 170), GIVEN[-1]]
    }
    measured["core"] += [Figure("bytes a held character: x", 3.0), Figure("bytes a held character: y", 7.0)]
    decided = {target.what: figure for target, figure in targets.rows(measured)}
    assert len(decided) == len(targets.TARGETS)
    assert {figure.name for figure in decided.values() if figure} == {
        *("feed / null: 1 per 200", "bytes of an idle parser", "bytes a held character: y"),
    }
    text = "\n".join(written.lines(Results({}, set(), measured), {}))
    assert f"1 of {len(targets.TARGETS)} are met." in text
    assert "| bytes of an idle parser | 170 | 160 | **missed by 6.2%** |" in text
    assert "| relay, beside a pump of bytes: in bursts |  | 3 | **not measured** |" in text


def test_a_point_is_drawn_and_not_listed(suite: list[dict[str, int]]) -> None:
    points: list[Result] = [
        Figure("one", 2.0, point=Point("length", "ours", 10), listed=False),
        Figure("two", 4.0, point=Point("length", "ours", 20), listed=False),
        Figure("a bar", 4.0, point=Point("relay", "paced", "ours")),
    ]
    found = results.Results({}, set(), {"one": [*points, *GIVEN]})
    assert plots.points(found.figures, "length") == {"ours": [(10, 2.0), (20, 4.0)]}
    assert plots.points(found.figures, "density") == {}
    assert plots.points(found.figures, "relay") == {"paced": [("ours", 4.0)]}
    text = "\n".join(written.lines(found, {"length": "length.svg"}))
    assert "(length.svg)" in text
    assert "| one |" not in text
    assert "| a bar |" in text


def test_what_the_report_says_of_tests_is_so() -> None:
    for named in asserted.ASSERTED.values():
        path, _, name = named.partition("::")
        tree = ast.parse((Path(__file__).parents[1] / path).read_text("utf-8"))
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_the_machine_is_named_by_its_processor_and_its_versions() -> None:
    machine = results.machine()
    assert machine["processor"]
    assert json.dumps(machine)
    assert {"CPython", "openai"} <= machine.keys()
