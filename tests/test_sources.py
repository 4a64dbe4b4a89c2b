"""The registry of sources: first as a machine that is told what may happen to it, then by its rules."""

import copy
import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import CHATGPT, OPENAI, CitationFormat, Reference, Source, Sources
from streamcite.sources import ToolCall

KEYS = st.none() | st.sampled_from(["h#1", "h#2", "h#3"])
IDS = st.sampled_from([None, None, None, "file0", "turn0file1", "turn2url0", "block2", "L1", "no id"])
TEXTS = st.sampled_from(["a", "b"])
STEPS = st.one_of(
    st.just(("call",)),
    st.tuples(st.just("result"), st.integers(0, 3), TEXTS, st.sampled_from(["file", "url", "block"]), KEYS, IDS),
    st.tuples(st.just("block"), TEXTS, KEYS, IDS),
    st.tuples(st.just("shown"), st.integers(0, 5)),
    st.tuples(st.just("cited"), st.integers(0, 5)),
    st.just(("message",)),
)


@dataclass
class Run:
    """A registry in use, with the calls that are open."""

    sources: Sources = field(default_factory=Sources)
    calls: list[ToolCall] = field(default_factory=list)

    def take(self, step: tuple[Any, ...]) -> Source | None:
        match step:
            case ("call",):
                self.calls.append(self.sources.tool_call())
            case ("result", which, text, kind, key, id) if which < len(self.calls):
                return self._try(lambda: self.calls[which].add(text, kind, key=key, id=id))
            case ("block", text, key, id):
                return self._try(lambda: self.sources.add_block(text, key=key, id=id))
            case ("shown", which) if which < len(self.sources):
                self.sources.mark_shown(list(self.sources)[which])
            case ("cited", which) if which < len(self.sources):
                self.sources.mark_cited(list(self.sources)[which], "unknown")
            case ("message",):
                self.sources.user_message()
        return None

    def _try(self, add: Callable[[], Source]) -> Source | None:
        before = self.sources.to_dict()
        try:
            return add()
        except ValueError as error:
            message = str(error)
        assert message.startswith("id: ")
        assert self.sources.to_dict() == before
        return None


@given(st.lists(STEPS, max_size=30))
def test_an_id_means_one_source_and_a_key_one_id(steps: list[tuple[Any, ...]]) -> None:
    run = Run()
    by_key: dict[str, str] = {}
    texts: dict[str, str] = {}
    for step in steps:
        known = set(run.sources)
        source = run.take(step)
        if source is None:
            continue
        assert OPENAI.write([Reference(source.id)])
        assert run.sources[source.id] is source
        key, id = step[-2:]
        if key is not None:
            assert by_key.setdefault(key, source.id) == source.id == run.sources.id_of(key)
        elif source.id in known:
            assert (id, source.text) == (source.id, texts[source.id])
        if id is not None:
            assert source.id == id
        texts[source.id] = source.text
    assert {id: source.text for id, source in run.sources.items()} == texts
    assert list(run.sources) == [source.id for source in run.sources.values()]


@given(st.lists(STEPS, max_size=30), st.lists(STEPS, max_size=10))
def test_a_saved_registry_goes_on_as_the_one_that_was_saved(
    before: list[tuple[Any, ...]], behind: list[tuple[Any, ...]]
) -> None:
    run = Run()
    for step in before:
        run.take(step)
    loaded = Run(Sources.from_dict(json.loads(json.dumps(run.sources.to_dict()))))
    run.calls.clear()
    for step in behind:
        assert run.take(step) == loaded.take(step)
    assert loaded.sources.to_dict() == run.sources.to_dict()
    assert loaded.sources == run.sources


@given(st.lists(st.tuples(TEXTS, st.sampled_from(["h#1", "h#2", "h#3", "h#4"])), max_size=8), st.randoms())
def test_ids_are_the_same_from_run_to_run(retrieved: list[tuple[str, str]], random: Any) -> None:
    sources = Sources()
    first = {key: sources.tool_call().add(text, key=key).id for text, key in retrieved}
    again = Sources.from_dict(sources.to_dict())
    random.shuffle(retrieved)
    call = again.tool_call()
    assert {key: call.add(text, key=key).id for text, key in retrieved} == first


