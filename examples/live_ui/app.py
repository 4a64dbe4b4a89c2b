"""A page that shows answers with their citations, each of which survives a reload. To be copied, with the files beside.

It asks the model of a client, or without one plays recorded answers, and quotes the user's own files:

    uvicorn --factory app:build
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlsplit

from anyio import CancelScope, Event, move_on_after, to_thread
from openai import APIError, AsyncOpenAI, DefaultAsyncHttpxClient
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streamcite import ResolvedEvent, Source
from streamcite.ask import prepare
from streamcite.files import CannotRead, Document, read_file
from streamcite.lint import lint
from streamcite.openai import AsyncRawView, stream_chat
from streamcite.testing import RecordedAnswer, recorded_answers, serve
from streamcite.testing.quotes import compose
from streamcite.ui.assets import asset
from streamcite.ui.frames import BROKE_OFF
from streamcite.ui.resumable import Resumable

FOLDER = Path(__file__).parent
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
KEPT = 100  # answers, and files: the oldest go
MAX_FILE = 32 * 2**20  # bytes
MAX_QUESTION = 2**20  # bytes
PATIENCE = 5.0  # seconds between the last event of an answer and its end
# Raised by what is not a question, or not a whole one.
NO_QUESTION = (ValueError, TypeError, AttributeError, OverflowError, RecursionError, ClientDisconnect)


@dataclass
class Question:
    """What is asked, and what has come of it."""

    text: str
    sources: Mapping[str, Source]
    messages: Any
    view: AsyncRawView[ResolvedEvent] | None = None
    done: Event = field(default_factory=Event)

    async def events(self, connect: Any, model: str) -> AsyncIterator[ResolvedEvent]:
        """Ask a model, and give the events of its answer as they come."""
        try:
            async with (
                connect as client,
                stream_chat(client, sources=self.sources, model=model, messages=self.messages) as self.view,
            ):
                async for event in self.view:
                    yield event
        finally:
            self.done.set()

    @property
    def complete(self) -> bool:
        """Say whether the answer has ended by itself."""
        return self.view is not None and self.view.result.complete

    def findings(self) -> list[dict[str, Any]]:
        """Give what is wrong with the citations of the answer."""
        raw = "".join(part.raw for part in self.view.result.answer) if self.view else ""
        if not raw:  # it has failed before there was any
            return []
        return [
            {**finding.to_dict(), "excerpt": raw[finding.start : finding.end]}
            for finding in lint(raw, self.sources, complete=self.complete)
        ]


@asynccontextmanager
async def played(answer: RecordedAnswer, pace: float) -> AsyncIterator[AsyncOpenAI]:
    """Give a client of a server that plays an answer, with that many seconds before each piece."""
    server = serve([answer], pace=pace)
    running = await to_thread.run_sync(server.__enter__)
    try:
        # Without a proxy that the environment may name: it does not reach this machine.
        http_client = DefaultAsyncHttpxClient(trust_env=False)
        async with AsyncOpenAI(base_url=running.base_url, api_key="any", http_client=http_client) as client:
            yield client
    finally:
        with CancelScope(shield=True):
            await to_thread.run_sync(server.__exit__, None, None, None)


def cut(text: str, size: int) -> tuple[str, ...]:
    """Cut a text into pieces of that many code points, or, if 0, leave that to `RecordedAnswer`."""
    return tuple(text[at : at + size] for at in range(0, len(text), size)) if size else ()


class Page:
    """The handlers of the page's requests."""

    def __init__(self, client: AsyncOpenAI | None, model: str, documents: Iterable[Document], pace: float) -> None:
        self.client: AsyncOpenAI | None = client
        self.model: str = model
        self.pace: float = pace
        self.files: dict[str, list[Document]] = {}
        for document in documents:
            self.files.setdefault(document.key, []).append(document)
        self.questions: dict[str, Question] = {}
        self.answers: Resumable = Resumable(on_error=explain)

    async def choices(self, _: Request) -> Response:
        """Say what can be asked, and whom."""
        recorded = [{"id": answer.id, "question": answer.question} for answer in recorded_answers().values()]
        return JSONResponse({"answers": recorded, "files": list(self.files), "model": self.model})

    async def upload(self, request: Request) -> Response:
        """Take a file: its bytes, with its name in the query."""
        name = Path(request.query_params.get("name", "")).name or "file"
        data = await body(request, MAX_FILE, name)
        try:
            documents = await to_thread.run_sync(read, name, data)
        except CannotRead as error:
            raise HTTPException(422, f"{name}: {error}") from None
        except ModuleNotFoundError as error:
            missing = f'{error.name} is not installed; such files need it: pip install "streamcite[serve]"'
            raise HTTPException(422, f"{name}: {missing}") from None
        keep(self.files, name, documents)
        return JSONResponse({"files": list(self.files)})

    async def ask(self, request: Request) -> Response:
        """Begin an answer, and say under which key it is read."""
        wanted = json.loads(await body(request, MAX_QUESTION, "the question"))
        name, size = wanted.get("answer"), int(wanted.get("size", 0))
        if name in recorded_answers():
            answer = recorded_answers()[name]
            question = Question(answer.question, answer.sources, [{"role": "user", "content": answer.question}])
            text: str | None = answer.text
        else:
            question = await to_thread.run_sync(self._prepared, str(wanted.get("question", "")).strip())
            text = None if self.client else compose(question.text, question.sources.values())
        if text is None:
            connect: Any = self.client
            events = question.events(kept_open(connect), self.model)
        else:
            pieces = RecordedAnswer(id="recorded", text=text, deltas=cut(text, size))
            events = question.events(played(pieces, self.pace * len(text) / max(len(pieces.deltas), 1)), "recorded")
        key = secrets.token_urlsafe(12)
        keep(self.questions, key, question)
        await self.answers.start(key, events, complete=lambda: question.complete)
        return JSONResponse({"key": key})

    def _prepared(self, text: str) -> Question:
        if not text:
            raise HTTPException(422, "Write a question first.")
        if not self.files:
            raise HTTPException(422, "Choose some files first: there is nothing to cite.")
        asked = prepare(text, (document for file in self.files.values() for document in file))
        return Question(text, {source.id: source for source in asked.shown}, asked.messages)

    async def read(self, request: Request) -> Response:
        """Send an answer, or what follows the event that a reader had last."""
        return await self.answers.response(
            request.path_params["key"], last_event_id=request.headers.get("last-event-id")
        )

    async def about(self, request: Request) -> Response:
        """Say what was asked, and what can be cited."""
        question = self._find(request)
        sources = [{"id": each.id, "title": each.title, "text": each.text} for each in question.sources.values()]
        return JSONResponse({"question": question.text, "sources": sources})

    async def findings(self, request: Request) -> Response:
        """Say what is wrong with the citations of an answer that has ended."""
        question = self._find(request)
        with move_on_after(PATIENCE):
            await question.done.wait()
        if not question.done.is_set():
            raise HTTPException(409, "The answer has not ended yet.")
        return JSONResponse(await to_thread.run_sync(question.findings))

    def _find(self, request: Request) -> Question:
        try:
            return self.questions[request.path_params["key"]]
        except KeyError:
            raise HTTPException(404, "There is no such answer, or no longer.") from None


