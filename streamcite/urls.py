"""Which URLs of sources may become links: a source may come from anywhere, and a link is one click from a script."""

from __future__ import annotations

import re

# Only what opens a page or a letter. A control in it, which a browser would leave out, could hide another scheme.
_SAFE = re.compile(
    r"(?:https?://[^/\\?#\x00-\x20\x7f-\x9f]|mailto:[^\x00-\x20\x7f-\x9f])[^\x00-\x1f\x7f-\x9f]*", re.IGNORECASE
)


def is_safe_url(url: str) -> bool:
    """Say whether a URL may be a link: one of the schemes http, https and mailto, without controls."""
    return bool(_SAFE.fullmatch(url))