def test_the_results_of_a_call_are_numbered_from_0_and_calls_too() -> None:
    sources = Sources()
    call = sources.tool_call()
    ids = [call.add("a").id, call.add("b", kind="url").id, call.add("c", "block").id]
    assert ids == ["turn0file0", "turn0url1", "turn0block2"]
    assert [source.id for source in call.results] == ids
    assert (call.number, sources.tool_call().number, sources.tool_call().add("d").id) == (0, 1, "turn2file0")
    assert repr(sources) == "<Sources: 4>"
    assert (list(sources), len(sources), "turn2file0" in sources, "turn3file0" in sources) == (
        [*ids, "turn2file0"],
        4,
        True,
        False,
    )


def test_calls_may_be_open_beside_each_other() -> None:
    sources = Sources()
    outer, inner = sources.tool_call(), sources.tool_call()
    added = [inner.add("a"), outer.add("b"), inner.add("c"), outer.add("d")]
    assert [source.id for source in added] == ["turn1file0", "turn0file0", "turn1file1", "turn0file1"]


def test_blocks_are_numbered_from_1() -> None:
    sources = Sources()
    sources.add(Source("block2"))
    added = [sources.add_block("a", title="A"), sources.add_block("b", document="d", citable=False)]
    assert added == [
        Source("block1", "a", title="A", kind="block", unit="block"),
        Source("block3", "b", document="d", citable=False, kind="block", unit="block"),
    ]


def test_a_result_is_what_was_said_of_it() -> None:
    call = Sources().tool_call()
    assert call.add("a", "url", title="A", url="u", updated="now", metadata={"b": 1}, unit="document") == Source(
        "turn0url0", "a", title="A", url="u", updated="now", metadata={"b": 1}, kind="url", unit="document"
    )
    assert [call.add("", kind).unit for kind in ("file", "block", "search")] == ["lines", "block", "lines"]


def test_what_is_retrieved_again_keeps_its_id_and_counts() -> None:
    sources = Sources()
    first = sources.tool_call().add("a", key="k")
    call = sources.tool_call()
    assert call.add("a", key="k") is first
    assert call.add("b").id == "turn1file1"
    assert call.results == (first, sources["turn1file1"])
    changed = sources.tool_call().add("new", "url", key="k", url="u")
    assert (changed.id, changed.text, sources["turn0file0"] is changed, list(sources)) == (
        *("turn0file0", "new", True),
        ["turn0file0", "turn1file1"],
    )


def test_given_ids_are_not_given_again() -> None:
    sources = Sources()
    call = sources.tool_call()
    assert call.add("a", id="turn0file1").id == "turn0file1"
    assert call.add("b").id == "turn0file2"
    assert call.add("c", id="handbook").id == "handbook"
    assert call.add("d").id == "turn0file4"
    sources.add(Source("turn7file0"))
    sources.add(Source("turn9999999999file0"))
    assert sources.tool_call().number == 8


def test_the_same_content_may_come_again_under_its_id() -> None:
    sources = Sources()
    first = sources.add(Source("a", "text"))
    assert sources.add(Source("a", "text"), key="k") is first
    assert sources.id_of("k") == "a"
    assert (sources.id_of("other"), sources.id_of(None)) == (None, None)


@pytest.mark.parametrize("id", ["L1", "L8-L13", "", " ", "a b", "a.b", "é", "a" * 5000, "\ue202", "\n", "\ud800"])
def test_an_id_that_no_citation_can_name_is_refused(id: str) -> None:
    sources = Sources()
    for add in (sources.add_block, sources.tool_call().add):
        with pytest.raises(ValueError, match=r"^id: "):
            add("text", id=id)
    assert len(sources) == 0


