"""The stage that lints an answer: events in, findings out, each as soon as it is certain. Sans-I/O."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Literal, TypeAlias, Unpack

from streamcite.checks import check_choice, missing
from streamcite.events import Citation, Malformed, check_iterable
from streamcite.format import OPENAI, CitationFormat
from streamcite.links import AnyEvent, Cited, Link, Resolved, check_any_event
from streamcite.options import ParserOptions
from streamcite.parser import parse
from streamcite.resolve import Resolver, Scope
from streamcite.source import Source
from streamcite.sources import Sources

from . import sentences
from .bare import BareIds
from .findings import SEVERITY, Finding, Spot
from .punctuation import Punctuation

if TYPE_CHECKING:
    from .markdown import Structure

LocatorRule: TypeAlias = Literal["optional", "required"]

MAX_ANSWER = 16 * 2**20
"""How much of an answer a `Linter` reads, in code points: far more than a model writes, so that a stream without an end
meets a finding, and not the machine's memory."""

# How many citations at the end of an answer are gathered there, rather than those of its last paragraph.
_GATHERED = 3

_ORDER = {rule: number for number, rule in enumerate(SEVERITY)}


class LinterClosed(RuntimeError):
    """Raised by `Linter.feed` after `Linter.close`: a mistake in the program, never of the input."""


