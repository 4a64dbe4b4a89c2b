"""The page of ``streamcite serve``: what its application answers."""

import json
import socket
import sys
import time
from collections.abc import Iterator
from functools import partial
from http.client import HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest
from openai import AsyncOpenAI

from streamcite import Resolver, parse
from streamcite.files import Document
from streamcite.render.html import render_html
from streamcite.serve import app as page
from streamcite.testing import recorded_answers, serve
from tests.http_peer import request, run_peer
from tests.pages import run_page
from tests.pdfs import make_pdf
from tests.processes import PATIENCE

EXAMPLE = Path(__file__).parents[1] / "examples" / "live_ui"
NOTES = Document("notes.md", "notes.md", "# Rota\n\nThe handoff is on Monday.\n\nAsk the lead first.", True)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with run_page(pace=0.0) as url:
        yield url


def post(url: str, body: bytes, **headers: str) -> tuple[int, Any]:
    response, data = request(url, "POST", body, **headers)
    return response.status, json.loads(data)


def get(url: str) -> tuple[HTTPResponse, bytes]:
    return request(url)


def ask(url: str, **wanted: object) -> str:
    status, told = post(f"{url}ask", json.dumps(wanted).encode())
    assert status == 200
    return str(told["key"])


def patched(body: bytes) -> list[str]:
    """The blocks of HTML that an answer's patches make."""
    blocks: dict[int, str] = {}
    for frame in body.decode().split("\n\n"):
        if frame.startswith("event: patch\n"):
            patch = json.loads(frame.partition("data: ")[2])
            kept = blocks.get(patch["block"], "").encode("utf-16-le")[: 2 * patch.get("keep", 0)].decode("utf-16-le")
            blocks[patch["block"]] = kept + patch["html"]
    return [blocks[number] for number in sorted(blocks)]


def test_the_example_is_the_page() -> None:
    names = ["app.py", "index.html", "page.css", "page.js"]
    assert sorted(path.name for path in EXAMPLE.iterdir() if path.is_file()) == sorted([*names, "README.md"])
    for name in names:
        own = Path(page.__file__).with_name(name).read_text("utf-8")
        assert (EXAMPLE / name).read_text("utf-8") == own, f"cp streamcite/serve/{name} examples/live_ui/"


def test_files_come_with_a_strict_policy(url: str) -> None:
    for name in ("", "page.js", "page.css", "streamcite.js", "streamcite.css"):
        response, data = get(url + name)
        assert response.status == 200
        assert data
        assert response.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; ")
        assert response.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("name", recorded_answers())
def test_however_it_is_cut_an_answer_is_the_same(url: str, name: str) -> None:
    answer = recorded_answers()[name]
    resolver = Resolver(answer.sources)
    expected = render_html([*resolver.feed(parse(answer.text, complete=True)), *resolver.close()])
    findings = []
    for size in (0, 2, 10_000):
        key = ask(url, answer=name, size=size)
        response, body = get(f"{url}answers/{key}")
        assert response.status == 200
        assert "".join(patched(body)) == expected
        assert body.endswith(b'data: {"complete":true}\n\n')
        findings.append(json.loads(get(f"{url}answers/{key}/findings")[1]))
    assert findings[1:] == findings[:-1]
    assert {"malformed-marker"} <= {finding["rule"] for finding in findings[0]}
    about = json.loads(get(f"{url}answers/{key}/about")[1])
    assert about["question"] == answer.question
    assert {source["id"]: source["text"] for source in about["sources"]} == {
        source.id: source.text for source in answer.sources.values()
    }


def test_files_of_ones_own_are_quoted(url: str) -> None:
    assert post(f"{url}ask", json.dumps({"answer": "own", "question": "handoff?"}).encode()) == (
        422,
        {"error": "Choose some files first: there is nothing to cite."},
    )
    text = b"The handoff moves to Monday for all teams.\n\nLunch is at noon for all of us.\n"
    assert post(f"{url}files?name=notes.txt", text) == (200, {"files": ["notes.txt"]})
    pdf = make_pdf("The pager goes to the lead on Friday evening.")
    assert post(f"{url}files?name=/etc/pager.pdf", pdf) == (200, {"files": ["notes.txt", "pager.pdf"]})
    key = ask(url, answer="own", question="When is the handoff on Monday?", size=2)
    _, body = get(f"{url}answers/{key}")
    shown = "".join(patched(body))
    assert "The handoff moves to Monday for all teams" in shown
    assert 'class="cite"' in shown
    titles = [source["title"] for source in json.loads(get(f"{url}answers/{key}/about")[1])["sources"]]
    assert any("notes.txt" in title for title in titles)
    assert any("pager.pdf" in title for title in titles)


def test_what_is_not_a_question_is_refused(url: str) -> None:
    deep = b"[" * 100_000
    for body in (b"", b"x", b"[]", b"\xff", b'{"size": "x"}', b'{"size": null}', b'{"size": 1e400}', deep):
        status, told = post(f"{url}ask", body)
        assert (status, set(told)) == (400, {"error"})
    assert post(f"{url}ask", b'{"question": " "}') == (422, {"error": "Write a question first."})
    assert post(f"{url}files?name=a.bin", b"\x00\x01")[0] == 422
    for name in ("", "/about", "/findings"):
        assert get(f"{url}answers/none{name}")[0].status == 404
    assert post(f"{url}ask", b"{}", **{"sec-fetch-site": "cross-site"}) == (
        403,
        {"error": "Ask from the page itself."},
    )


def test_what_is_too_large_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "MAX_FILE", 10)
    assert post(f"{url}files?name=a.txt", b"x" * 11)[0] == 413

    monkeypatch.setattr(page, "MAX_QUESTION", 10)
    assert post(f"{url}ask", b"x" * 11)[0] == 413


