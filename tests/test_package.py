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


def files(folder: Path) -> set[Path]:
    return {path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}


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
