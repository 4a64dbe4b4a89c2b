"""Server-sent events without I/O: one frame as bytes.

The format is that of the HTML Living Standard, section 9.2, "Server-sent events".
"""

from .encode import encode

__all__ = ["encode"]
