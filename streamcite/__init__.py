"""Clean text and citations from the streams of language models."""

from .events import Citation, Event, Malformed, OtherMarker, Reference, from_dict, to_dict
from .format import CHATGPT, OPENAI, CitationFormat
from .guide import CitationDict, extract_citations, strip_citations
from .options import ParserOptions
from .parser import CitationParser, ParserClosed, clean, parse
from .prompt import instructions
from .sources import Source, Sources
from .stream import AsyncEventStream, EventStream, aiter_events, iter_events
from .units import Passage, split_blocks

__all__ = [
    "CHATGPT",
    "OPENAI",
    "AsyncEventStream",
    "Citation",
    "CitationDict",
    "CitationFormat",
    "CitationParser",
    "Event",
    "EventStream",
    "Malformed",
    "OtherMarker",
    "ParserClosed",
    "ParserOptions",
    "Passage",
    "Reference",
    "Source",
    "Sources",
    "aiter_events",
    "clean",
    "extract_citations",
    "from_dict",
    "instructions",
    "iter_events",
    "parse",
    "split_blocks",
    "strip_citations",
    "to_dict",
]
