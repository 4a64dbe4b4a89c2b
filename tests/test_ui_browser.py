"""`streamcite.js` in a real browser, on a page with a strict policy: what a reader sees, hears and can do."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from streamcite import CitationParser, Resolver, Source
from streamcite.sse import encode_json
from streamcite.ui.assets import asset
from streamcite.ui.native import NativeEncoder
from tests.browser import Browser, Site, run_browser, run_site
from tests.markers import cite
from tests.rendering import ANSWER, LATE, PLAIN, SOURCES

DOCS = Path(__file__).parents[1] / "docs"
CHIPS = "[...document.querySelectorAll('#answer .cite')]"
ENDED = "document.querySelector('#answer').ariaBusy === 'false'"
CARD = "document.querySelector('.sc-card')"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with run_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with run_site() as site:
        yield site


def parts(texts: Sequence[str], sources: Mapping[str, Source], late: Mapping[str, Source] | None = None) -> list[bytes]:
    """Give an answer as it is sent, a part for each text and one for the end; late sources come with the last text."""
    known = dict(sources)
    parser, resolver, encoder = CitationParser(), Resolver(known), NativeEncoder()
    sent = []
    for text in texts:
        if text is texts[-1]:
            known |= late or {}
        sent.append(b"".join(frame for delta in text for frame in encoder.feed(resolver.feed(parser.feed(delta)))))
    end = [*resolver.feed(parser.close()), *resolver.close()]
    return [*sent, b"".join([*encoder.feed(end), *encoder.close()])]


def show(browser: Browser, site: Site, sent: Sequence[bytes], *, query: str = "", dark: bool = False) -> None:
    """Show a whole answer."""
    site.serve(sent)
    for go in site.go:
        go.set()
    browser("open", url=site.url + query, dark=dark)
    browser.wait(ENDED)


@pytest.mark.parametrize("query", ["", "?events"])
def test_an_answer_is_read_while_it_streams(browser: Browser, site: Site, query: str) -> None:
    site.serve(parts(ANSWER, SOURCES, LATE))
    browser("open", url=site.url + query)
    browser.wait(f"{CHIPS}.length === 1 && document.querySelector('#answer').innerText.includes('for all teams.')")
    site.go[1].set()
    browser.wait(f"{CHIPS}.length === 4")
    assert not browser.evaluate(ENDED)
    assert browser.evaluate(f"{CHIPS}.map((chip) => chip.innerText)") == ["[1]", "[?]", "[1]", "[2]"]
    assert browser.evaluate(f"'pending' in {CHIPS}[1].dataset")
    before = browser.evaluate(f"JSON.stringify({CHIPS}.map((chip) => chip.getBoundingClientRect()))")
    browser.evaluate(f"void (window.chip = {CHIPS}[0])")
    site.go[2].set()
    browser.wait(f"{CHIPS}.length === 5")
    assert browser.evaluate(f"{CHIPS}.map((chip) => chip.innerText)") == ["[1]", "[3]", "[1]", "[2]", "[4]"]
    assert browser.evaluate(f"{CHIPS}[1].href") == "https://a.example/days"
    # Nothing has moved, and what was there is what it was.
    assert (
        browser.evaluate(f"JSON.stringify({CHIPS}.slice(0, 4).map((chip) => chip.getBoundingClientRect()))") == before
    )
    assert browser.evaluate("window.chip.isConnected")
    site.go[3].set()
    browser.wait(f"{ENDED} && window.complete")
    assert browser.evaluate("[...document.querySelectorAll('.sources li')].map((item) => item.value)") == [1, 2, 3, 4]
    assert browser.evaluate("document.querySelector('[role=status]').textContent") == "The answer is complete."
    assert browser("problems") == []


def test_a_citation_has_a_card_for_the_mouse(browser: Browser, site: Site) -> None:
    show(browser, site, parts(ANSWER, SOURCES, LATE))
    assert browser.evaluate(f"{CARD}.hidden")
    browser("hover", selector="#answer .cite >> nth=0")
    browser.wait(f"!{CARD}.hidden")
    assert browser.evaluate(f"{CARD}.innerText").split("\n\n") == ["Office days, lines 2–3", "line 2\nline 3"]
    assert browser.evaluate(f"{CARD}.querySelector('a').href") == "https://a.example/office?a=1&b=2"
    assert browser.evaluate(f"{CHIPS}[0].getAttribute('aria-describedby') === {CARD}.id")
    browser("hover", selector=".sc-card")  # it can be read and its link followed
    browser("hover", selector="#answer .cite >> nth=1")
    browser.wait(f"{CARD}.innerText === 'Days'")
    browser("move", x=1, y=1)
    browser.wait(f"{CARD}.hidden")
    assert browser("problems") == []


def test_a_citation_has_a_card_for_the_keyboard(browser: Browser, site: Site) -> None:
    show(browser, site, parts(ANSWER, SOURCES, LATE))
    for index, label in enumerate(["1: Office days, lines 2–3", "3: Days"]):
        browser("press", key="Tab")
        assert browser.evaluate(f"document.activeElement === {CHIPS}[{index}]")
        assert browser.evaluate("document.activeElement.ariaLabel") == f"Source {label}"
        assert not browser.evaluate(f"{CARD}.hidden")
    browser("press", key="Escape")
    assert browser.evaluate(f"{CARD}.hidden")
    browser("press", key="Shift+Tab")
    assert not browser.evaluate(f"{CARD}.hidden")
    assert browser("problems") == []


def test_the_focus_stays_where_it_is_while_the_answer_grows(browser: Browser, site: Site) -> None:
    site.serve(parts([f"- A{cite('t1')} b{cite('t1')}", " c **d", "**"], SOURCES))
    browser("open", url=site.url)
    browser.wait(f"{CHIPS}.length === 2")
    browser("press", key="Tab")
    site.go[1].set()
    browser.wait("document.querySelector('#answer strong')")
    assert browser.evaluate(f"document.activeElement === {CHIPS}[0] && !{CARD}.hidden")
    for go in site.go:
        go.set()
    browser.wait(ENDED)
    assert browser.evaluate(f"document.activeElement === {CHIPS}[0] && !{CARD}.hidden")


ATTACK = "<img src=x onerror=window.hit=1><script>window.hit=1</script>"
URLS = ("javascript:window.hit=1", "\x01JaVaScRiPt:window.hit=1", " data:text/html,<script>1</script>", "vbscript:x")


def test_what_a_model_or_a_source_writes_does_nothing(browser: Browser, site: Site) -> None:
    hostile = {
        f"h{number}": Source(f"h{number}", f"{ATTACK}\n" * 3, title=f'"{ATTACK}', url=url)
        for number, url in enumerate((*URLS, f'https://a.example/"onfocus="window.hit=1{ATTACK}'))
    }
    cited = "".join(cite(name, "L1-L2") for name in hostile)
    text = f"{ATTACK}{cited}\n\n[a]({URLS[0]}) ![b]({URLS[2]}) <{URLS[0]}>\n\n```{ATTACK}\n{ATTACK}{cited}\n```\n"
    show(browser, site, parts([text], hostile))
    for index in range(len(hostile)):
        browser("hover", selector=f"#answer .cite >> nth={index}")
        browser.wait(f"!{CARD}.hidden && {CARD}.innerText.includes('<script>')")
    assert browser.evaluate("document.querySelectorAll('main script, main img').length") == 0
    assert browser.evaluate("window.hit ?? null") is None
    links = browser.evaluate("[...document.querySelectorAll('main a')].map((link) => link.protocol)")
    assert set(links) == {"https:"}
    assert browser("problems") == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_page_is_for_everyone(browser: Browser, site: Site, tmp_path: Path, dark: bool) -> None:
    show(browser, site, parts(ANSWER, PLAIN, LATE), dark=dark)
    browser("hover", selector="#answer .cite >> nth=0")
    browser.wait(f"!{CARD}.hidden")
    assert browser("axe") == []
    # The pictures in docs/ are made here, when they are asked for.
    folder = DOCS if os.environ.get("STREAMCITE_PICTURES") else tmp_path
    picture = folder / f"answer-{'dark' if dark else 'light'}.png"
    browser("screenshot", path=str(picture))
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_a_stream_that_breaks_off_says_so(browser: Browser, site: Site) -> None:
    show(browser, site, parts(["A few words."], {})[:1])
    assert browser.evaluate("document.querySelector('[role=status]').textContent") == "The answer broke off."
    assert browser.evaluate("document.querySelector('#answer p').innerText") == "A few words."


def event(name: str, data: object) -> bytes:
    return encode_json(data, event=name)


def test_an_answer_that_comes_anew_takes_the_place_of_what_broke_off(browser: Browser, site: Site) -> None:
    """An EventSource asks again by itself, and may be given another answer, from its beginning."""
    site.serve(parts(["One.\n\nTwo.\n\nThree", f" more{cite('t1')}."], SOURCES)[:2])
    browser("open", url=site.url + "?events")
    browser.wait("document.querySelector('#answer').innerText.includes('Three')")
    site.more = [b"retry: 10\n\n", *parts([f"Other{cite('t2')}."], SOURCES)]
    site.go[1].set()
    browser.wait(f"{ENDED} && window.complete")
    assert browser.evaluate("document.querySelector('#answer > div').innerText.trim().split('\\n')[0]") == "Other[1]."
    assert "Three" not in browser.evaluate("document.querySelector('#answer').innerText")
    assert browser("problems") == []


@pytest.mark.parametrize("query", ["", "?events"])
def test_events_that_are_not_known_are_passed_over(browser: Browser, site: Site, query: str) -> None:
    first, *rest = parts([f"A{cite('t1')}"], SOURCES)
    unknown = event("later", {"index": 0, "links": 1}) + b"event: other\ndata: no JSON\n\n: comment\n\n"
    show(browser, site, [first + unknown, *rest], query=query)
    assert browser.evaluate("document.querySelector('#answer p').innerText") == "A[1]"
    browser("hover", selector="#answer .cite")
    browser.wait(f"{CARD}.innerText.startsWith('Office days')")
    assert browser("problems") == []


def test_what_comes_after_the_end_is_not_waited_for(browser: Browser, site: Site) -> None:
    sent = parts(["A"], SOURCES)
    site.serve([b"".join(sent), b": more"])  # which never comes
    browser("open", url=site.url)
    browser.wait(f"{ENDED} && window.complete")
    site.go[1].set()


def test_a_server_that_fails_is_an_error_to_the_page(browser: Browser, site: Site) -> None:
    site.serve([b""])
    site.status = 500
    browser("open", url=site.url)
    browser.wait(ENDED)
    assert browser.evaluate("document.querySelector('[role=status]').textContent") == "The answer broke off."
    assert any("HTTP 500" in problem for problem in browser("problems"))
    browser("open", url=site.url + "?events")
    browser.wait(f"{ENDED} && window.complete === false")


@pytest.mark.parametrize(("locator", "where"), [("L2", "line 2"), ("L2-L3", "lines 2–3"), ("L99", "")])
def test_a_card_says_where(browser: Browser, site: Site, locator: str, where: str) -> None:
    show(browser, site, parts([f"A{cite('t1', locator)}"], SOURCES))
    browser("hover", selector="#answer .cite")
    browser.wait(f"!{CARD}.hidden")
    title = browser.evaluate(f"{CARD}.querySelector('a').innerText")
    assert title == ", ".join(filter(None, ["Office days", where]))


def test_the_module_is_small_and_stands_alone() -> None:
    module = asset("streamcite.js").read_text("utf-8")
    assert len(module.encode()) < 6 * 1024
    assert "import" not in module
