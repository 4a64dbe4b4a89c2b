"""An OpenAI-compatible server with recorded answers, for tests without a network and for the demo.

It needs the extra: ``pip install "streamcite[testing]"``.

    with serve() as server:
        client = OpenAI(base_url=server.base_url, api_key="any")
        client.chat.completions.create(model="english", messages=[...], stream=True)
        client.responses.create(model="english", input="...", stream=True)

It speaks chat completions and the Responses API; `serve` says how far.
"""

from streamcite.checks import missing

from .recorded import RecordedAnswer, recorded_answers
from .tokens import token_deltas

try:
    from .server import Server, serve
except ModuleNotFoundError as _error:
    if _error.name not in {"starlette", "uvicorn"}:
        raise
    raise missing(_error, "streamcite.testing", "testing") from _error

__all__ = ["RecordedAnswer", "Server", "recorded_answers", "serve", "token_deltas"]
