"""Server-sent events without I/O: events as bytes, and bytes cut anywhere as events.

The format is that of the HTML Living Standard, section 9.2, "Server-sent events".
"""

from .decode import DecoderClosed, LineTooLong, ServerSentEvent, SSEDecoder
from .encode import encode, encode_json

__all__ = ["DecoderClosed", "LineTooLong", "SSEDecoder", "ServerSentEvent", "encode", "encode_json"]