def test_an_id_must_fit_the_format() -> None:
    other = CitationFormat(source_id="[a-z]+[.][0-9]", locator="L[.][0-9]")
    sources = Sources(other)
    assert sources.add(Source("doc.1")).id == "doc.1"
    for id in ("turn0file0", "L.1"):
        with pytest.raises(ValueError, match=f"^id: '{id}' is not a source id of this format"):
            sources.add(Source(id))
    with pytest.raises(ValueError, match=r"^id: 'turn0file0' is not a source id"):
        sources.tool_call().add("text")
    assert Sources(CHATGPT).add_block("").id == "block1"


def test_an_id_is_that_of_one_source() -> None:
    sources = Sources()
    sources.add(Source("a", "text"), key="k")
    with pytest.raises(ValueError, match=r"^id: 'a' is already that of another source"):
        sources.add(Source("a", "other"))
    with pytest.raises(ValueError, match=r"^id: 'a' is already that of another source"):
        sources.add(Source("a", "other"), key="new")
    with pytest.raises(ValueError, match=r"^id: 'b' is not 'a', which key 'k' has"):
        sources.add_block("text", key="k", id="b")
    assert sources == {"a": Source("a", "text")}
    assert sources.id_of("new") is None


@pytest.mark.parametrize("kind", ["", "file1", "a b", "é", None])
def test_a_kind_is_a_name(kind: Any) -> None:
    with pytest.raises(ValueError, match=r"^kind: must be a name in ASCII letters, not "):
        Sources().tool_call().add("text", kind)


def test_a_wrong_type_in_the_registry_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"^format: must be a CitationFormat, not str"):
        Sources("openai")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^source: must be a Source, not 'text'"):
        Sources().add("text")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^key: must be a str or None, not 3"):
        Sources().add(Source("a"), key=3)  # type: ignore[arg-type]


def test_several_ids_may_stand_for_one_document() -> None:
    sources = Sources()
    sources.add(Source("a", url="u"))
    sources.add(Source("b", document="d"), key="b")
    sources.add(Source("c", url="u", title="C"))
    sources.add(Source("d"))
    assert [sources.aliases(id) for id in "abcd"] == [("a", "c"), ("b", "d"), ("a", "c"), ("b", "d")]
    sources.add(Source("b", url="u"), key="b")
    assert [sources.aliases(id) for id in "abcd"] == [("a", "c", "b")] * 3 + [("d",)]
    with pytest.raises(KeyError):
        sources.aliases("e")


def test_what_was_shown_and_cited_is_known_by_what_the_registry_is_told() -> None:
    sources = Sources()
    for id in "abcd":
        sources.add(Source(id, citable=id != "d"))
    sources.mark_shown("d", "b", "a")
    sources.mark_cited("a", "unknown", "d", "c", "a")
    assert (sources.shown, sources.cited, sources.never_cited) == (("d", "b", "a"), ("a", "c"), ("b",))
    with pytest.raises(ValueError, match=r"^id: 'e' is that of no source"):
        sources.mark_shown("c", "e")
    assert sources.shown == ("d", "b", "a")


def test_what_was_shown_before_the_last_message_is_stale() -> None:
    sources = Sources()
    for id in "abc":
        sources.add(Source(id))
    sources.mark_shown("a", "b")
    assert not any(map(sources.is_stale, "abc"))
    sources.user_message()
    sources.mark_shown("b")
    assert [*map(sources.is_stale, "abce")] == [True, False, False, False]
    assert sources.shown == ("a", "b")


def test_an_id_with_two_meanings_is_ambiguous() -> None:
    sources = Sources()
    sources.add(Source("a"))
    sources.mark_ambiguous("a")
    assert (sources.is_ambiguous("a"), sources.is_ambiguous("b")) == (True, False)
    with pytest.raises(ValueError, match=r"^id: 'b' is that of no source"):
        sources.mark_ambiguous("a", "b")
    assert Sources.from_dict(sources.to_dict()).is_ambiguous("a")


