"""Adapters for the streams of the ``openai`` client: as events, or as the client's own objects, cleaned.

They import the client only where they make a new object of it.
"""

from .chat import chat_events, clean_chat, clean_completion
from .parts import Channel, Part, PartResult, StreamResult
from .raw import stream_chat, stream_responses
from .raw_views import AsyncRawView, RawView
from .responses import clean_response, clean_responses, responses_events
from .views import AsyncEventView, AsyncObjectView, EventView, ObjectView

__all__ = [
    "AsyncEventView",
    "AsyncObjectView",
    "AsyncRawView",
    "Channel",
    "EventView",
    "ObjectView",
    "Part",
    "PartResult",
    "RawView",
    "StreamResult",
    "chat_events",
    "clean_chat",
    "clean_completion",
    "clean_response",
    "clean_responses",
    "responses_events",
    "stream_chat",
    "stream_responses",
]
