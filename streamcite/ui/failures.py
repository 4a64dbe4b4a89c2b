"""What has ended the reading of an answer: an error of where it comes from, or a cancellation of its reader."""

from __future__ import annotations

import asyncio
import math

from anyio import current_effective_deadline, get_cancelled_exc_class

__all__ = ["failure_of"]


def failure_of(error: BaseException) -> Exception:
    """Give the error that has ended the reading of an answer.

    A source that waits for a task which somebody has cancelled raises what stands for a cancellation, though nobody has
    cancelled who reads it. That is an error like others: its readers wait, and are to be told of it.

    Raises:
        BaseException: what was caught is not the answer's, but a cancellation of its reader, or an interrupt.
    """
    if isinstance(error, Exception):
        return error
    if not isinstance(error, get_cancelled_exc_class()) or _is_cancelled():
        raise error
    failure = RuntimeError("what the answer comes from was cancelled, but nobody has cancelled who reads it")
    failure.__cause__ = error
    return failure


def _is_cancelled() -> bool:
    """Say whether somebody has cancelled this task: a scope around it, or on asyncio the task itself."""
    if current_effective_deadline() == -math.inf:
        return True
    task = asyncio.current_task() if issubclass(get_cancelled_exc_class(), asyncio.CancelledError) else None
    return task is not None and task.cancelling() > 0
