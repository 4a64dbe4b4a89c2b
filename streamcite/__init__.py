"""Clean text and citations from the streams of language models."""

from .events import Citation, Event, Malformed, OtherMarker, Reference, from_dict, to_dict
from .format import CHATGPT, OPENAI, CitationFormat
from .guide import CitationDict, extract_citations, strip_citations
from .parser import CitationParser, ParserClosed, ParserOptions, clean, parse
from .sources import Source

__all__ = [
    "CHATGPT",
    "OPENAI",
    "Citation",
    "CitationDict",
    "CitationFormat",
    "CitationParser",
    "Event",
    "Malformed",
    "OtherMarker",
    "ParserClosed",
    "ParserOptions",
    "Reference",
    "Source",
    "clean",
    "extract_citations",
    "from_dict",
    "parse",
    "strip_citations",
    "to_dict",
]
