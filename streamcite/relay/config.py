"""What a relay is told when it is started: one immutable value, which no request can change."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from typing import Any
from urllib.parse import urlsplit

from streamcite.annotations import Unit, When
from streamcite.checks import check_choice
from streamcite.spacing import Spacing

from .written import Render

_NUMBERS = {
    "connect_timeout": 0.0, "read_timeout": 0.0, "body_timeout": 0.0, "head_timeout": 0.0, "max_body": 1,
    "max_head": 256, "remember": 0,
}  # fmt: skip
_ORIGIN = r"\*|null|[a-z][a-z0-9+.-]*://(?:(?![*/?#@])[!-~])+"


@dataclass(frozen=True, slots=True, kw_only=True)
class RelayConfig:
    """Say what a relay does. All times are in seconds, all sizes in bytes.

    Attributes:
        upstream: the URL of the API that it stands before, such as ``https://api.openai.com/v1``: every request goes
            there. Its path is put before that of a request, except for what this begins with already.
        annotations: when the annotations of citations come: ``streamed``, ``final`` or ``off``.
        unit: what the offsets in annotations count: ``codepoint``, or ``utf16`` for JavaScript.
        render: ``links`` or ``footnotes`` writes citations into the text instead; None: it does not.
        spacing: ``tidy`` mends the blanks that a removed marker leaves, as `Tidy` does; ``exact``: they stay.
        remember: how many of its answers are given back their markers when a client sends them again.
        cors: the origins whose web pages may read what is answered; ``*`` for any.
        max_body: of a request that must be read whole, as it may hold sources, and of an answer that is not a stream.
        max_head: of the request line and the headers of a request, where the relay runs the server; and of those of an
            answer.
        connect_timeout: for a connection to the upstream.
        read_timeout: between two reads of an answer; with ``connect_timeout``, from the end of a request to that of the
            headers of its answer.
        body_timeout: between two reads of the body of a request.
        head_timeout: for the request line and the headers, where the relay runs the server.

    Raises:
        ValueError: a value is of the wrong type or out of its range; the message names it.
    """

    upstream: str
    annotations: When = "streamed"
    unit: Unit = "codepoint"
    render: Render | None = None
    spacing: Spacing = "exact"
    remember: int = 0
    cors: tuple[str, ...] = ()
    max_body: int = 128 * 2**20
    max_head: int = 64 * 2**10
    connect_timeout: float = 10.0
    read_timeout: float = 600.0
    body_timeout: float = 30.0
    head_timeout: float = 20.0

    def __post_init__(self) -> None:
        _check_upstream(self.upstream)
        for name, choices in {"annotations": When, "unit": Unit, "render": Render, "spacing": Spacing}.items():
            if (value := getattr(self, name)) is not None or name != "render":
                check_choice(name, value, choices)
        for name, least in _NUMBERS.items():
            value = getattr(self, name)
            kinds = (int,) if isinstance(least, int) else (int, float)
            if isinstance(value, bool) or not isinstance(value, kinds) or not least <= value < float("inf"):
                raise ValueError(f"{name}: must be a number from {least:g}, not {value!r}")
        if not isinstance(self.cors, tuple) or not all(map(_is_origin, self.cors)):
            given = list(self.cors) if isinstance(self.cors, tuple) else self.cors
            raise ValueError(f"cors: must be a list of origins, such as ['https://page.example'], not {given!r}")

    def to_json(self) -> str:
        """Give it as JSON, for a process of its own."""
        return json.dumps(asdict(self))

    @classmethod
    def from_dict(cls, values: object, *, beside: Iterable[str] = ()) -> RelayConfig:
        """Build it of what a file has.

        Args:
            values: the settings by their names; ``cors`` may be a list.
            beside: what else the file may set, for the message on an unknown name.

        Raises:
            ValueError: as the class; or it is not a mapping, or has an unknown name.
        """
        if not isinstance(values, dict):
            raise ValueError(f"a configuration must be a table, not {values!r}")
        names = [item.name for item in fields(cls)]
        for name in values:
            if name not in names:
                raise ValueError(f"{name}: is not a setting; the settings are {', '.join([*names, *beside])}")
        if "upstream" not in values:
            raise ValueError("upstream: must be given, such as https://api.openai.com/v1")
        given: dict[str, Any] = dict(values)
        if isinstance(given.get("cors"), list):
            given["cors"] = tuple(given["cors"])
        return cls(**given)


def _is_origin(value: object) -> bool:
    """Say whether browsers send this as an ``Origin``, which has no path, or it is ``*``; another pattern fits none."""
    return isinstance(value, str) and re.fullmatch(_ORIGIN, value) is not None


def _check_upstream(url: object) -> None:
    try:
        parts = urlsplit(url if isinstance(url, str) and re.fullmatch(r"[!-~]+", url) else "")
        is_one = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # the address or the port is malformed
        is_one = False
    if not is_one:
        raise ValueError(f"upstream: must be a URL such as 'https://api.openai.com/v1', not {url!r}")
    if parts.query or parts.fragment or parts.username or parts.password:
        raise ValueError("upstream: must have neither a user nor a query; keys come with the requests")
