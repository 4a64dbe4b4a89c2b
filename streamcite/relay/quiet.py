"""What a server need not log: the trace of a connection that was cut on purpose, which the relay logs in a line."""

from __future__ import annotations

import logging
from asyncio import CancelledError

from .outgoing import RelayCut


class NoCuts(logging.Filter):
    """Leave out the trace of an answer that was cut, as the upstream had cut its own."""

    kinds: tuple[type[BaseException], ...] = (RelayCut,)

    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether a record is of something else."""
        return not (record.exc_info and isinstance(record.exc_info[1], self.kinds))


class NoNoise(NoCuts):
    """Leave out also that of a stream which did not end in the time that it had, and advice on WebSockets."""

    kinds: tuple[type[BaseException], ...] = (RelayCut, CancelledError)

    def filter(self, record: logging.LogRecord) -> bool:
        """Say whether a record is of something else."""
        return super().filter(record) and not record.getMessage().startswith(
            ("Unsupported upgrade", "No supported WebSocket")
        )


def leave_out(kind: type[NoCuts]) -> None:
    """Let uvicorn log no such record, however it sets up its logging."""
    logger = logging.getLogger("uvicorn.error")
    if not any(type(each) is kind for each in logger.filters):
        logger.addFilter(kind())