class Linter:
    """Find where one answer breaks the rules of citing: events in, findings out.

    What a marker itself says, what stands right after it, and ids of the form ``turn0file1`` in the text are reported
    while the answer streams. What takes the Markdown of the answer, or sources that may still come, is reported at the
    end, until which the text is kept. Linear in the answer; nothing in it ever raises.

    Of an answer longer than `MAX_ANSWER` code points the rest is not read: a finding ``too-long`` says where, and what
    is reported at the end is only what the sources tell of citations before that.

    Args:
        sources: what citations point to, by source id; it may grow, as for `Resolver`. None: no id is looked up, unless
            the events come from a resolver.
        scope: what may be cited, as for `Resolver`: with ``answer`` only what was shown since the user's last message.
        lines: ``required`` if each reference must name lines, where its source is cited by lines.
        format: what a marker looks like.

    Raises:
        TypeError: ``sources`` is not a mapping, ``format`` is not a `CitationFormat`; while reading, what is fed is not
            an event.
        ValueError: ``scope`` or ``lines`` is not one of those named.
        ModuleNotFoundError: markdown-it-py is missing; it comes with the extra ``markdown``.

    Source: the guide, elements 4 and 5 (placement, what is forbidden; validate the result before it is shown).
    """

    def __init__(
        self,
        sources: Mapping[str, Source] | None = None,
        *,
        scope: Scope = "conversation",
        lines: LocatorRule = "optional",
        format: CitationFormat = OPENAI,
    ) -> None:
        check_choice("lines", lines, LocatorRule)
        resolver = Resolver({} if sources is None else sources, scope=scope, format=format)
        self._structure = _structure_class()
        self._sources = sources
        self._scope = scope
        self._format = format
        self._resolver = None if sources is None else resolver
        self._lines_required = lines == "required"
        self._closed = False
        self._too_long = False
        self._read = 0  # how much of the input was read
        self._shown = 0  # how much of it the reader sees
        self._text: list[str] = []
        self._markers: list[Spot] = []
        # The citations of whose ids one is unknown, by index, and what was known of them.
        self._pending: dict[int, tuple[Spot, tuple[Link, ...]]] = {}
        self._cites = False  # whether it cites, or tried to
        self._bare_ids = BareIds()
        self._punctuation = Punctuation()

    def feed(self, events: Iterable[AnyEvent]) -> list[Finding]:
        """Read the next events.

        Args:
            events: what a parser handed out, or what a `Resolver` did, but not both in one answer; may be empty.

        Returns:
            The findings that are certain now.

        Raises:
            LinterClosed: `close` was called before.
            TypeError: they are not an iterable of events, or one text.
        """
        check_iterable(events)
        if self._closed:
            raise LinterClosed("feed() after close(): make a new linter for a new answer")
        return [finding for event in events for finding in self._read_event(event)]

    def close(self) -> list[Finding]:
        """Say that the answer has ended.

        Returns:
            The other findings, in the order of the input; from a second call on an empty list.
        """
        if self._closed:
            return []
        self._closed = True
        findings = [] if self._too_long else self._look_at_whole()
        if self._resolver is not None:
            findings += [finding for event in self._resolver.close() for finding in self._look_at(event)]
        for spot, links in self._pending.values():  # of a resolver that was not closed
            findings += self._look_at_links(spot, links, links, pending=False)
        return _sorted(findings)

    def _read_event(self, event: AnyEvent) -> list[Finding]:
        """Read an event, as far as it stands before the limit."""
        room = max(MAX_ANSWER - self._read, 0)
        if isinstance(event, str):
            fits, event = len(event) <= room, event[:room]
        else:
            check_any_event(event)
            fits = room > 0 or isinstance(event, Resolved)
            event = event if fits else ""
        findings = self._resolve(event)
        if not (fits or self._too_long):
            self._too_long = True
            spot = Spot(self._read, self._read, self._shown)
            findings.append(spot.report("too-long", sentences.too_long(MAX_ANSWER)))
        return findings

    def _look_at_whole(self) -> list[Finding]:
        findings = self._bare_ids.end() + self._punctuation.close()
        text = "".join(self._text)
        if self._sources is not None:
            findings += self._bare_ids.close(text, self._sources)
        if self._markers:
            findings += self._misplaced(self._structure(text, [marker.position for marker in self._markers]))
        elif not self._cites and self._may_be_cited():
            findings.append(Spot(0, self._read, 0).report("uncited", sentences.UNCITED))
        return findings

    def _may_be_cited(self) -> bool:
        """Say whether any source was given that an answer may cite."""
        sources = self._sources or {}
        is_stale = sources.is_stale if self._scope == "answer" and isinstance(sources, Sources) else None
        return any(source.citable and not (is_stale and is_stale(id)) for id, source in sources.items())

    def _resolve(self, event: AnyEvent) -> list[Finding]:
        if self._resolver is None or isinstance(event, Cited | Resolved):
            return self._look_at(event)
        return [finding for resolved in self._resolver.feed((event,)) for finding in self._look_at(resolved)]

    def _look_at(self, event: AnyEvent) -> list[Finding]:
        if isinstance(event, str):
            return self._look_at_text(event) if event else []
        if isinstance(event, Resolved):
            return self._update(event)
        findings = self._bare_ids.end()
        spot = Spot(self._read, self._read + len(event.raw), self._shown)
        if isinstance(event, Malformed):
            findings.append(spot.report("malformed-marker", sentences.malformed(event.reason)))
            self._cites = self._cites or self._begins_citation(event.raw)
        elif isinstance(event, Citation):
            findings += self._look_at_citation(event, spot)
        elif isinstance(event, Cited):
            findings += self._look_at_citation(event.citation, spot, event)
        if event.text:
            findings += self._punctuation.read(event.text)
            self._text.append(event.text)
        elif isinstance(event, Citation | Cited):
            findings += self._punctuation.mark(spot)
            self._markers.append(spot)
        self._read += len(event.raw)
        self._shown += len(event.text)
        return findings

    def _look_at_text(self, text: str) -> list[Finding]:
        findings = self._bare_ids.read(text, self._read, self._shown) + self._punctuation.read(text)
        self._text.append(text)
        self._read += len(text)
        self._shown += len(text)
        return findings

    def _look_at_citation(self, citation: Citation, spot: Spot, cited: Cited | None = None) -> list[Finding]:
        findings = []
        self._cites = True
        if citation.repaired:
            findings.append(spot.report("repaired-marker", sentences.repaired(citation)))
        if cited is None:
            return findings + self._look_at_links(spot, (), map(Link, citation.references), pending=False)
        if cited.pending:
            self._pending[cited.index] = spot, cited.links
        return findings + self._look_at_links(spot, (), cited.links, pending=cited.pending)

    def _begins_citation(self, raw: str) -> bool:
        """Say whether what could not be read may be what is left of a citation, not of another marker."""
        if not raw.startswith(self._format.start):
            return False
        rest = raw.removeprefix(self._format.start).removesuffix(self._format.stop)
        family, delimiter, _ = rest.partition(self._format.delimiter)
        families = self._format.families
        return family in families if delimiter else any(each.startswith(family) for each in families)

    def _update(self, resolved: Resolved) -> list[Finding]:
        if resolved.index not in self._pending:
            return []
        spot, told = self._pending.pop(resolved.index)
        if resolved.pending:
            self._pending[resolved.index] = spot, resolved.links
        return self._look_at_links(spot, told, resolved.links, pending=resolved.pending)

    def _look_at_links(
        self, spot: Spot, told: Iterable[Link], links: Iterable[Link], *, pending: bool
    ) -> list[Finding]:
        """Report what is wrong with the links that are new, once for each id and locator."""
        known = {link.reference for link in told if link.source is not None}
        new = {link.reference: link for link in links if link.reference not in known}
        findings = []
        for reference, link in new.items():
            if pending and link.source is None:
                continue
            if link.problem is not None:
                findings.append(spot.report(link.problem, sentences.problem(link, link.problem)))
            if self._lines_required and reference.locator is None and self._has_lines(link.source):
                findings.append(spot.report("missing-lines", sentences.missing_lines(reference)))
        return findings

    def _has_lines(self, source: Source | None) -> bool:
        """Say whether lines of a source can be named, as far as is known."""
        if source is None or source.unit != "lines":
            return source is None
        return self._resolver is None or len(source.lines) > 0  # what another one has resolved may come without text

    def _misplaced(self, structure: Structure) -> list[Finding]:
        findings = []
        for marker in self._markers:
            place = structure.places[marker.position]
            if place.in_code:
                findings.append(marker.report("in-code", sentences.IN_CODE))
            if place.in_emphasis:
                findings.append(marker.report("in-emphasis", sentences.IN_EMPHASIS))
            if place.on_fence_line:
                findings.append(marker.report("on-fence-line", sentences.ON_FENCE_LINE))
        for line, group in groupby(self._markers, key=lambda marker: structure.line(marker.position)):
            markers = list(group)
            if structure.is_alone(line) and not structure.places[markers[0].position].in_code:
                findings.append(_all_of(markers).report("alone", sentences.ALONE))
        gathered = len(self._markers) >= _GATHERED and self._markers[0].position > structure.last_word
        if gathered and structure.several:
            findings.append(_all_of(self._markers).report("all-at-end", sentences.all_at_end(len(self._markers))))
        return findings


