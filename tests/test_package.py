import json
from importlib.metadata import distribution
from pathlib import Path

import streamcite

CHECKOUT = Path(__file__).parents[1] / "streamcite"


def test_what_is_tested_is_what_is_installed() -> None:
    # `make test` installs the built wheel: then the checkout's package must not have taken its place.
    origin = json.loads(distribution("streamcite").read_text("direct_url.json") or "{}")
    editable = origin.get("dir_info", {}).get("editable", False)
    assert Path(streamcite.__file__).is_relative_to(CHECKOUT) == editable


def test_every_file_of_the_package_is_installed() -> None:
    package = Path(streamcite.__file__).parent
    names = [path.relative_to(CHECKOUT) for path in CHECKOUT.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert Path("py.typed") in names
    assert [name for name in names if not (package / name).is_file()] == []
