"""The peers of the benchmark read what they can read, and what they do wrong is told."""

from collections.abc import Sequence
from importlib.util import find_spec

import pytest

from benchmarks import peers, shapes
from benchmarks.peers import correctness, melody, speed
from benchmarks.peers.correctness import Case
from benchmarks.peers.reading import Cite, Peer, Piece, as_it_is, views
from benchmarks.report import Figure, Table
from streamcite import Reference

ONE = Reference("a1", "L2")
TWO = Reference("b2")
MARKER = "\ue200cite\ue202a1\ue202L2\ue201"


@pytest.mark.parametrize("peer", peers.peers(), ids=lambda peer: peer.name)
@pytest.mark.parametrize("name", speed.SHAPES[:4])
def test_a_peer_reads_well_formed_answers(peer: Peer, name: str) -> None:
    shape = shapes.make(name, 500)
    translation = peer.translate("".join(shape.deltas))
    assert translation is not None
    *_, seen = views(peer, shape.deltas if translation.text == "".join(shape.deltas) else [*translation.text])
    text = "".join(piece for piece in seen if isinstance(piece, str))
    cited = [piece.references for piece in seen if isinstance(piece, Cite)]
    if peer is peers.CLIENT:
        assert text == "".join(shape.deltas)
    else:
        assert text.rstrip() == shape.clean.rstrip()
        assert len(cited) == len(shape.markup)
        assert not shape.markup or cited[0] == (Reference("turn0file0" if peer.locators else "0"),)
        assert not peer.locators or cited == [outcome for _, outcome in shape.markup]


class Fixed:
    """Shows the same of every answer."""

    def __init__(self, seen: Sequence[Sequence[Piece]]) -> None:
        self._seen = iter(seen)

    def feed(self, delta: str) -> Sequence[Piece]:
        return next(self._seen)

    def close(self) -> Sequence[Piece]:
        return next(self._seen)


def fixed(seen: Sequence[Sequence[Piece]], *, replaces: bool = False) -> Peer:
    return Peer("fixed", "test", lambda: Fixed(seen), replaces=replaces)


CASE = Case("x", [f"ab{MARKER} c"], "ab c", [(2, (ONE,))])


@pytest.mark.parametrize(
    ("seen", "faults"),
    [
        ([["ab", Cite((ONE,))], [" c"]], set()),
        ([["ab c"], [Cite((ONE,), 2)]], set()),
        ([["ab", Cite((ONE,))], [" c\ue201"]], {"leaks"}),
        ([["ab", Cite((ONE,))], []], {"loses"}),
        ([["ab c"], []], {"loses"}),
        ([["ab", Cite((ONE,)), Cite((TWO,))], [" c"]], {"invents"}),
        ([["ab", Cite((Reference("a1"),))], [" c"]], {"loses", "invents"}),
        ([["ab c"], [Cite((ONE,))]], {"reorders"}),
        ([["a", Cite((ONE,), 2)], [" cb"]], {"reorders"}),
    ],
)
def test_what_becomes_of_a_case_is_reported(seen: list[list[Piece]], faults: set[str]) -> None:
    assert correctness.faults(fixed(seen), CASE, as_it_is("".join(CASE.deltas)), CASE.deltas) == faults


@pytest.mark.parametrize(
    ("first", "faults"),
    [(["ab"], set()), (["ab\ue200"], {"leaks", "takes back"}), (["abc"], {"takes back"})],
)
def test_what_is_shown_before_the_end_counts(first: list[Piece], faults: set[str]) -> None:
    peer = fixed([first, ["ab", Cite((ONE,)), " c"]], replaces=True)
    assert correctness.faults(peer, CASE, as_it_is("".join(CASE.deltas)), CASE.deltas) == faults


def test_every_case_without_options_is_read_right_by_us_under_every_cut() -> None:
    summary, each = correctness.tables([peers.OURS])
    count = len(correctness.cases())
    assert count > 60
    assert summary.rows[0][2] == f"{count} of {count}"
    assert summary.rows[0][-1].startswith("0 of ")
    assert {row[1] for row in each.rows} == {"-"}


def test_texts_are_cut_everywhere() -> None:
    assert [*correctness.cuts("abc", ["ab", "c"], every=True)] == [
        *(["ab", "c"], ["abc"], ["a", "b", "c"], ["a", "bc"], ["ab", "c"]),
    ]


def test_a_case_is_put_into_the_language_of_melody() -> None:
    text = f"x {MARKER}y\ue200filecite\ue202turn0file1\ue202a1\ue201. \ue200cite\ue202b2 and"
    translation = melody.translate(text)
    assert translation is not None
    assert translation.text == "x <co></co: 0:[0]>y<co></co: 0:[1,0]>. <co></co: 0:[2 and"
    assert translation.ids == {"a1": "0", "turn0file1": "1", "b2": "2"}
    for foreign in ("\ue200", "\ue200url\ue202a1\ue201", "\ue200cite\ue202A B\ue201"):
        assert melody.translate(foreign) is None


def test_every_figure_is_measured() -> None:
    results = [*peers.figures(deltas=125, passes=1, every=False)]
    figures = [result for result in results if isinstance(result, Figure)]
    assert len({figure.name for figure in figures}) == len(figures)
    assert all(figure.value > 0 for figure in figures)
    others = len(peers.peers()) - 1
    assert not any(figure.listed for figure in figures)
    assert sum(figure.point is None for figure in figures) == len(speed.SHAPES) * others - bool(
        find_spec("cohere_melody")
    )
    cost, summary, each = (result for result in results if isinstance(result, Table))
    assert [row[0] for row in cost.rows] == speed.SHAPES
    assert [row[0] for row in summary.rows] == [peer.name for peer in peers.peers()]
    assert len(each.rows) == len(correctness.cases())
