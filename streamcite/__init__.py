"""Clean text and citations from the streams of language models."""

from .events import Citation, Event, Malformed, OtherMarker, Reference, from_dict, to_dict
from .format import CHATGPT, OPENAI, CitationFormat
from .guide import CitationDict, extract_citations, strip_citations
from .options import ParserOptions
from .parser import CitationParser, ParserClosed, clean, parse
from .prompt import instructions
from .sources import Source
from .stream import AsyncEventStream, EventStream, aiter_events, iter_events

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
    "Reference",
    "Source",
    "aiter_events",
    "clean",
    "extract_citations",
    "from_dict",
    "instructions",
    "iter_events",
    "parse",
    "strip_citations",
    "to_dict",
]
