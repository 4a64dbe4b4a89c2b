"""Answers as the model wrote them, found again by what the client saw of them.

Clients send back what they were given: answers without markers. A model that sees only such answers of its own stops
citing. So a relay may keep what it has cleaned, and put it back on the way to the model.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b

# One text that is longer, in code points, is not kept: an answer is not.
MAX_TEXT = 2**20


class Memory:
    """Keep that many texts with their markers, those that were used last.

    Args:
        size: how many.

    What one owner has seen finds nothing for another.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._texts: OrderedDict[bytes, str] = OrderedDict()

    def __len__(self) -> int:
        return len(self._texts)

    def keep(self, owner: bytes, shown: str, raw: str) -> None:
        """Keep a text as the model wrote it.

        Args:
            owner: what only whose answer it is knows.
            shown: what the client saw of it.
            raw: the text with its markers.
        """
        if self._size and shown.strip() and shown != raw and len(raw) <= MAX_TEXT:
            key = _key(owner, shown)
            self._texts[key] = raw
            self._texts.move_to_end(key)
            if len(self._texts) > self._size:
                self._texts.popitem(last=False)

    def restore(self, owner: bytes, shown: str) -> str:
        """Give a text as the model wrote it; as it is, if it is not known."""
        if not self._texts:
            return shown
        key = _key(owner, shown)
        raw = self._texts.get(key)
        if raw is None:
            return shown
        self._texts.move_to_end(key)
        return raw


def _key(owner: bytes, shown: str) -> bytes:
    # Clients trim what they keep. Of the owner's key nothing else is stored.
    text = shown.strip().encode("utf-8", "replace")
    return blake2b(text, key=blake2b(owner).digest(), digest_size=24).digest()