@asynccontextmanager
async def kept_open(client: AsyncOpenAI) -> AsyncIterator[AsyncOpenAI]:
    """Give a client that stays open."""
    yield client


def explain(error: Exception) -> str:
    """Give what the page says where an answer broke off: what the model's server said, if that is why."""
    if not isinstance(error, APIError):
        return BROKE_OFF
    return " ".join(["The model's server:", str(error), *([str(error.__cause__)] if error.__cause__ else [])])


async def body(request: Request, limit: int, name: str) -> bytes:
    """Give the body of a request, of at most that many bytes."""
    data = bytearray()
    async for piece in request.stream():
        data += piece
        if len(data) > limit:
            raise HTTPException(413, f"{name}: is larger than {limit} bytes")
    return bytes(data)


def keep(kept: dict[str, Any], key: str, value: object) -> None:
    """Keep a value; the oldest goes where there are too many."""
    kept[key] = value
    if len(kept) > KEPT:
        del kept[next(iter(kept))]


def read(name: str, data: bytes) -> list[Document]:
    """Read a file that came as bytes. Of its name, which may be none for a file here, only the suffix counts."""
    (suffix,) = re.findall(r"\.[A-Za-z0-9]{1,16}\Z", name) or [""]
    with TemporaryDirectory() as folder:
        path = Path(folder, f"file{suffix}")
        path.write_bytes(data)
        return [
            Document(name + document.key.removeprefix(path.as_posix()), name, document.text, document.markdown)
            for document in read_file(path)
        ]


