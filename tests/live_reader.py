"""A reader of HTML that streams."""

from collections.abc import Iterable, Sequence

from streamcite import ResolvedEvent, Resolver, parse
from streamcite.render.live import BlockPatch, LiveHtml
from tests.rendering import SOURCES


class Reader:
    """What a reader sees: the blocks, patched."""

    def __init__(self) -> None:
        self.live = LiveHtml()
        self.blocks: dict[int, str] = {}
        self.received = 0

    def feed(self, events: Iterable[ResolvedEvent]) -> str:
        return self._apply(self.live.feed(events))

    def close(self) -> str:
        return self._apply(self.live.close())

    def _apply(self, patches: Sequence[BlockPatch]) -> str:
        assert len({patch.block for patch in patches}) == len(patches)
        for patch in patches:
            assert patch.block <= len(self.blocks)
            had = self.blocks.get(patch.block, "")
            self.blocks[patch.block] = html = patch.apply(had)
            # Nothing is sent that stands there already, except for the few characters that are not looked at.
            at = len(html) - len(patch.html)
            assert html[at : at + 33] != had[at : at + 33]
            self.received += len(patch.html)
        return "".join(self.blocks.values())


def at_once(events: Iterable[ResolvedEvent]) -> list[ResolvedEvent]:
    """Join texts that follow each other, as if they had come in one delta."""
    joined: list[ResolvedEvent] = []
    for event in events:
        if isinstance(event, str) and joined and isinstance(joined[-1], str):
            joined[-1] += event
        else:
            joined.append(event)
    return joined


def resolve_all(text: str) -> list[ResolvedEvent]:
    """Read and resolve an answer whose sources are all there."""
    return Resolver(SOURCES).feed(parse(text))
