"""A browser that a test drives, and a server of one page with one answer, which stops where the test says.

The browser is Debian's `chromium`, driven by the npm package `playwright-core`; where either is missing, a test that
asks for it is skipped, and says so. Every wait is bounded.
"""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any

import pytest

from streamcite.ui.assets import Asset, asset
from streamcite.ui.protocol import HEADERS
from tests.node import Script, run_script
from tests.processes import ENVIRONMENT, PATIENCE

# As strict as a page can be that has a script, a style sheet and a stream of its own.
POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'"
PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>An answer</title><link rel="stylesheet" href="streamcite.css">
<link rel="stylesheet" href="page.css"><script type="module" src="page.js"></script></head>
<body><main><h1>An answer</h1><div id="answer"></div></main></body>
</html>
"""
SCRIPT = """import {show} from "./streamcite.js";
const source = location.search === "?events" ? new EventSource("answer") : await fetch("answer");
window.complete = await show(document.querySelector("#answer"), source);
"""
STYLE = """html { color-scheme: light dark; background: Canvas; font: 16px/1.5 sans-serif; }
main { max-width: 40em; margin: auto; }
.sc { padding: 0.1em 1em; border-radius: 0.5em; }
"""


class Site:
    """One page, and an answer of several parts; each but the first is sent when it is asked for.

    Attributes:
        more: the parts of the answer that is given, all at once, when it is asked for again.
        status: that of the answer.
    """

    def __init__(self) -> None:
        self.url = ""
        self.parts: Sequence[bytes] = ()
        self.go = [Event()]
        self.more: Sequence[bytes] = ()
        self.status = 200

    def serve(self, parts: Sequence[bytes]) -> None:
        self.parts, self.go = parts, [Event() for _ in parts]
        self.go[0].set()
        self.more, self.status = (), 200


class Browser:
    """A page in a browser."""

    def __init__(self, script: Script) -> None:
        self._script = script

    def __call__(self, step: str, **options: Any) -> Any:
        return self._script.ask(step=step, **options)

    def wait(self, until: str) -> None:
        self("wait", until=until)

    def evaluate(self, script: str) -> Any:
        return self("evaluate", script=script)


@contextmanager
def run_browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium")
    # `make test` works where this is missing, and says so; CI installs it, and fails on a skip.
    if chromium is None:
        pytest.skip("chromium is not installed")
    with TemporaryDirectory() as user_data:
        environment = {**ENVIRONMENT, "HOME": user_data}
        with run_script("browser.mjs", "playwright-core", chromium, user_data, env=environment) as script:
            try:
                yield Browser(script)
            finally:
                script.end()


@contextmanager
def run_site() -> Iterator[Site]:
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            if path == "/answer":
                self._head(dict(HEADERS), site.status)
                if all(go.is_set() for go in site.go) and site.more:
                    self.wfile.write(b"".join(site.more))
                    return
                for part, go in zip(site.parts, site.go, strict=True):
                    assert go.wait(PATIENCE)
                    self.wfile.write(part)
                    self.wfile.flush()
                return
            texts = {"/": (PAGE, "html"), "/page.js": (SCRIPT, "javascript"), "/page.css": (STYLE, "css")}
            if path.startswith("/streamcite."):
                name: Asset = "streamcite.css" if path.endswith(".css") else "streamcite.js"
                text, kind = asset(name).read_text("utf-8"), "css" if path.endswith(".css") else "javascript"
            else:
                text, kind = texts.get(path, ("", "plain"))
            self._head({"content-type": f"text/{kind}; charset=utf-8"})
            self.wfile.write(text.encode())

        def _head(self, headers: dict[str, str], status: int = 200) -> None:
            self.send_response(status)
            for name, value in {**headers, "content-security-policy": POLICY}.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        site.url = f"http://127.0.0.1:{server.server_port}/"
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield site
        finally:
            for go in site.go:
                go.set()
            server.shutdown()
            thread.join()