def lint(
    answer: str,
    sources: Mapping[str, Source] | None = None,
    *,
    scope: Scope = "conversation",
    lines: LocatorRule = "optional",
    complete: bool = False,
    **options: Unpack[ParserOptions],
) -> list[Finding]:
    """Find where a whole answer breaks the rules of citing: a `Linter` fed once and closed.

    Args:
        answer: what the model wrote.
        sources: as for `Linter`.
        scope: as for `Linter`.
        lines: as for `Linter`.
        complete: as for `CitationParser.close`.
        options: as for `CitationParser`.

    Returns:
        The findings in the order of the input; those of one place in the order of the guide's table.

    Raises:
        TypeError, ValueError, ModuleNotFoundError: as `Linter` and `parse` do.
    """
    linter = Linter(sources, scope=scope, lines=lines, format=options.get("format", OPENAI))
    return _sorted([*linter.feed(parse(answer, complete=complete, **options)), *linter.close()])


def _structure_class() -> type[Structure]:
    try:
        from .markdown import Structure
    except ModuleNotFoundError as error:
        raise missing(error, "lint", "markdown") from None
    return Structure


def _all_of(markers: list[Spot]) -> Spot:
    return Spot(markers[0].start, markers[-1].end, markers[0].position)


def _sorted(findings: list[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: (finding.start, finding.end, _ORDER[finding.rule], finding.message))