def test_an_id_must_fit_a_family_of_the_format_whatever_it_is_called() -> None:
    assert Sources(CitationFormat(families=("ref", "note"))).add(Source("a1")) == Source("a1")
    with pytest.raises(ValueError, match=r"^id: 'a1' is not a source id of this format"):
        Sources(CitationFormat(families=())).add(Source("a1"))


SAVED = Sources().to_dict() | {"sources": [{"id": "a"}], "keys": {"k": "a"}, "shown": {"a": 0}}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "^not a saved registry of version 1"),
        ({"calls": "1"}, "^not a saved registry of version 1"),
        ({"calls": -1}, "^not a saved registry of version 1"),
        ({"messages": True}, "^not a saved registry of version 1"),
        ({"keys": {1: "a"}}, "^not a saved registry of version 1"),
        ({"shown": {"a": "0"}}, "^not a saved registry of version 1"),
        ({"shown": {"a": -1}}, "^not a saved registry of version 1"),
        ({"shown": [["a", 0]]}, "^not a saved registry of version 1"),
        ({"sources": {}}, "^not a saved registry of version 1"),
        ({"sources": [{"id": "a"}, {"id": "L1"}]}, "^sources: 1: id: 'L1' is not a source id"),
        ({"sources": [{"id": "a"}, 7]}, "^sources: 1: a source must be a mapping"),
        ({"sources": [{"id": "a"}, {"id": "a", "text": "b"}]}, "^sources: 1: id: 'a' is already "),
        ({"keys": {"k": "b"}}, "^keys: 'b' is the id of no source"),
        ({"shown": {"b": 0}}, "^shown: 'b' is the id of no source"),
        ({"cited": ["b"]}, "^cited: 'b' is the id of no source"),
        ({"ambiguous": [["a"]]}, r"^ambiguous: \['a'\] is the id of no source"),
    ],
)
def test_what_is_not_a_saved_registry_is_refused(change: dict[str, Any], message: str) -> None:
    assert Sources.from_dict(SAVED).to_dict() == SAVED
    with pytest.raises(ValueError, match=message):
        Sources.from_dict(SAVED | change)
    for name in SAVED:
        with pytest.raises(ValueError, match=r"^not a saved registry"):
            Sources.from_dict({other: value for other, value in SAVED.items() if other != name})
    with pytest.raises(ValueError, match=r"^not a saved registry"):
        Sources.from_dict([])  # type: ignore[arg-type]


def test_a_saved_registry_is_not_tied_to_the_one_it_came_from() -> None:
    sources = Sources()
    saved = sources.to_dict()
    loaded = Sources.from_dict(saved)
    loaded.add_block("a", key="k")
    loaded.mark_shown("block1")
    assert (saved, len(sources)) == (Sources().to_dict(), 0)


def test_a_registry_can_be_copied_and_pickled() -> None:
    sources = Sources()
    sources.add_block("a", key="k")
    for other in (copy.deepcopy(sources), pickle.loads(pickle.dumps(sources))):  # noqa: S301 - pickled in this line
        assert other == sources
        assert other.add_block("b").id == "block2"
    assert len(sources) == 1


def test_what_is_not_a_string_is_misuse() -> None:
    sources, odd = Sources(), cast(Any, ["block1"])
    source = sources.add_block("Text.")
    for mark in (sources.mark_shown, sources.mark_cited, sources.mark_ambiguous):
        with pytest.raises(TypeError, match=r"^ids: must be strings, each an argument, as in \(\*ids\), not list$"):
            mark("block1", odd)
    assert (sources.shown, sources.cited, sources.is_ambiguous("block1")) == ((), (), False)
    for point in (source.passage, source.has_passage, source.span):
        with pytest.raises(TypeError, match=r"^locator: must be a str or None, not int$"):
            point(cast(Any, 5))
    with pytest.raises(TypeError, match=r"^format: must be a CitationFormat, not list$"):
        Sources(cast(Any, [source]))
