"""Which cases of the parser each reader gets right, and what becomes of the others, under every cut in two."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import Table
from streamcite import Citation, Reference, from_dict

from .reading import Cite, Peer, Piece, Translation, views

CASES = Path(__file__).parents[2] / "tests" / "cases" / "parser.jsonl"
# What can go wrong with an answer, and when it is said to.
FAULTS: Mapping[str, str] = {
    "leaks": "the reader sees, at the end or before, what is no part of the clean text",
    "loses": "text or a reference is missing",
    "invents": "there is a reference that the answer does not make",
    "reorders": "all is there, but text, references or their places are not in order",
    "takes back": "what was shown is changed later",
}

_FAIR = (
    "What a marker without its stop is to mean is this library's choice, and so are the cases; a token that the reader "
    "sees, or text that he does not, is a fault by any. cohere-melody gets the cases that can be said in its language, "
    "and drops blanks at the end of an answer on purpose."
)

Citations = list[tuple[int, tuple[Reference, ...]]]


@dataclass(frozen=True)
class Case:
    """An answer, and what the semantics make of it.

    Attributes:
        id: its name in the table of cases.
        deltas: as it came.
        clean: what a reader is to see.
        citations: what it cites, each with its position in the clean text.
    """

    id: str
    deltas: Sequence[str]
    clean: str
    citations: Citations


def cases() -> list[Case]:
    """Give the cases that need no option: the peers have none."""
    lines = map(json.loads, CASES.read_text(encoding="utf-8").splitlines())
    return [_case(line) for line in lines if not line["options"]]


def _case(line: dict[str, object]) -> Case:
    held: Iterable[object] = line["events"]  # type: ignore[assignment]
    events = [event if isinstance(event, str) else from_dict(event) for event in held]  # type: ignore[arg-type]
    cited = [(event.position, event.references) for event in events if isinstance(event, Citation)]
    return Case(str(line["id"]), list(line["deltas"]), str(line["clean"]), cited)  # type: ignore[call-overload]


def cuts(text: str, deltas: Sequence[str] | None, *, every: bool) -> Iterator[Sequence[str]]:
    """Give ways to cut a text: as it came, whole, by character, and in two at every place."""
    if deltas is not None:
        yield deltas
    yield [text]
    yield [*text]
    if every:
        yield from ([text[:place], text[place:]] for place in range(1, len(text)))


def faults(peer: Peer, case: Case, translation: Translation, deltas: Sequence[str]) -> set[str]:
    """Say what becomes of a case that is cut so."""
    seen = [*views(peer, deltas)]
    texts = ["".join(piece for piece in pieces if isinstance(piece, str)) for pieces in seen]
    found = _citations(seen[-1])
    expected = [(at, _known(references, peer, translation)) for at, references in case.citations]
    text, cited = Counter(case.clean), Counter(one for _, references in expected for one in references)
    given, made = Counter(texts[-1]), Counter(one for _, references in found for one in references)
    wrong = {
        "leaks": any(Counter(each) - text for each in texts),
        "loses": bool(text - given or cited - made),
        "invents": bool(made - cited),
        "takes back": not all(texts[-1].startswith(each) for each in texts),
    }
    wrong["reorders"] = not any(wrong.values()) and (texts[-1], found) != (case.clean, expected)
    return {name for name in FAULTS if wrong[name]}


def tables(peers: Sequence[Peer], *, every: bool = True) -> Iterator[Table]:
    """Give what each peer does with each case.

    Args:
        peers: who reads.
        every: whether each text is cut in two at every place.
    """
    read = {peer.name: {case.id: _counted(peer, case, every=every) for case in cases()} for peer in peers}
    yield _summary(peers, read)
    rows = [[case.id, *(_told(read[peer.name][case.id]) for peer in peers)] for case in cases()]
    yield Table(
        "Each case",
        ["case", *(peer.name for peer in peers)],
        rows,
        "How many of its cuts go wrong, and how; a dash: all are right; empty: it has no words for it.",
    )


# How many cuts of a case were tried, how many went wrong, and in how many there was each fault.
_Counts = tuple[int, int, Counter[str]]


def _counted(peer: Peer, case: Case, *, every: bool) -> _Counts | None:
    translation = peer.translate("".join(case.deltas))
    if translation is None:
        return None
    given = case.deltas if translation.text == "".join(case.deltas) else None
    found = [
        faults(peer, case, translation, deltas) for deltas in cuts(translation.text, given, every=every and peer.fast)
    ]
    return len(found), sum(map(bool, found)), Counter(name for each in found for name in each)


def _summary(peers: Sequence[Peer], read: Mapping[str, Mapping[str, _Counts | None]]) -> Table:
    rows = []
    for peer in peers:
        counts = [each for each in read[peer.name].values() if each is not None]
        right = sum(not wrong for _, wrong, _ in counts)
        by_fault = [str(sum(name in found for _, _, found in counts) or "-") for name in FAULTS]
        tried, wrong = sum(each[0] for each in counts), sum(each[1] for each in counts)
        rows.append([peer.name, peer.kind, f"{right} of {len(counts)}", *by_fault, f"{wrong:,} of {tried:,}"])
    said = "; ".join(f"*{name}*: {what}" for name, what in FAULTS.items())
    return Table(
        "Correctness",
        ["", "", "cases right", *FAULTS, "cuts wrong"],
        rows,
        f"Of the cases that need no option, in how many each thing happens under at least one cut. {said}. {_FAIR}",
    )


def _told(counts: _Counts | None) -> str:
    if counts is None:
        return ""
    tried, wrong, found = counts
    return f"{wrong}/{tried} {', '.join(name for name in FAULTS if name in found)}" if wrong else "-"


def _citations(pieces: Iterable[Piece]) -> Citations:
    found: Citations = []
    position = 0
    for piece in pieces:
        if isinstance(piece, Cite):
            found.append((position if piece.position is None else piece.position, piece.references))
        else:
            position += len(piece)
    return found


def _known(references: Iterable[Reference], peer: Peer, translation: Translation) -> tuple[Reference, ...]:
    """Give references in the peer's words."""
    return tuple(
        Reference(translation.ids.get(source_id, source_id), locator if peer.locators else None)
        for source_id, locator in references
    )
