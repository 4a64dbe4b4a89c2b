"""A splice over an asynchronous stream of bytes: it only drives, and closes what it was given."""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import TYPE_CHECKING

from streamcite.driver import AsyncShell, Given, adrive
from streamcite.sse.decode import DEFAULT_MAX_LINE

from .splice import Splice

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Unpack

    from streamcite.annotations import Unit, When
    from streamcite.options import ParserOptions
    from streamcite.sources import Source
    from streamcite.spacing import Spacing

    from .apis import Api
    from .written import Render


class _Core:
    """A splice as the driver has it."""

    def __init__(self, splice: Splice) -> None:
        self._splice = splice

    def read(self, data: bytes) -> list[bytes]:
        cleaned = self._splice.feed(data)
        return [cleaned] if cleaned else []

    def end(self, *, stopped: bool) -> list[bytes]:
        cleaned = self._splice.close(stopped=stopped)
        return [cleaned] if cleaned else []


class CleanSSE(AsyncShell[bytes]):
    """Iterate over the bytes of a stream of server-sent events, cleaned as `Splice` does: a body for a response.

        async def answer(request):
            ask = {**await request.json(), "stream": True}
            upstream = await client.chat.completions.create(**ask)
            cleaned = CleanSSE(upstream.response.aiter_bytes(), closes=upstream)
            return StreamingResponse(cleaned, media_type="text/event-stream")

    What was given is closed once: at its end, at an error in it, by `aclose`, at the end of an ``async with`` block, or
    when the task that waits for it is cancelled, as servers do when their client is gone. An error of it is raised
    after what was held, so that what was cut ends as a cut.

    Args:
        stream: the bytes of the body as they come, cut anywhere, without a content encoding.
        closes: what is closed with the stream, by its ``aclose`` or ``close``: mostly the response.
        api: as for `Splice`, like all that follows.
        sources: see there.
        annotations: see there.
        unit: see there.
        render: see there.
        spacing: see there.
        max_line: see there.
        options: see there.

    Raises:
        TypeError, ValueError: as `Splice`; TypeError: ``stream`` is not an asynchronous iterable. While iterating,
            `LineTooLong` of `streamcite.sse` and `StreamTooLong`.
    """

    __slots__ = ()

    def __init__(
        self,
        stream: AsyncIterable[bytes],
        *,
        closes: object = None,
        api: Api | None = None,
        sources: Mapping[str, Source] | None = None,
        annotations: When = "streamed",
        unit: Unit = "codepoint",
        render: Render | None = None,
        spacing: Spacing = "exact",
        max_line: int = DEFAULT_MAX_LINE,
        **options: Unpack[ParserOptions],
    ) -> None:
        if not isinstance(stream, AsyncIterable):
            raise TypeError(f"stream: must be an asynchronous iterable of bytes, not {type(stream).__name__}")

        splice = Splice(
            api=api,
            sources=sources,
            annotations=annotations,
            unit=unit,
            render=render,
            spacing=spacing,
            max_line=max_line,
            **options,
        )
        given = Given(aiter(stream), stream, closes)
        super().__init__(given, adrive(_Core(splice), given))
