"""The suites, in the order of the report. A new one is a module that has `figures`, and its line here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

from .report import Result

# The module, and what it measures.
SUITES: Mapping[str, str] = {
    "core": "The parser",
    "openai": "The views of the OpenAI client's streams",
    "sources": "Sources: numbering, splitting, registering",
    "material": "Material: showing sources to a model, and reading them back",
    "resolve": "Resolving citations",
    "lint": "Checking an answer",
    "render": "Rendering while an answer streams",
    "splice": "Cleaning server-sent events",
    "ui": "Sending an answer to a front end",
    "relay": "The relay",
    "imports": "Importing the library",
    "soak": "Left running",
    "mutants": "Changed on purpose",
    "peers": "Peers",
}
# What runs only when it is named, since it takes minutes, or hours.
LONG = frozenset({"soak", "mutants"})


def results(suite: str, *, quick: bool, **more: float) -> Iterator[Result]:
    """Measure one suite, one result after the other.

    A suite may also have ``QUICK``, the arguments of its ``figures`` that take seconds.

    Args:
        suite: its name.
        quick: whether rough figures will do.
        **more: arguments of its ``figures``, before those.

    Raises:
        ModuleNotFoundError: a package that it needs is missing.
    """
    module = import_module(f"{__package__}.{suite}")
    figures: Callable[..., Iterator[Result]] = module.figures
    size: Mapping[str, Any] = getattr(module, "QUICK", {}) if quick else {}
    return figures(**{**size, **more})
