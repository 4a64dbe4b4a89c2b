"""The model responses that a client can retrieve after it has created them."""

from __future__ import annotations

from .refusal import Refusal
from .response import ModelResponse


class ResponseStore:
    """The newest responses, by id.

    Args:
        limit: how many; the oldest one goes when there would be more.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._responses: dict[str, ModelResponse] = {}  # the oldest first

    def add(self, response: ModelResponse) -> None:
        """Keep a response."""
        self._responses[response.id] = response
        if len(self._responses) > self._limit:
            del self._responses[next(iter(self._responses))]

    def get(self, id: str) -> ModelResponse:
        """Give the response of that id.

        Raises:
            Refusal: status 404; there was none, or it is no longer kept.
        """
        try:
            return self._responses[id]
        except KeyError:
            raise Refusal(404, f"Response with id '{id}' not found.") from None
