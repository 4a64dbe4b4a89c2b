"""Every file of the package has all its branches tested, or a reason why not."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = {
    path.relative_to(ROOT / "streamcite").with_suffix("").as_posix() for path in (ROOT / "streamcite").rglob("*.py")
}
CORE = (
    (ROOT / "Makefile")
    .read_text("utf-8")
    .partition("\nCORE := ")[2]
    .partition("\nEMPTY :=")[0]
    .replace("\\", "")
    .split()
)

# What is not in CORE, by the names of its files, and why.
EXCEPTIONS = {
    r"(?:.*/)?__init__": "gathers names",
    r"__main__|cli/(?!__init__).*": "is tested as its users run it, in processes that nothing traces",
    r"testing/(?!__init__).*": "is a server for tests: what they use of it they test",
    r"openai/(?!__init__).*": "is tested with every client, cut and fault, which the tracer would make too slow",
    r"relay/(?:alike|answers|app|clean_sse|incoming|metrics|outgoing|protocol|serve|upstream|workers)": (
        "reads connections"
    ),
    r"serve/(?:app|server)": "reads connections",
    r"relay/(?:cleaner|marks|rewriting|splice|written)": "is tested with every cut, and with faults, as slow as that",
    r"ui/(?:asgi|redis_.*)": "is tested with real servers and stores",
}


def test_what_is_named_is_there() -> None:
    assert set(CORE) <= FILES
    assert len(CORE) == len(set(CORE))


@pytest.mark.parametrize("file", sorted(FILES - set(CORE)))
def test_what_is_not_in_the_core_has_one_reason(file: str) -> None:
    assert len([reason for names, reason in EXCEPTIONS.items() if re.fullmatch(names, file)]) == 1


@pytest.mark.parametrize("names", EXCEPTIONS)
def test_an_exception_is_one(names: str) -> None:
    assert any(re.fullmatch(names, file) for file in FILES - set(CORE))
    assert not any(re.fullmatch(names, file) for file in CORE)
