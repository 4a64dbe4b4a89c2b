"""Where a request goes, and whether its answer is one to clean: read from its method and path alone. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

from .apis import Api

# The path of an answer, after any prefix: Azure has `/openai/deployments/NAME`, OpenRouter `/api/v1`.
_CREATE = re.compile(r"/(chat/completions|responses)/?\Z")
_RETRIEVE = re.compile(r"/(chat/completions|responses)/[^/]+\Z")
_APIS: dict[str, Api] = {"chat/completions": "chat", "responses": "responses"}
# What a server may take for a slash when it has read the escapes.
_SLASH = re.compile(r"/|%2[fF]|%5[cC]")
# A segment of dots leads out of what the upstream's URL names, also where a dot is spelled as an escape, and where
# parameters stand after it, which some servers leave out.
_DOTS = re.compile(r"(?:\.|%2[eE]){1,2}(?:(?:;|%3[bB]).*)?", re.DOTALL)


class Target(NamedTuple):
    """Say where a request goes.

    Attributes:
        path: of the upstream, as it is sent, without the query.
        api: whose answers it gives; None for any other path.
        asks: whether its body asks for an answer, and so may hold sources.
    """

    path: str
    api: Api | None
    asks: bool


def target_of(method: str, path: str, prefix: str) -> Target | None:
    """Say where a request goes.

    Args:
        method: in capitals.
        path: as it was sent, with its escapes.
        prefix: the path of the upstream's URL.

    Returns:
        Where; None if it is not a path, or leads out of the prefix.
    """
    if not path.startswith("/") or "\\" in path or any(map(_DOTS.fullmatch, _SLASH.split(path))):
        return None
    created = _CREATE.search(path) if method == "POST" else None
    found = created or (_RETRIEVE.search(path) if method == "GET" else None)
    return Target(join(prefix, path), _APIS[found[1]] if found else None, created is not None)


def join(prefix: str, path: str) -> str:
    """Put the prefix before a path, except for the most of its end that the path begins with.

    So a client may have ``/v1`` in its base URL or not.
    """
    segments = prefix.rstrip("/").split("/")[1:]
    for begin in range(len(segments)):
        own = "/" + "/".join(segments[begin:])
        if path == own or path.startswith(own + "/"):
            return "".join(f"/{each}" for each in segments[:begin]) + path
    return prefix.rstrip("/") + path
