"""Citations that a splice writes into the text: what the renderer of Markdown makes of the whole text."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import Source
from streamcite.relay import Splice
from streamcite.render.markdown import render_markdown
from streamcite.resolve import resolve
from tests import strategies as sc
from tests.chats import SOURCES, choice, chunk, streamed
from tests.markers import MARKER
from tests.raw_streams import APIS, body, bytewise
from tests.responses_streams import SOURCES as OTHERS
from tests.responses_streams import Item, Part, message, stream_of
from tests.splices import every_api, spliced, values

ALL = OTHERS | SOURCES | {"odd": Source("odd", title="a | b]\nc", url="javascript:alert(1)")}
TEXT = f"It **lasts**.{MARKER} `And`{MARKER} so on. \ue200cite\ue202odd\ue201"
every_style = pytest.mark.parametrize("render", ["links", "footnotes"])


def rendered(text: str, render: Any, *, complete: bool = True) -> str:
    return render_markdown(resolve(text, ALL, complete=complete), render)


def objects_of(name: str, deltas: Any) -> list[Any]:
    return streamed(deltas) if name == "chat" else stream_of(message(*deltas))


def written(name: str, seen: bytes) -> str:
    """Give the text of the deltas; of a response, it must stand in all its other places too."""
    found = values(seen)
    if name == "chat":
        return "".join(one["delta"].get("content") or "" for each in found for one in each["choices"])
    deltas = "".join(each["delta"] for each in found if each["type"] == "response.output_text.delta")
    done, part, item, completed = found[-4:]
    assert done["text"] == part["part"]["text"] == item["item"]["content"][0]["text"] == deltas
    assert completed["response"]["output"][0]["content"][0]["text"] == deltas
    numbers = [each["sequence_number"] for each in found]
    assert numbers == sorted({*numbers})
    return deltas


@every_api
@every_style
@pytest.mark.parametrize("deltas", [[TEXT], [*TEXT], [TEXT[:20], TEXT[20:]]], ids=len)
def test_links_and_footnotes_stand_in_the_text(name: str, render: Any, deltas: list[str]) -> None:
    data = body(objects_of(name, deltas), done=False)
    expected = rendered(TEXT, render)
    assert ("[1](<https://a.example/warranty>)" if render == "links" else "[^1]: [Warranty](<") in expected
    for pieces in ([data], bytewise(data)):
        seen = spliced(pieces, render=render, sources=ALL)
        assert written(name, seen) == expected
        assert b'"annotations": [{' not in seen


@sc.examples(40)
@given(st.sampled_from(sorted(APIS)), st.sampled_from(["links", "footnotes"]), st.data())
def test_any_text(name: str, render: Any, data: st.DataObject) -> None:
    words = st.sampled_from(
        ["It ", "`code`", "```\n", "\n\n", "*a*", "| a |", "[b]", MARKER, "\ue200cite\ue202", "\ue201"]
    )
    text = "".join(data.draw(st.lists(words, min_size=1, max_size=12)))
    deltas = data.draw(sc.cuts(text))
    seen = spliced([body(objects_of(name, deltas), done=False)], render=render, sources=ALL)
    assert written(name, seen) == rendered(text, render)


@every_style
def test_the_rest_is_written_before_the_finish_and_the_end_only(render: Any) -> None:
    splice = Splice(render=render, sources=ALL)
    seen = splice.feed(body([chunk(choice(f"It lasts.{MARKER}"))], done=False))
    assert written("chat", seen) == "It lasts."
    finish = body([chunk(choice(finish_reason="stop"))])
    *before, last, done = values(splice.feed(finish) + splice.close())
    assert before
    assert (last["choices"][0]["finish_reason"], done) == ("stop", "[DONE]")


@every_style
def test_only_answers_are_written_into_each_with_numbers_of_its_own(render: Any) -> None:
    items = [
        Item([Part([f"Why{MARKER}"], "summary_text")]),
        Item([Part([f"One{MARKER}"]), Part([f"No{MARKER}"], "refusal")]),
        Item([Part([f"Two{MARKER}"])]),
    ]
    *_, completed = values(spliced([body(stream_of(*items), done=False)], render=render, sources=ALL))
    thought, first, second = completed["response"]["output"]
    assert thought["summary"][0]["text"] == "Why"
    assert first["content"][1]["refusal"] == "No"
    assert first["content"][0]["text"] == rendered(f"One{MARKER}", render)
    assert second["content"][0]["text"] == rendered(f"Two{MARKER}", render)


def test_what_is_rendered_needs_sources_and_a_style() -> None:
    with pytest.raises(ValueError, match="render: needs sources"):
        Splice(render="links")
    with pytest.raises(ValueError, match="render: must be 'links', 'footnotes' or None, not 'sources'"):
        Splice(render="sources", sources=ALL)  # type: ignore[arg-type]
