"""The page of ``streamcite serve`` in a real browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from openai import AsyncOpenAI

from streamcite.files import Document
from tests.browser import Browser, run_browser
from tests.http_peer import run_peer
from tests.pages import run_page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with run_browser() as browser:
        yield browser


ENDED = "document.querySelector('#answer').ariaBusy === 'false'"
TEXT = "document.querySelector('#answer').innerText"


def html(source: str = "#answer > div") -> str:
    return f"document.querySelector('{source}').innerHTML"


def test_the_page_in_a_browser(browser: Browser, tmp_path: Path) -> None:
    with run_page(pace=0.0007) as url:
        browser("open", url=url)
        browser.wait("document.querySelectorAll('#which option').length === 4")
        browser.evaluate("document.querySelector('form').requestSubmit()")
        browser.wait(f"{TEXT}.length > 300")
        # Reloaded in the middle, and again: what was there comes back, and the rest once.
        for length in (600, 900):
            assert not browser.evaluate(ENDED)
            browser("reload")
            browser.wait(
                f"window.performance.now() < 5000 && document.querySelector('#answer') && {TEXT}.length > {length}"
            )
        browser.wait(ENDED)
        whole = browser.evaluate(html())
        browser.evaluate("document.querySelector('#size').value = 1")
        browser.evaluate("document.querySelector('#size').dispatchEvent(new Event('change'))")
        browser.wait(f"!({ENDED}) && {TEXT}.length > 10")
        browser.wait(ENDED)
        assert browser.evaluate(html()) == whole
        browser.wait("document.querySelectorAll('#findings li').length > 1")
        assert browser.evaluate("document.querySelectorAll('#sources mark').length") > 3
        browser("hover", selector="#answer .cite >> nth=0")
        browser.wait("document.querySelectorAll('.source.current').length === 1")
        assert browser("axe") == []
        browser("screenshot", path=str(tmp_path / "page.png"))
        assert browser("problems") == []


def test_a_connection_that_breaks_is_taken_up(browser: Browser) -> None:
    """By the browser itself, with the number of the event that it had last."""
    with run_page(pace=0.0007) as url:
        browser("open", url=url)
        browser.wait("document.querySelectorAll('#which option').length === 4")
        browser.evaluate("document.querySelector('form').requestSubmit()")
        browser.wait(f"{TEXT}.length > 300")
        url.cut()
        browser.wait(f"{ENDED} && {TEXT}.length > 2000")
        broken = browser.evaluate(html())
        browser("reload")
        browser.wait(f"{ENDED} && {TEXT}.length > 2000")
        assert browser.evaluate(html()) == broken


def test_two_browsers_read_one_answer(browser: Browser) -> None:
    """One comes in the middle, and the other reloads then: both see all of it, once."""
    with run_page(pace=0.0015) as url, run_browser() as other:
        browser("open", url=url)
        browser.wait("document.querySelectorAll('#which option').length === 4")
        browser.evaluate("document.querySelector('form').requestSubmit()")
        browser.wait(f"{TEXT}.length > 300")
        other("open", url=url + browser.evaluate("location.hash"))
        other.wait(f"document.querySelector('#answer') && {TEXT}.length > 300")
        assert not browser.evaluate(ENDED)
        browser("reload")
        for each in (browser, other):
            each.wait(f"document.querySelector('#answer') && {ENDED} && {TEXT}.length > 2000")
            each.wait("document.querySelectorAll('#findings li').length > 1")
        seen = browser.evaluate(html())
        assert other.evaluate(html()) == seen
        browser("reload")  # now all of it is there at once
        browser.wait(f"{ENDED} && {TEXT}.length > 2000")
        assert browser.evaluate(html()) == seen
        assert browser("problems") == other("problems") == []


def test_what_the_server_says_is_shown(browser: Browser) -> None:
    with run_peer() as peer:
        peer.answer = lambda exchange: exchange.refuse(401)
        client = AsyncOpenAI(base_url=peer.base_url, api_key="any", max_retries=0)
        document = Document("<b>rota</b>.md", "rota.md", "The <i>handoff</i> is on Monday.", True)
        with run_page(client=client, model="<b>m</b>", documents=[document]) as url:
            browser("open", url=url)
            browser.wait("document.querySelectorAll('#which option').length === 4")
            browser.evaluate("document.querySelector('#question').value = '<b>Monday</b>?'")
            browser.evaluate("document.querySelector('form').requestSubmit()")
            browser.wait("document.querySelector('#told').textContent.includes('Error code: 401')")
            browser.wait(f"{ENDED} && document.querySelector('#findings li')")
            # Whatever is written as markup is shown as it is written.
            assert browser.evaluate("document.querySelectorAll('b, i').length") == 0
            assert browser.evaluate("document.querySelector('#asked').textContent") == "<b>Monday</b>?"
