"""Bytes in, bytes out: what a proxy, or a handler of one's own, puts between a model's server and its readers."""

from .clean_sse import CleanSSE
from .found import Found
from .splice import Splice, SpliceClosed, StreamTooLong

__all__ = ["CleanSSE", "Found", "Splice", "SpliceClosed", "StreamTooLong"]