@pytest.mark.parametrize(("name", "missing"), [("a.pdf", "pypdfium2"), ("a.html", "lxml"), ("a.html", "bs4")])
def test_what_reads_a_file_and_is_missing_is_named(
    url: str, name: str, missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    status, told = post(f"{url}files?name={name}", b"%PDF-1.4" if name == "a.pdf" else b"<p>Yes.</p>")
    said = f'{name}: {missing} is not installed; such files need it: pip install "streamcite[serve]"'
    assert (status, told) == (422, {"error": said})


NAMES = [
    "..",
    ".",
    "a/..",
    "../../up.md",
    "a\0b.txt",
    "a.\0",
    "x" * 300 + ".md",
    "x." + "y" * 300,
    "ÿ.ÿ",
    "<b>.md",
    "~",
    "con",
]


@pytest.mark.parametrize("name", NAMES)
def test_whatever_a_file_is_called_it_is_read(name: str) -> None:
    with run_page() as url:
        status, told = post(f"{url}files?{urlencode({'name': name})}", b"The handoff moves to Monday.")
        assert (status, len(told["files"])) == (200, 1)
        assert told["files"][0] in {name, name.rpartition("/")[2], "file"}


def test_a_site_that_takes_this_address_for_its_name_is_refused() -> None:
    with run_page(hosts=["Ask.example"]) as url:
        port = url.rstrip("/").rpartition(":")[2]
        known = ["localhost", f"LOCALHOST:{port}", f"127.0.0.1:{port}", "192.0.2.1", f"[::1]:{port}", "ask.example:80"]
        for host in known:
            assert request(f"{url}choices", host=host)[0].status == 200
        others = [
            "rebound.example",
            f"rebound.example:{port}",
            "localhost.example",
            "127.0.0.1.example",
            "127.1",
            "",
            "[",
        ]
        for host in others:
            for path in ("", "choices", "answers/x"):
                headers = {"host": host, "sec-fetch-site": "same-origin"}
                response, data = request(url + path, "GET", None, **headers)
                assert response.status == 403
                assert set(json.loads(data)) == {"error"}


@pytest.mark.parametrize(
    ("base_url", "said"),
    [
        (None, "The model's server: Error code: 401 - "),
        ("http://127.0.0.1:9/v1", "The model's server: Connection error. "),
        ("nonsense", "The model's server: Connection error. "),
    ],
)
def test_a_server_that_fails_is_quoted(base_url: str | None, said: str) -> None:
    with run_peer() as peer:
        peer.answer = lambda exchange: exchange.refuse(401)
        client = AsyncOpenAI(base_url=base_url or peer.base_url, api_key="any", max_retries=0)
        with run_page(client=client, model="m", documents=[NOTES]) as url:
            key = ask(url, answer="own", question="When is the handoff?")
            last = get(f"{url}answers/{key}")[1].split(b"data: ")[-1]
            findings = json.loads(get(f"{url}answers/{key}/findings")[1])
    told = json.loads(last)
    assert told["complete"] is False
    assert told["error"].startswith(said)
    assert findings == []


def test_findings_wait_for_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "PATIENCE", 0.05)
    with run_page(pace=1.0) as url:
        key = ask(url, answer="english")
        assert get(f"{url}answers/{key}/findings")[0].status == 409


def test_a_model_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve("It is on Monday.\ue200cite\ue202block1\ue201 Or\ue200cite\ue202block9\ue201.") as model:
        client = partial(AsyncOpenAI, base_url=model.base_url, api_key="any")
        with run_page(client=client(), model="answer", documents=[NOTES]) as url:
            assert json.loads(get(f"{url}choices")[1])["model"] == "answer"
            for _ in range(2):
                key = ask(url, answer="own", question="When is the handoff?")
                assert "It is on Monday." in "".join(patched(get(f"{url}answers/{key}")[1]))
            findings = json.loads(get(f"{url}answers/{key}/findings")[1])
            assert ("unknown-source", "\ue200cite\ue202block9\ue201") in [
                (each["rule"], each["excerpt"]) for each in findings
            ]
        with run_page(client=client(), model="none", documents=[NOTES]) as url:
            key = ask(url, answer="own", question="When is the handoff?")
            assert b'"complete":false' in get(f"{url}answers/{key}")[1]
            assert {each["rule"] for each in json.loads(get(f"{url}answers/{key}/findings")[1])} <= {"uncited"}


def test_old_answers_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "KEPT", 2)
    with run_page(pace=0.0) as url:
        keys = [ask(url, answer="english") for _ in range(3)]
        assert [get(f"{url}answers/{key}/about")[0].status for key in keys] == [404, 200, 200]


@pytest.mark.parametrize("path", ["files?name=a.txt", "ask"])
def test_who_leaves_in_the_middle_of_a_file_is_not_an_error(path: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Nor is one that names no host, as no browser does."""
    with run_page() as url:
        parts = urlsplit(url)
        address, until = (parts.hostname, parts.port), time.monotonic() + PATIENCE
        with socket.create_connection(address, timeout=PATIENCE) as client:
            head = f"POST /{path} HTTP/1.1\r\nhost: {parts.netloc}\r\ncontent-length: 9\r\n\r\n"
            client.sendall(f"{head}x".encode())
            while not url.server.server_state.tasks:
                assert time.monotonic() < until
                time.sleep(0.001)
        with socket.create_connection(address, timeout=PATIENCE) as client, client.makefile("rb") as answer:
            client.sendall(b"GET /choices HTTP/1.0\r\n\r\n")
            assert answer.readline() == b"HTTP/1.1 200 OK\r\n"
    assert capfd.readouterr().err == ""
