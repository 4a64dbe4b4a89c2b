import json
import re
from importlib.metadata import distribution
from pathlib import Path

import streamcite
from tests.extras import NEEDS

CHECKOUT = Path(__file__).parents[1] / "streamcite"


def test_what_is_tested_is_what_is_installed() -> None:
    # `make test` installs the built wheel: then the checkout's package must not have taken its place.
    origin = json.loads(distribution("streamcite").read_text("direct_url.json") or "{}")
    editable = origin.get("dir_info", {}).get("editable", False)
    assert Path(streamcite.__file__).is_relative_to(CHECKOUT) == editable


def test_programs_that_tests_start_import_what_is_installed() -> None:
    # With -c or -m, Python looks first where it is started: in the checkout, whose package would be tested instead.
    for path in Path(__file__).parent.glob("*.py"):
        starts = re.findall(r'sys\.executable, ("-.*)', path.read_text("utf-8"))
        assert [start for start in starts if not start.startswith('"-P", ')] == [], path


def files(folder: Path) -> set[Path]:
    """Its files but for what Python caches of them, which another process may be writing."""
    found = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    return {path for path in found if "__pycache__" not in path.parts}


def test_the_files_of_the_package_are_installed_and_no_others() -> None:
    assert Path("py.typed") in files(CHECKOUT)
    assert files(Path(streamcite.__file__).parent) == files(CHECKOUT)
    tops = {path.parts[0] for path in distribution("streamcite").files or ()}
    assert {top for top in tops if not top.endswith(".dist-info")} <= {
        "streamcite",
        "..",
        "_editable_impl_streamcite.pth",
    }


def test_each_extra_is_tried_by_itself() -> None:
    extras = distribution("streamcite").metadata.get_all("Provides-Extra") or ()
    assert {*NEEDS} == {"", *extras} - {"all"}
    run = (CHECKOUT.parent / ".ci" / "run").read_text("utf-8")
    (tried,) = re.findall(r'for extra in "" (.*); do', run)
    assert {"", *tried.split()} == {*NEEDS}


def test_no_leg_makes_anew_what_others_install() -> None:
    run = (CHECKOUT.parent / ".ci" / "run").read_text("utf-8")
    made = re.findall(r"^    (make .*)", run, re.MULTILINE)
    assert len(made) == 2
    assert all(line.startswith("make -o .venv/wheel.stamp ") for line in made)
