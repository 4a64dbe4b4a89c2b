"""What becomes of an answer of the upstream: a stream is spliced, JSON is cleaned, all else passes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from typing import NamedTuple

from streamcite.annotations import AnnotationOptions
from streamcite.openai.parts import StreamResult
from streamcite.sources import Sources
from streamcite.sse import LineTooLong

from .after import After
from .apis import Api
from .config import RelayConfig
from .found import Found
from .headers import FINDINGS, stream_headers, to_client
from .memory import Memory
from .metrics import Metrics
from .outgoing import Outgoing
from .splice import Splice, StreamTooLong
from .upstream import Answer, CutError
from .whole import clean_body

_DONE = b"data: [DONE]\n\n"
# An upstream ends its body right after the last event. For one that does not, nobody waits any longer, in seconds.
_LINGER = 1.0
_MUCH = 2**18
# Clients refuse a header that is too long: of the unknown ids it has at most this many.
_MAX_UNKNOWN = 20
_OK = range(200, 300)


class Wanted(NamedTuple):
    """Say what is wanted of an answer.

    Attributes:
        api: whose it is; None if it passes as it comes.
        sources: what its citations point to.
        owner: who asked, for the memory.
        findings: whether the client wants to be told what was found.
        after: what leaves out the events that the client has; None: it gets all.
    """

    api: Api | None
    sources: Sources | None
    owner: bytes
    findings: bool
    after: After | None


class Answers:
    """Send answers to clients.

    Args:
        config: of the relay.
        memory: of the answers that were cleaned.
        metrics: where all is counted.
    """

    def __init__(self, config: RelayConfig, memory: Memory, metrics: Metrics) -> None:
        self._config = config
        self._memory = memory
        self._metrics = metrics

    async def send(self, wanted: Wanted, answer: Answer, outgoing: Outgoing) -> None:
        """Send an answer.

        Raises:
            CutError: it did not come to its end.
        """
        cors = bool(self._config.cors)
        api = wanted.api if answer.status in _OK else None
        if api is not None and answer.media_type == "text/event-stream":
            headers = stream_headers(to_client(answer.headers, cleaned=True, cors=cors))
            await outgoing.start(answer.status, headers)
            await self._stream(api, wanted, answer, outgoing)
        elif api is not None and answer.media_type == "application/json":
            await self._whole(api, wanted, answer, outgoing)
        else:
            # What was asked for without an encoding, and came with one, was decoded.
            encoded = any(name.lower() == b"content-encoding" for name, _ in answer.headers)
            cleaned = wanted.api is not None and encoded
            await outgoing.start(answer.status, to_client(answer.headers, cleaned=cleaned, cors=cors))
            while data := await answer.next():
                await outgoing.write(data)
            await outgoing.end()

    async def _stream(self, api: Api, wanted: Wanted, answer: Answer, outgoing: Outgoing) -> None:
        splice = self._splice(api, wanted.sources)
        feed: Callable[[bytes], bytes] = splice.feed
        write, clock = outgoing.write, time.perf_counter
        if wanted.after is not None:
            feed = _chained(splice.feed, wanted.after.feed)
        slowest, end = 0.0, "left"
        self._metrics.opened(splice)
        try:
            while data := await answer.next():
                begin = clock()
                cleaned = feed(data)
                took = clock() - begin
                if took > slowest:
                    slowest = took
                if data.endswith(_DONE):
                    await outgoing.end(cleaned + splice.close() + self._note(splice, findings=wanted.findings))
                    end = "done"
                    async with asyncio.timeout(_LINGER):
                        while await answer.next():
                            pass
                    break
                if cleaned:
                    await write(cleaned)
            else:
                await outgoing.end(splice.close() + self._note(splice, findings=wanted.findings))
                end = "done"
        except (CutError, LineTooLong, StreamTooLong, TimeoutError) as error:
            if end != "done":
                end = "cut"
                await write(splice.close(stopped=True) if not isinstance(error, ValueError) else b"")
                raise CutError(str(error)) from error
        finally:
            self._metrics.closed(splice)
            events = splice.events
            self._metrics.stream(api, end, events=events, changed=splice.changed, slowest=slowest)
            outgoing.note = (
                f"stream {end}, {events} events, {splice.changed} changed, {self._told(api, splice.found())}"
            )
            if end == "done" and splice.changed and self._config.remember:
                self._remember(wanted.owner, splice.result())

    async def _whole(self, api: Api, wanted: Wanted, answer: Answer, outgoing: Outgoing) -> None:
        body = bytearray()
        while data := await answer.next():
            body += data
            if len(body) > self._config.max_body:
                await outgoing.refuse(502, "The upstream's answer is larger than is read here.", "answer_too_large")
                return
        render = self._config.render if wanted.sources is not None else None
        arguments = api, bytes(body), self._options(wanted.sources), render, self._config.spacing
        if len(body) > _MUCH:
            cleaned, found, result = await asyncio.to_thread(clean_body, *arguments)
        else:
            cleaned, found, result = clean_body(*arguments)
        outgoing.note = self._told(api, found)
        if result is not None and self._config.remember:
            self._remember(wanted.owner, result)
        headers = to_client(answer.headers, cleaned=True, cors=bool(self._config.cors))
        headers.append((b"content-length", b"%d" % len(cleaned)))
        if wanted.findings:
            headers.append((FINDINGS, _form(found)))
        await outgoing.start(answer.status, headers)
        await outgoing.end(cleaned)

    def _options(self, sources: Sources | None) -> AnnotationOptions:
        config = self._config
        annotated = sources if config.annotations != "off" or config.render is not None else None
        return AnnotationOptions(sources=annotated, annotations=config.annotations, unit=config.unit, details=True)

    def _splice(self, api: Api, sources: Sources | None) -> Splice:
        wanted = self._options(sources)
        return Splice(
            api=api,
            sources=wanted.sources,
            annotations=wanted.annotations,
            unit=wanted.unit,
            details=True,
            render=self._config.render if sources is not None else None,
            spacing=self._config.spacing,
        )

    def _note(self, splice: Splice, *, findings: bool) -> bytes:
        """Say what was found where a stream can: in a comment, at its end."""
        return b": streamcite " + _form(splice.found()) + b"\n\n" if findings else b""

    def _remember(self, owner: bytes, result: StreamResult) -> None:
        for part in result.parts:
            if part.part.channel in ("answer", "commentary"):
                self._memory.keep(owner, part.text, part.raw)

    def _told(self, api: Api, found: Found) -> str:
        """Count what was found, and report it."""
        self._metrics.found(api, found)
        return f"{found.citations} citations, {found.malformed} malformed, {len(found.unknown)} unknown ids"


def _form(found: Found) -> bytes:
    told = found._replace(unknown=found.unknown[:_MAX_UNKNOWN])
    return json.dumps(told._asdict(), separators=(",", ":")).encode()


def _chained(first: Callable[[bytes], bytes], second: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    return lambda data: second(first(data))
