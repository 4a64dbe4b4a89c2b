"""What a relay reads of a request: where it goes, which of its headers pass, what it shows and what it sends back."""

import json
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamcite import Sources, render_blocks
from streamcite.annotations import DETAILS
from streamcite.relay.after import from_the_beginning
from streamcite.relay.asked import read_request
from streamcite.relay.headers import length_conflict, stream_headers, to_client, to_upstream, value_of
from streamcite.relay.memory import MAX_TEXT, Memory
from streamcite.relay.target import Target, join, target_of
from streamcite.sse import encode_json
from tests.markers import MARKER

# Where a request goes


@pytest.mark.parametrize(
    ("prefix", "path", "sent"),
    [
        ("/v1", "/v1/chat/completions", "/v1/chat/completions"),
        ("/v1", "/chat/completions", "/v1/chat/completions"),
        ("/v1/", "/v1/models", "/v1/models"),
        ("/api/v1", "/v1/models", "/api/v1/models"),
        ("/api/v1", "/api/v1/models", "/api/v1/models"),
        ("/api/v1", "/models", "/api/v1/models"),
        ("/v1", "/v1", "/v1"),
        ("/v1", "/v10/models", "/v1/v10/models"),
        ("/", "/openai/deployments/x/chat/completions", "/openai/deployments/x/chat/completions"),
        ("", "//evil.example/x", "//evil.example/x"),
    ],
)
def test_the_path_of_the_upstream_stands_before_that_of_the_request_once(prefix: str, path: str, sent: str) -> None:
    assert join(prefix, path) == sent


@pytest.mark.parametrize(
    ("method", "path", "api", "asks"),
    [
        ("POST", "/v1/chat/completions", "chat", True),
        ("POST", "/v1/chat/completions/", "chat", True),
        ("POST", "/openai/deployments/gpt/chat/completions", "chat", True),
        ("POST", "/api/v1/responses", "responses", True),
        ("GET", "/v1/responses/resp_1", "responses", False),
        ("GET", "/v1/chat/completions/chatcmpl-1", "chat", False),
        ("GET", "/v1/chat/completions", None, False),
        ("GET", "/v1/responses/resp_1/input_items", None, False),
        ("DELETE", "/v1/responses/resp_1", None, False),
        ("POST", "/v1/responses/resp_1/cancel", None, False),
        ("POST", "/v1/embeddings", None, False),
        ("POST", "/v1/xchat/completions", None, False),
        ("HEAD", "/v1/responses", None, False),
    ],
)
def test_which_answers_are_cleaned(method: str, path: str, api: Any, asks: bool) -> None:
    assert target_of(method, path, "") == Target(path, api, asks)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "*",
        "v1/x",
        "@evil.example",
        "/v1/../admin",
        "/v1/%2e%2E/admin",
        "/v1/.%2e/x",
        "/./x",
        "/v1\\..\\x",
        "/..",
        "/v1/..%2fadmin",
        "/v1/a%2F..%2Fadmin",
        "/v1/%2e%2e%2Fadmin",
        "/v1/..%5cadmin",
        "/v1/%5C../x",
        "/v1/..;/admin",
        "/v1/..;a=b/admin",
        "/v1/..%3Ba/admin",
        "/v1%2f..",
    ],
)
def test_a_malformed_path_or_one_that_leads_out_goes_nowhere(path: str) -> None:
    assert target_of("POST", path, "/v1") is None


@given(
    st.lists(st.sampled_from(["v1", "api", "a", ".", "%2e", "%2E", "/", "%2f", "%2F", "%5c", ";", "%3b"]), max_size=12)
)
def test_no_path_leads_out_of_the_prefix(pieces: list[str]) -> None:
    target = target_of("GET", "/" + "".join(pieces), "/api/v1")
    if target is not None:
        assert target.path.startswith("/api/v1")
        read = unquote(target.path).replace("\\", "/")  # as servers do that take all for what it may mean
        assert not {".", ".."} & {segment.partition(";")[0] for segment in read.split("/")}


@pytest.mark.parametrize("path", ["/v1/models/org%2Fname", "/v1/a%5Cb", "/v1/...", "/v1/a..b;c", "/v1/..a", "/v1//x"])
def test_dots_and_escapes_that_lead_nowhere_pass(path: str) -> None:
    assert target_of("GET", path, "/v1") == Target(path, None, asks=False)


# Headers


