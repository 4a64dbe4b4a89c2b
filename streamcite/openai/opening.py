"""A request that is sent when a ``with`` block begins, and says so to whoever uses it in another way."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import TracebackType
from typing import Generic, NoReturn, TypeVar

_T = TypeVar("_T")


class _Opening:
    """Refuse what would iterate without a ``with`` block."""

    def __init__(self, usage: str) -> None:
        self._usage = usage

    def __iter__(self) -> NoReturn:
        self._refuse()

    def __aiter__(self) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise TypeError(f"nothing was asked for yet: use `{self._usage}`")


class Opening(_Opening, AbstractContextManager[_T], Generic[_T]):
    """Send a request in a ``with`` block, and nowhere else.

    Args:
        manager: what sends it.
        name: of the function that the user has called, for the message.
    """

    def __init__(self, manager: AbstractContextManager[_T], name: str) -> None:
        super().__init__(f"with {name}(...) as events")
        self._manager = manager

    def __enter__(self) -> _T:
        return self._manager.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return self._manager.__exit__(kind, error, traceback)

    def __aenter__(self) -> NoReturn:
        self._refuse()

    def __aexit__(self, *_: object) -> NoReturn:
        self._refuse()


class AsyncOpening(_Opening, AbstractAsyncContextManager[_T], Generic[_T]):
    """Send a request in an ``async with`` block, as `Opening` does in another."""

    def __init__(self, manager: AbstractAsyncContextManager[_T], name: str) -> None:
        super().__init__(f"async with {name}(...) as events")
        self._manager = manager

    async def __aenter__(self) -> _T:
        return await self._manager.__aenter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        return await self._manager.__aexit__(kind, error, traceback)

    def __enter__(self) -> NoReturn:
        self._refuse()

    def __exit__(self, *_: object) -> NoReturn:
        self._refuse()
