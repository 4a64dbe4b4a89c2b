"""Clean text and citations from the streams of language models."""

from .event_streams import AsyncEventStream, AsyncResolvedStream, EventStream, ResolvedStream
from .events import Citation, Event, Malformed, OtherMarker, Reference, from_dict, to_dict
from .format import CHATGPT, OPENAI, CitationFormat
from .guide import CitationDict, extract_citations, strip_citations
from .links import Cited, Link, Resolved, ResolvedEvent
from .material import Material, read_material, render_blocks, render_messages, render_tool_result
from .options import ParserOptions
from .parser import CitationParser, ParserClosed, clean, parse
from .prompt import instructions
from .resolve import Resolver
from .sources import Source, Sources
from .stream import aiter_events, iter_events
from .units import Passage, split_blocks

__all__ = [
    "CHATGPT",
    "OPENAI",
    "AsyncEventStream",
    "AsyncResolvedStream",
    "Citation",
    "CitationDict",
    "CitationFormat",
    "CitationParser",
    "Cited",
    "Event",
    "EventStream",
    "Link",
    "Malformed",
    "Material",
    "OtherMarker",
    "ParserClosed",
    "ParserOptions",
    "Passage",
    "Reference",
    "Resolved",
    "ResolvedEvent",
    "ResolvedStream",
    "Resolver",
    "Source",
    "Sources",
    "aiter_events",
    "clean",
    "extract_citations",
    "from_dict",
    "instructions",
    "iter_events",
    "parse",
    "read_material",
    "render_blocks",
    "render_messages",
    "render_tool_result",
    "split_blocks",
    "strip_citations",
    "to_dict",
]