GIVEN = [
    (b"Connection", b"keep-alive, X-Hop"), (b"X-Hop", b"1"), (b"Keep-Alive", b"5"), (b"TE", b"trailers"),
    (b"Transfer-Encoding", b"chunked"), (b"Upgrade", b"h2c"), (b"Authorization", b"Bearer key"), (b"X-Own", b"1"),
    (b"X-Own", b"2"), (b"Accept-Encoding", b"gzip"), (b"Host", b"relay"), (b"Content-Length", b"5"),
    (b"Content-Digest", b"x"), (b"ETag", b"y"), (b"Access-Control-Allow-Origin", b"*"), (b"Cookie", b"a=b"),
    (b"Set-Cookie", b"a=b"), (b"Content-Encoding", b"gzip"), (b"X-Streamcite-Findings", b"1"), (b"Range", b"bytes=0-"),
]  # fmt: skip


def test_what_is_of_one_connection_stays_and_all_else_passes() -> None:
    own = [(b"x-own", b"1"), (b"x-own", b"2")]
    sent = to_upstream(GIVEN, cleaned=False)
    assert [header for header in sent if header[0] == b"x-own"] == own
    names = {name for name, _ in sent}
    assert names >= {b"authorization", b"cookie", b"accept-encoding", b"content-length", b"content-digest", b"range"}
    hops = {b"connection", b"x-hop", b"keep-alive", b"te", b"transfer-encoding", b"upgrade", b"host"}
    assert not names & {*hops, b"x-streamcite-findings"}
    assert {name for name, _ in to_client(GIVEN, cleaned=False)} == (names | {b"x-streamcite-findings"})


def test_what_describes_a_body_goes_with_it() -> None:
    sent = to_upstream(GIVEN, cleaned=True, length=7)
    assert sent.count((b"accept-encoding", b"identity")) == sent.count((b"content-length", b"7")) == 1
    assert not {(b"accept-encoding", b"gzip"), (b"content-length", b"5")} & {*sent}
    assert not {b"content-digest", b"range"} & {name for name, _ in sent}
    given_back = {name for name, _ in to_client(GIVEN, cleaned=True, cors=True)}
    assert not given_back & {b"content-length", b"content-digest", b"etag", b"content-encoding"}
    assert not any(name.startswith(b"access-control") for name in given_back)
    assert b"set-cookie" in given_back


def test_a_stream_is_neither_kept_nor_gathered_on_its_way() -> None:
    usual = [(b"cache-control", b"no-cache"), (b"x-accel-buffering", b"no")]
    assert stream_headers([]) == usual
    assert stream_headers([(b"cache-control", b"private")]) == [(b"cache-control", b"private"), usual[1]]


@pytest.mark.parametrize(
    ("headers", "conflict"),
    [
        ([b"content-length"], False),
        ([b"transfer-encoding"], False),
        ([b"Content-Length", b"content-length"], True),
        ([b"content-length", b"Transfer-Encoding"], True),
        ([b"transfer-encoding", b"transfer-encoding"], True),
    ],
)
def test_a_length_that_is_given_twice(headers: list[bytes], conflict: bool) -> None:
    assert length_conflict([(name, b"5") for name in headers]) is conflict


def test_the_value_of_a_header_that_is_there_or_not() -> None:
    assert (value_of(GIVEN, b"x-own"), value_of(GIVEN, b"none")) == (b"1", b"")


# What a request shows and sends back


SOURCES = Sources()
SOURCES.add_block("Open from nine to five.", title="Hours", url="https://example.org/hours")
SHOWN = str(render_blocks(SOURCES))


@pytest.mark.parametrize(
    ("api", "value"),
    [
        ("chat", {"messages": [{"role": "system", "content": SHOWN}]}),
        ("chat", {"messages": [{"role": "user", "content": [{"type": "text", "text": SHOWN}]}]}),
        ("chat", {"messages": [{"role": "tool", "content": SHOWN}]}),
        ("responses", {"input": [{"role": "developer", "content": [{"type": "input_text", "text": SHOWN}]}]}),
        ("responses", {"input": [{"type": "function_call_output", "output": SHOWN}]}),
        ("responses", {"input": [], "instructions": SHOWN}),
    ],
)
def test_sources_are_read_from_the_messages(api: Any, value: Any) -> None:
    body = json.dumps(value).encode()
    asked = read_request(api, body)
    assert asked.body is body
    assert asked.sources is not None
    assert {id: (each.title, each.url, each.text) for id, each in asked.sources.items()} == {
        "block1": ("Hours", "https://example.org/hours", "Open from nine to five.")
    }


