"""The settings of a relay, and what its server leaves out of the log."""

import json
import logging
from asyncio import CancelledError
from typing import Any

import pytest

from streamcite.relay.app import create_app
from streamcite.relay.config import RelayConfig
from streamcite.relay.outgoing import RelayCut
from streamcite.relay.quiet import NoCuts, NoNoise, leave_out


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"upstream": "api.openai.com"}, "upstream: must be a URL such as"),
        ({"upstream": "ftp://a.example"}, "upstream: must be a URL such as"),
        ({"upstream": "http://"}, "upstream: must be a URL such as"),
        ({"upstream": "http://a:b"}, "upstream: must be a URL such as"),
        ({"upstream": "http://a.example:99999"}, "upstream: must be a URL such as"),
        ({"upstream": "http://a b"}, "upstream: must be a URL such as"),
        ({"upstream": "http://ä.example"}, "upstream: must be a URL such as"),
        ({"upstream": 5}, "upstream: must be a URL such as"),
        ({"upstream": "http://[::1"}, "upstream: must be a URL such as"),
        ({"upstream": "http://me:secret@a.example"}, "upstream: must have neither"),
        ({"upstream": "http://a.example?x"}, "upstream: must have neither"),
        ({"annotations": "never"}, "annotations: must be one of 'streamed', 'final', 'off'"),
        ({"unit": "byte"}, "unit: must be one of"),
        ({"render": "html"}, "render: must be one of 'links', 'footnotes', not 'html'"),
        ({"spacing": "none"}, "spacing: must be one of 'exact', 'tidy', not 'none'"),
        ({"remember": -1}, "remember: must be a number from 0"),
        ({"remember": 1.5}, "remember: must be a number from 0"),
        ({"max_body": True}, "max_body: must be a number from 1"),
        ({"read_timeout": float("inf")}, "read_timeout: must be a number from 0"),
        ({"read_timeout": "5"}, "read_timeout: must be a number from 0"),
        ({"cors": "*"}, r"cors: must be a list of origins, such as \['https://page.example'\], not '\*'"),
        ({"cors": [5]}, r"cors: must be a list of origins, such as \['https://page.example'\], not \[5\]"),
        ({"key": "secret"}, "key: is not a setting; the settings are upstream, annotations"),
    ],
    ids=str,
)
def test_a_wrong_setting_is_reported(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        RelayConfig.from_dict({"upstream": "https://a.example/v1", **settings})


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "* ",
        "page.example",
        "localhost:3000",
        "https://",
        "https://page.example/",
        "https://a/b",
        "https://*.page.example",
        "https://a.example?x",
        "https://a.example#",
        "https://me@a.example",
    ],
)
def test_what_no_browser_sends_is_refused(origin: str) -> None:
    with pytest.raises(ValueError, match=r"^cors: must be a list of origins"):
        RelayConfig(upstream="https://a.example", cors=("https://page.example", origin))


@pytest.mark.parametrize(
    "origin", ["*", "null", "http://localhost:3000", "https://a.example", "http://[::1]:80", "chrome-extension://abc"]
)
def test_what_a_browser_sends_is_an_origin(origin: str) -> None:
    assert RelayConfig(upstream="https://a.example", cors=(origin,)).cors == (origin,)


@pytest.mark.parametrize("config", ["https://a.example", None, {"upstream": "https://a.example"}], ids=str)
def test_what_is_not_a_configuration_is_refused(config: Any) -> None:
    with pytest.raises(TypeError, match=rf"^config: must be a RelayConfig, .* not {type(config).__name__}$"):
        create_app(config)


def test_settings_come_from_a_table() -> None:
    config = RelayConfig(upstream="https://a.example:8443/v1", cors=("*",), render="links", spacing="tidy")
    assert RelayConfig.from_dict(json.loads(config.to_json())) == config
    with pytest.raises(ValueError, match="upstream: must be given"):
        RelayConfig.from_dict({})
    with pytest.raises(ValueError, match="must be a table"):
        RelayConfig.from_dict(["upstream"])


@pytest.mark.parametrize(
    ("kind", "error", "message", "logged"),
    [
        (NoCuts, RelayCut("cut"), "", False),
        (NoCuts, CancelledError(), "", True),
        (NoNoise, RelayCut("cut"), "", False),
        (NoNoise, CancelledError(), "", False),
        (NoNoise, ValueError(), "", True),
        (NoNoise, None, "Unsupported upgrade request.", False),
        (NoNoise, None, "No supported WebSocket library detected.", False),
        (NoNoise, None, "", True),
    ],
)
def test_what_is_cut_on_purpose_leaves_no_trace(
    kind: Any, error: BaseException | None, message: str, logged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    log = logging.getLogger("uvicorn.error")
    before = list(log.filters)
    log.filters.clear()
    try:
        leave_out(kind)
        leave_out(kind)
        assert len(log.filters) == 1
        log.error(message, exc_info=error)
    finally:
        log.filters[:] = before
    assert bool(caplog.records) == logged
