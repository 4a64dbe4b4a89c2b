"""Every choice that instructions leave, and what they are then."""

import itertools
from typing import Any

from streamcite import instructions

CHOICES: dict[str, tuple[Any, ...]] = {
    "material": ("tool", "tool_lines", "blocks"),
    "placement": ("sentence", "paragraph"),
    "several": ("one_marker", "separate_markers"),
    "lines": ("none", "optional", "required"),
    "unsupported": ("say_so", "omit", "answer_uncited"),
    "considerations": (False, True),
}


def meaningful(options: dict[str, Any]) -> bool:
    return not (options["material"] == "blocks" and options["lines"] != "none") and not (
        options["several"] == "one_marker" and options["lines"] == "required"
    )


PRODUCT = (dict(zip(CHOICES, values, strict=True)) for values in itertools.product(*CHOICES.values()))
EVERY = [options for options in PRODUCT if meaningful(options)]
TEXTS = [(options, instructions(**options)) for options in EVERY]
