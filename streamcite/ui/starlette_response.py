"""The response as one of Starlette's, which FastAPI asks for: with headers to change, cookies and background tasks."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from starlette.background import BackgroundTask
from starlette.responses import Response

from .response import SSEResponse


class StarletteSSEResponse(SSEResponse, Response):
    """An `SSEResponse` that is a response of Starlette's.

    Attributes:
        background: what is run behind the end of the body; not if an error has ended the answer.
    """

    background: BackgroundTask | None = None

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        """Answer the request, and run what is to be run behind that."""
        await super().__call__(scope, receive, send)
        if self.background is not None:
            await self.background()