class Guard:
    """Put headers on each response that keep a browser to this page, and refuse what other pages ask.

    Another site may give its own name this machine's address, and is then to the browser the page itself. So a name is
    refused as `Host` unless it is known; an address cannot be had so.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str]) -> None:
        self.app: ASGIApp = app
        self.hosts: frozenset[str] = frozenset({"localhost", *map(str.lower, hosts)})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"],
                    (b"content-security-policy", POLICY.encode()),
                    (b"x-content-type-options", b"nosniff"),
                ]
            await send(message)

        headers = dict(scope["headers"])
        if not self.knows(headers.get(b"host", b"localhost").decode("latin-1")):
            answer: ASGIApp = JSONResponse({"error": "Open the page by this machine's address, or as localhost."}, 403)
        elif headers.get(b"sec-fetch-site", b"none") not in {b"none", b"same-origin"}:
            answer = JSONResponse({"error": "Ask from the page itself."}, 403)
        else:
            answer = self.app
        await answer(scope, receive, guarded)

    def knows(self, host: str) -> bool:
        """Say whether this is a name of the page, or an address."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
            return name in self.hosts or bool(ip_address(name))
        except ValueError:
            return False


async def refuse(_: Request, error: Exception) -> Response:
    """Say what is wrong with a request."""
    if isinstance(error, HTTPException):
        return JSONResponse({"error": error.detail}, error.status_code)
    return JSONResponse({"error": "This is not a question."}, 400)


def build(
    *,
    client: AsyncOpenAI | None = None,
    model: str = "",
    documents: Sequence[Document] = (),
    pace: float = 0.003,
    hosts: Sequence[str] = (),
) -> Starlette:
    """Make the application.

    Args:
        client: of the server that is asked, closed in the end; None asks none.
        model: which model of it.
        documents: what can be cited from the start.
        pace: seconds for a code point of an answer that is played.
        hosts: names that the page has, such as ``ask.example.org``, beside addresses and ``localhost``.
    """
    page = Page(client, model, documents, pace)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with client or nullcontext(), page.answers:
            yield

    files = {
        "/": FOLDER / "index.html",
        "/page.js": FOLDER / "page.js",
        "/page.css": FOLDER / "page.css",
        "/streamcite.js": asset("streamcite.js"),
        "/streamcite.css": asset("streamcite.css"),
    }
    routes = [Route(path, partial(send_file, file)) for path, file in files.items()]
    handlers: Any = {HTTPException: refuse, **dict.fromkeys(NO_QUESTION, refuse)}
    app = Starlette(
        routes=[
            *routes,
            Route("/choices", page.choices),
            Route("/files", page.upload, methods=["POST"]),
            Route("/ask", page.ask, methods=["POST"]),
            Route("/answers/{key}", page.read),
            Route("/answers/{key}/about", page.about),
            Route("/answers/{key}/findings", page.findings),
        ],
        exception_handlers=handlers,
        lifespan=lifespan,
    )
    app.add_middleware(Guard, hosts=hosts)
    return app


async def send_file(path: Path, _: Request) -> Response:
    """Send a file of the page."""
    return FileResponse(path, headers={"cache-control": "no-cache"})
