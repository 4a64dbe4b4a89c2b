"""What comes out of a resolver: a citation with what it points to, as immutable values, and their JSON form.

As with the parser's events, ``str(event)`` is what the reader sees.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from . import events, json_values
from .events import Citation, Malformed, OtherMarker, Reference, check_event
from .source import Source
from .units import DEFAULT_SIZE, Passage, line_range

Problem: TypeAlias = Literal["unknown-source", "ambiguous-source", "stale-source", "unknown-lines"]

# The longest text of a passage that the JSON form of a link holds, in code points: some blocks of the usual size, as
# much as a reader looks at beside an answer. A marker names a whole book in twenty characters, and a model may write
# hundreds of them.
MAX_PASSAGE = 4 * DEFAULT_SIZE

_set = object.__setattr__
# What the JSON form of a link says of its source. The text may be a book, and the metadata no JSON.
_SOURCE = ("id", "title", "url", "unit")


class _Quoting:
    """Copy a passage out of its source whenever it is asked for, so that no citation costs more than its marker.

    It is not kept: a model may cite a whole book hundreds of times.
    """

    __slots__ = ()

    if not TYPE_CHECKING:  # pragma: no branch  # a checker would take any name for one that a link has

        def __getattr__(self, name: str) -> Passage | None:
            # Python asks here for what is not set. Of a link that is nothing but the passage.
            if name != "passage":
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)
            return self.source and self.source.passage(self.reference.locator)


@dataclass(frozen=True, slots=True)
class Link(_Quoting):
    """Say what one reference of a citation points to.

    Attributes:
        reference: the id and the locator as the model wrote them.
        source: the source; None if no citable source has the id.
        passage: the part of it that the locator names, exactly, or all of it without a locator; None without a source,
            or where not all of the lines are there. A resolver's link copies it out of the source whenever it is asked
            for, and keeps none. It takes no part in ``==``, ``hash`` and ``repr``, as the others say which it is.
        number: the number of what the source is to a reader (`Source.identity`), from 1; None without a source.
        problem: why a reader should not rely on it, or None. ``unknown-source``: no citable source has the id.
            ``ambiguous-source``: the model was shown other content under this id too. ``stale-source``: it was shown
            the source before the last message of the user only (scope ``answer``). ``unknown-lines``: not all of the
            lines are there. Of several, the first in this order.

    Source: the guide, element 5 (resolve ids to sources, validate before anything is shown).
    """

    reference: Reference
    source: Source | None = None
    passage: Passage | None = field(default=None, compare=False, repr=False)
    number: int | None = None
    problem: Problem | None = None

    def __reduce__(self) -> tuple[Callable[..., Link], tuple[Any, ...]]:
        # Copies and pickles hold a passage only if it was given: else it is in the source.
        try:
            passage = object.__getattribute__(self, "passage")
        except AttributeError:
            return new_link, (self.reference, self.source, self.number, self.problem)
        return Link, (self.reference, self.source, passage, self.number, self.problem)


def new_link(reference: Reference, source: Source, number: int, problem: Problem | None) -> Link:
    """Build the link to a known source, whose passage is copied when it is asked for."""
    link = object.__new__(Link)
    _set(link, "reference", reference)
    _set(link, "source", source)
    _set(link, "number", number)
    _set(link, "problem", problem)
    return link


@dataclass(frozen=True, slots=True)
class Cited:
    """Report a citation with what it points to, in the place of the `Citation`.

    Attributes:
        citation: what the parser read.
        index: which citation of the stream it is, counted from 0.
        position: offset in the text that the reader sees, in code points. It is not the citation's own after a
            citation that turned out to be prose.
        links: what each of its references points to, in order.
        pending: whether a `Resolved` of this index follows: an id is unknown, but its source may still come.
        text: what the reader sees: nothing, except for a citation that turned out to be prose, whose words these are.
    """

    citation: Citation
    index: int
    position: int
    links: tuple[Link, ...]
    pending: bool = False
    text: str = ""

    __match_args__ = ("citation", "links")

    @property
    def raw(self) -> str:
        """Give the marker as the model wrote it."""
        return self.citation.raw

    @property
    def start(self) -> int:
        """Give the offset of ``raw`` in the input, in code points."""
        return self.citation.start

    @property
    def end(self) -> int:
        """Give the offset in the input, in code points, just after ``raw``."""
        return self.citation.end

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Resolved:
    """Report what is known by now of a citation that was pending. Stands for nothing in the text.

    Attributes:
        index: the `Cited`'s.
        links: what each of its references points to, in order, in the place of the links before; those that had a
            source are the same.
        pending: whether another one follows, as an id is still unknown; never at the end of the stream.
    """

    index: int
    links: tuple[Link, ...]
    pending: bool = False

    @property
    def raw(self) -> str:
        """Give what the model wrote for it: nothing."""
        return ""

    @property
    def text(self) -> str:
        """Give what the reader sees: nothing."""
        return ""

    def __str__(self) -> str:
        return ""


ResolvedEvent: TypeAlias = str | Cited | Resolved | OtherMarker | Malformed
AnyEvent: TypeAlias = ResolvedEvent | Citation
"""What a stage takes that may stand after a parser or a resolver."""


def check_any_event(value: object) -> None:
    """Make sure that a value is an event of an answer: TypeError if it is not."""
    check_event(value, AnyEvent, "an answer")


def to_dict(event: AnyEvent) -> dict[str, Any]:
    """Give the JSON form of an event of a resolver, or of a parser.

    Of a link's source it holds ``id``, ``title``, ``url`` and ``unit``. It holds no passage where that is the whole of
    a source that is not a block, as it may be a book. Of a passage of more than `MAX_PASSAGE` code points (8000) it
    says only where it is: ``text`` is None beside ``start``, ``first_line`` and ``last_line``.

    Args:
        event: what a resolver or a parser handed out.

    Returns:
        A new dict of JSON values whose ``type`` is ``cited``, ``resolved``, or one of `streamcite.to_dict`.

    Raises:
        TypeError: the value is not an event.
    """
    if isinstance(event, Cited):
        return {
            "type": "cited",
            "citation": events.to_dict(event.citation),
            "index": event.index,
            "position": event.position,
            "links": list(map(_link_form, event.links)),
            "pending": event.pending,
            "text": event.text,
        }
    if isinstance(event, Resolved):
        links = list(map(_link_form, event.links))
        return {"type": "resolved", "index": event.index, "links": links, "pending": event.pending}
    return events.to_dict(event)


def from_dict(obj: Mapping[str, Any]) -> AnyEvent:
    """Build the event of which ``obj`` is the JSON form, as far as that holds it.

    Args:
        obj: a mapping as `to_dict` gives it. Keys that are not of the form are ignored.

    Returns:
        An event with the same JSON form, except for passages without text, which are None. The sources of its links are
        without text; the passages have theirs.

    Raises:
        ValueError: a key is missing or holds what it cannot hold.
    """
    try:
        return _from_dict(obj)
    except (KeyError, TypeError) as error:
        raise ValueError(f"not the JSON form of an event: {error!r}") from error


def _from_dict(obj: Mapping[str, Any]) -> AnyEvent:
    kind = obj["type"]
    if kind not in ("cited", "resolved"):
        return events.from_dict(obj)
    index, links = json_values.offset(obj["index"]), tuple(map(_link, json_values.items(obj["links"])))
    pending = json_values.flag(obj["pending"])
    if kind == "resolved":
        return Resolved(index, links, pending)
    citation = events.from_dict(obj["citation"])
    if not isinstance(citation, Citation):
        raise TypeError(f"expected a citation, not {obj['citation']!r}")
    return Cited(citation, index, json_values.offset(obj["position"]), links, pending, json_values.string(obj["text"]))


def _link_form(link: Link) -> dict[str, Any]:
    source = link.source
    return {
        "reference": link.reference._asdict(),
        "source": source and {name: getattr(source, name) for name in _SOURCE},
        "passage": source and _passage_form(link, source),
        "number": link.number,
        "problem": link.problem,
    }


def _passage_form(link: Link, source: Source) -> dict[str, Any] | None:
    locator = link.reference.locator
    if locator is None and source.unit != "block":
        return None
    span = source.span(locator)
    if span and span[1] - span[0] > MAX_PASSAGE:
        first, last = (locator and line_range(locator)) or (None, None)
        return {"text": None, "start": span[0], "first_line": first, "last_line": last}
    passage = link.passage
    return None if passage is None else asdict(passage)


def _link(form: Mapping[str, Any]) -> Link:
    source, passage, number, problem = (form[name] for name in ("source", "passage", "number", "problem"))
    if problem is not None and problem not in get_args(Problem):
        raise TypeError(f"expected a problem, not {problem!r}")
    return Link(
        reference=events.reference(form["reference"]),
        source=None if source is None else _source(source),
        passage=None if passage is None else _passage(passage),
        number=None if number is None else json_values.offset(number),
        problem=problem,
    )


def _source(form: Mapping[str, Any]) -> Source:
    try:
        return Source(**{name: form[name] for name in _SOURCE})
    except ValueError as error:
        raise TypeError(str(error)) from None


def _passage(form: Mapping[str, Any]) -> Passage | None:
    first, last = (
        None if (line := form[name]) is None else json_values.offset(line) for name in ("first_line", "last_line")
    )
    text, start = form["text"], json_values.offset(form["start"])
    return None if text is None else Passage(json_values.string(text), start, first, last)
