"""Which headers pass a relay. Pure.

Source: RFC 9110, section 7.6.1 (what is of one connection alone), and section 6.4 (framing).
"""

from __future__ import annotations

from collections.abc import Iterable

Header = tuple[bytes, bytes]

# What is of one connection; what its user does not mean for another host; and what the relay says itself.
_HOPS = frozenset({
    b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"proxy-connection", b"te", b"trailer",
    b"transfer-encoding", b"upgrade", b"expect", b"host", b"alt-svc", b"http2-settings",
})  # fmt: skip
# What says of a body how long it is, how it is encoded, or what its digest is.
_OF_BODY = frozenset({
    b"content-length", b"content-encoding", b"content-md5", b"content-digest", b"digest", b"repr-digest", b"etag",
    b"accept-ranges", b"content-range", b"signature", b"signature-input",
})  # fmt: skip
FINDINGS = b"x-streamcite-findings"


def _passing(headers: Iterable[Header]) -> list[Header]:
    given = [(name.lower(), value) for name, value in headers]
    named = {each.strip() for name, value in given if name == b"connection" for each in value.lower().split(b",")}
    return [header for header in given if header[0] not in _HOPS and header[0] not in named]


def to_upstream(headers: Iterable[Header], *, cleaned: bool, length: int | None = None) -> list[Header]:
    """Give the headers of a request as the upstream gets them.

    Args:
        headers: those of the client.
        cleaned: whether the answer is cleaned, and so must come without an encoding.
        length: that of the body, if it was read; else it has that of the client's.
    """
    sent = [header for header in _passing(headers) if header[0] != FINDINGS]
    if cleaned:
        without = {b"accept-encoding", b"range", b"if-none-match", b"if-range"}
        sent = [header for header in sent if header[0] not in without] + [(b"accept-encoding", b"identity")]
    if length is not None:
        without = {b"content-length", b"content-md5", b"content-digest", b"digest", b"repr-digest"}
        sent = [header for header in sent if header[0] not in without] + [(b"content-length", b"%d" % length)]
    return sent


def to_client(headers: Iterable[Header], *, cleaned: bool, cors: bool = False) -> list[Header]:
    """Give the headers of an answer as the client gets them.

    Args:
        headers: those of the upstream.
        cleaned: whether the body may not be the same, so that what describes it goes.
        cors: whether the relay says itself which web pages may read it.
    """
    return [
        (name, value)
        for name, value in _passing(headers)
        if not (cleaned and name in _OF_BODY) and not (cors and name.startswith(b"access-control-"))
    ]


def stream_headers(headers: list[Header]) -> list[Header]:
    """Add what keeps a stream from being kept and gathered on its way, where nothing is said of it."""
    known = {name for name, _ in headers}
    usual = [(b"cache-control", b"no-cache"), (b"x-accel-buffering", b"no")]
    return headers + [header for header in usual if header[0] not in known]


def value_of(headers: Iterable[Header], name: bytes) -> bytes:
    """Give the value of a header, empty if there is none; of several the first."""
    return next((value for each, value in headers if each.lower() == name), b"")


def length_conflict(headers: Iterable[Header]) -> bool:
    """Say whether a request gives its length in more than one way, as what smuggles another one in does."""
    names = [name.lower() for name, _ in headers]
    lengths = names.count(b"content-length")
    return lengths > 1 or names.count(b"transfer-encoding") > 1 or (lengths == 1 and b"transfer-encoding" in names)
