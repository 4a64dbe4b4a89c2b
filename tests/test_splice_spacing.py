"""Tidy spacing in a splice: what the object view makes of the same events, and what is written into the text."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import parse
from streamcite.relay import CleanSSE, Splice
from streamcite.render.markdown import render_markdown
from streamcite.resolve import resolve
from streamcite.spacing import tidy
from tests import strategies as sc
from tests.chats import SOURCES, streamed
from tests.markers import MARKER
from tests.raw_streams import APIS, body, bytewise
from tests.responses_streams import is_settled, message, stream_of
from tests.splices import cleaned, every_api, spliced, values

PROSE = "\ue200cite\ue202zz9"
TEXT = f"It lasts {MARKER}, and ({MARKER}) goes {PROSE} on {MARKER} ."
PIECES = (MARKER, MARKER, PROSE, " ", " ", "a", "It", ".", ",", "(", ")", "\n", "- ", "\ue201", "\U0001f680")
texts = st.lists(st.sampled_from(PIECES), max_size=10).map("".join).filter(is_settled)


def objects_of(name: str, deltas: Any) -> list[Any]:
    return streamed(deltas) if name == "chat" else stream_of(message(*deltas))


def shown(name: str, data: bytes) -> str:
    """Give the text of the deltas."""
    if name == "chat":
        return "".join(one["delta"].get("content") or "" for each in values(data) for one in each["choices"])
    return "".join(each["delta"] for each in values(data) if each["type"] == "response.output_text.delta")


@sc.examples(60)
@given(st.data(), st.sampled_from(sorted(APIS)), texts, st.booleans())
def test_it_is_what_the_object_view_gives(data: st.DataObject, name: str, text: str, known: bool) -> None:
    objects = objects_of(name, data.draw(sc.cuts(text)))
    options: Any = {"sources": SOURCES if known else None, "spacing": "tidy"}
    seen = spliced(data.draw(st.sampled_from([bytewise, lambda given: [given]]))(body(objects, done=False)), **options)
    assert values(seen) == cleaned(name, objects, **options)
    assert shown(name, seen) == "".join(map(str, tidy(parse(text, complete=True))))


@sc.examples(60)
@given(st.data(), st.sampled_from(sorted(APIS)), texts, st.sampled_from(["links", "footnotes"]))
def test_what_is_written_stands_in_the_tidy_text(data: st.DataObject, name: str, text: str, render: Any) -> None:
    stream = body(objects_of(name, data.draw(sc.cuts(text))), done=False)
    seen = spliced([stream], render=render, sources=SOURCES, spacing="tidy")
    assert shown(name, seen) == render_markdown(tidy(resolve(text, SOURCES, complete=True)), render)  # type: ignore[arg-type]


@every_api
def test_a_body_for_a_response_is_tidy_too(name: str) -> None:
    async def stream() -> AsyncIterator[bytes]:
        for piece in bytewise(body(objects_of(name, [*TEXT]), done=False)):
            yield piece

    async def read() -> bytes:
        return b"".join([piece async for piece in CleanSSE(stream(), spacing="tidy")])

    assert shown(name, asyncio.run(read())) == "It lasts, and goes on."


def test_another_spacing_is_refused_at_once() -> None:
    wrong: Any = "Tidy"
    with pytest.raises(ValueError, match=r"^spacing: must be one of 'exact', 'tidy', not 'Tidy'$"):
        Splice(spacing=wrong)
