"""The states of the parser and what leads from one to another, found by asking it: a diagram for the documentation."""

from collections.abc import Iterator

from streamcite import Citation, CitationParser, Event, Malformed, OtherMarker

START, DELIMITER, STOP = "\ue200", "\ue202", "\ue201"

LINE_END = "\\n"  # of a label, in the language of Graphviz

# Each state, with texts that lead to it.
STATES = {
    "TEXT": [""],
    "FAMILY": [START, f"{START}cite", f"{START}entity"],
    "BODY": [f"{START}cite{DELIMITER}", f"{START}cite{DELIMITER}turn0file1"],
    "PAYLOAD": [f"{START}entity{DELIMITER}x"],
}
INPUTS = {
    "start": START,
    "delimiter": DELIMITER,
    "stop": STOP,
    "a letter": "a",
    "punctuation": "!",
    "a space": " ",
    "a newline": "\n",
    "another script": "会",
}


def state(parser: CitationParser) -> str:
    """Name the state that a parser is in, of those in the semantics."""
    if parser._body is not None:
        return "PAYLOAD" if parser._body.is_payload else "BODY"
    return "FAMILY" if parser.held else "TEXT"


def said(event: Event) -> str:
    match event:
        case Malformed():
            return f"Malformed {event.reason}"
        case Citation(repaired=True):
            return "Citation, repaired"
        case Citation() | OtherMarker():
            return type(event).__name__
        case _:
            return "text"


def transitions() -> Iterator[tuple[str, str, str, str]]:
    """Give each state, what is read in it, the events of that, and the next state."""
    for before, leading in STATES.items():
        for text in leading:
            for name, character in INPUTS.items():
                parser = CitationParser()
                parser.feed(text)
                assert state(parser) == before
                events = ", ".join(dict.fromkeys(map(said, parser.feed(character))))
                yield before, name, events, state(parser)
            parser = CitationParser()
            parser.feed(text)
            if events := ", ".join(dict.fromkeys(map(said, parser.close()))):
                yield before, "the end", events, "END"


def diagram() -> str:
    """Draw the transitions in the language of Graphviz: for each pair of states what leads from one to the other."""
    arrows: dict[tuple[str, str], dict[str, None]] = {}
    for before, name, _, after in transitions():
        arrows.setdefault((before, after), {})[name] = None
    lines = [
        "digraph {",
        "  rankdir=LR ranksep=1.2",
        '  node [shape=box style="rounded,filled" fillcolor="#eaf1fa" color="#0b57a4" fontname="sans-serif"]',
        '  edge [color="#5c6b7a" fontname="sans-serif" fontsize=11]',
        "  END [shape=doublecircle label=end]",
    ]
    for (before, after), names in arrows.items():
        several = "anything else" if before == after == "TEXT" or (before, after) == ("FAMILY", "TEXT") else ""
        shown = [name for name in names if not several or name in ("delimiter", "stop")]
        label = LINE_END.join([*shown, *filter(None, [several])])
        lines.append(f'  {before} -> {after} [label=" {label} "]')
    return "\n".join([*lines, "}"]) + "\n"


def table() -> str:
    """Say what comes out of each transition, as a table in Markdown."""
    cells: dict[str, dict[str, dict[str, None]]] = {name: {} for name in [*INPUTS, "the end"]}
    for before, name, events, after in transitions():
        result = " → ".join(filter(None, [events, after if after not in (before, "END") else ""]))
        cells[name].setdefault(before, {})[result or "held"] = None
    rows = [
        f"| {name} | {' | '.join(' or '.join(by_state.get(before, {'nothing': None})) for before in STATES)} |"
        for name, by_state in cells.items()
    ]
    return "\n".join([f"| read | {' | '.join(STATES)} |", f"|---|{'---|' * len(STATES)}", *rows]) + "\n"
