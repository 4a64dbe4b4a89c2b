"""Adapters for the streams of the ``openai`` client: they hand in its deltas and never import it."""

from .chat import chat_events

__all__ = ["chat_events"]