@pytest.mark.parametrize(
    "body",
    [
        *(
            b"",
            b"{",
            b"[1]",
            b"5",
            b"\xff",
            b'{"messages": 5}',
            b'{"messages": []}',
            b'{"input": "text"}',
            b"[" * 100_000,
        ),
        *(b'{"messages": [5, null, {"role": 1}]}', b'{"messages": [{"role": "assistant", "content": 5}]}'),
    ],
)
def test_what_shows_nothing_passes_as_it_is(body: bytes) -> None:
    for api in ("chat", "responses"):
        asked = read_request(api, body, lambda shown: shown)
        assert asked.body is body
        assert (asked.sources, asked.restored) == (None, 0)


def test_earlier_answers_get_back_their_markers() -> None:
    raw = {"Yes.": f"Yes.{MARKER}", "No.": f"No.{MARKER}"}
    part: Any = {
        "type": "output_text",
        "text": "No.",
        "annotations": [{"type": "file_citation", DETAILS: {}}, {"a": 1}],
    }
    messages: Any = [
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "Yes."},
        {"role": "assistant", "content": [part, {"type": "refusal", "refusal": "No."}, "No."]},
        {"role": "assistant", "content": "Other."},
    ]
    body = json.dumps({"input": messages, "model": "any"}).encode()
    asked = read_request("responses", body, lambda shown: raw.get(shown, shown))
    messages[0]["content"] = raw["Yes."]
    part |= {"text": raw["No."], "annotations": [{"a": 1}]}
    assert json.loads(asked.body) == {"input": messages, "model": "any"}
    assert asked.restored == 2


def test_annotations_of_a_relay_are_not_sent_back_in_any_case() -> None:
    part: Any = {"type": "output_text", "text": "No.", "annotations": [{"type": "file_citation", DETAILS: {}}]}
    asked = read_request("responses", json.dumps({"input": [{"role": "assistant", "content": [part]}]}).encode())
    assert json.loads(asked.body)["input"][0]["content"][0]["annotations"] == []


def test_a_memory_keeps_the_last_for_their_owner() -> None:
    memory = Memory(2)
    memory.keep(b"me", "One.\n", "One.\ue200")
    assert memory.restore(b"me", "One.") == memory.restore(b"me", " One.") == "One.\ue200"
    assert memory.restore(b"you", "One.") == "One."
    memory.keep(b"me", "Two.", "Two.\ue200")
    memory.keep(b"me", "same", "same")
    memory.keep(b"me", " ", " \ue200")
    memory.keep(b"me", "long", "\ue200" * (MAX_TEXT + 1))
    assert len(memory) == 2
    assert memory.restore(b"me", "One.") == "One.\ue200"  # now used after the other
    memory.keep(b"me", "Three.", "Three.\ue200")
    assert [memory.restore(b"me", text) for text in ("One.", "Two.", "Three.")] == [
        "One.\ue200",
        "Two.",
        "Three.\ue200",
    ]
    nothing = Memory(0)
    nothing.keep(b"me", "One.", "One.\ue200")
    assert len(nothing) == 0
    assert nothing.restore(b"me", "One.") == "One."


@pytest.mark.parametrize(
    ("query", "rest"),
    [
        (b"stream=true&starting_after=5", b"stream=true"),
        (b"starting_after=5&stream=true", b"stream=true"),
        (b"starting_after=5", b""),
        (b"a=1&starting_after=5&b=2", b"a=1&b=2"),
    ],
)
def test_a_stream_is_asked_for_from_its_beginning(query: bytes, rest: bytes) -> None:
    left, after = from_the_beginning(query)
    assert left == rest
    assert after is not None
    frames = [encode_json({"sequence_number": number}, event="any") for number in range(9)]
    odd = [b"data: {bad\n\n", b"data: [DONE]\n\n", b'data: {"sequence_number":"1"}\n\n', b"data: 5\n\n"]
    data = b"".join([*frames[:3], *odd, *frames[3:]])
    assert b"".join(after.feed(data[at : at + 7]) for at in range(0, len(data), 7)) == b"".join([*odd, *frames[6:]])


@pytest.mark.parametrize("query", [b"", b"stream=true", b"starting_after=", b"starting_after=x", b"xstarting_after=5"])
def test_another_query_passes_as_it_is(query: bytes) -> None:
    assert from_the_beginning(query) == (query, None)
