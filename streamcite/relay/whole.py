"""An answer that is not a stream, cleaned by the rules of a splice. Pure."""

from __future__ import annotations

import json
from functools import partial

from streamcite.annotations import AnnotationOptions
from streamcite.format import OPENAI
from streamcite.openai.chat_core import ChatCore
from streamcite.openai.chat_objects import ChatCleaner
from streamcite.openai.parts import StreamResult
from streamcite.openai.responses_core import ResponsesCore
from streamcite.openai.responses_objects import ResponsesCleaner
from streamcite.spacing import Spacing, tidier

from .apis import Api
from .found import Found, find
from .written import Render, Written


def clean_body(
    api: Api, body: bytes, wanted: AnnotationOptions, render: Render | None = None, spacing: Spacing = "exact"
) -> tuple[bytes, Found, StreamResult | None]:
    """Clean a chat completion or a response.

    Args:
        api: of which it is.
        body: it, as JSON; anything else passes as it is.
        wanted: which annotations there are.
        render: how citations are written into the text, as of `Splice`.
        spacing: see there.

    Returns:
        The body, the same bytes where nothing changes; what was found; and what came, if it is an answer.
    """
    try:
        text = body.decode("utf-8", "replace")
        value, given = json.loads(text), json.loads(text)
    except (ValueError, RecursionError):
        return body, Found(), None
    if not isinstance(value, dict) or not isinstance(value.get("choices" if api == "chat" else "output"), list):
        return body, Found(), None
    new_tidy = tidier(spacing)
    core = ChatCore({}, whole=True, new_tidy=new_tidy) if api == "chat" else ResponsesCore({}, new_tidy=new_tidy)
    sources = wanted.sources
    if render is not None and sources is not None:
        written = partial(Written, render, sources, OPENAI, spacing)
        core.new_stage = lambda _: written()
        wanted = AnnotationOptions(unit=wanted.unit)
    if isinstance(core, ChatCore):
        ChatCleaner(core, wanted).read(value)
    else:
        ResponsesCleaner(core, wanted).read_whole(value)
    found = find(core.events, sources)
    if value != given:
        body = json.dumps(value, ensure_ascii="\\u" in text, separators=(",", ":")).encode("utf-8", "replace")
    return body, found, core.result
