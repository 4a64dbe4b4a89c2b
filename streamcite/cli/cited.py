"""The citations of an answer as JSON values, each with what it rests on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from streamcite import ResolvedEvent
from streamcite.links import MAX_PASSAGE, Cited, Link, Resolved


def citation_forms(events: Iterable[ResolvedEvent]) -> list[dict[str, Any]]:
    """Give the citations of an answer in order, as far as is known at its end.

    Args:
        events: the answer's.

    Returns:
        Objects of ``position``, in the clean text, in code points, and ``links``: one for each reference, with
        ``source_id``, ``locator``, ``title``, ``path``, ``number``, ``problem`` and ``passage``: its ``text``, None if
        it is longer than `MAX_PASSAGE`, and its ``lines``, the first and the last one in the text of the file, from 1.
    """
    positions: list[int] = []
    links: list[tuple[Link, ...]] = []
    for event in events:
        if isinstance(event, Cited):
            positions.append(event.position)
            links.append(event.links)
        elif isinstance(event, Resolved):
            links[event.index] = event.links
    return [
        {"position": position, "links": list(map(_link_form, cited))}
        for position, cited in zip(positions, links, strict=True)
    ]


def _link_form(link: Link) -> dict[str, Any]:
    source, passage = link.source, link.passage
    about = source.metadata if source else {}
    form: dict[str, Any] = {
        "source_id": link.reference.source_id,
        "locator": link.reference.locator,
        "title": source and source.title,
        "path": about.get("path"),
        "number": link.number,
        "problem": link.problem,
        "passage": None,
    }
    line = about.get("line")
    if passage is not None and isinstance(line, int):
        first = line + (passage.first_line or 1) - 1
        text = passage.text if len(passage.text) <= MAX_PASSAGE else None
        form["passage"] = {"text": text, "lines": [first, first + passage.text.rstrip().count("\n")]}
    return form
