"""Clients of the openai package for a server on the loopback, which ask once."""

import ssl
from typing import Any

from openai import DEFAULT_CONNECTION_LIMITS, AsyncOpenAI, DefaultAsyncHttpxClient, DefaultHttpxClient, OpenAI, Timeout

from tests.processes import PATIENCE

# One for all clients: each would make its own, which takes longer than most tests run.
TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
# A connection that somebody still holds is missed by the next request.
ONE: Any = type(DEFAULT_CONNECTION_LIMITS)(max_connections=1, keepalive_expiry=PATIENCE)
ANY: Any = {"api_key": "any", "max_retries": 0, "timeout": Timeout(PATIENCE, pool=5)}


def new_client(base_url: str, *, timeout: Any = ANY["timeout"], **http: Any) -> OpenAI:
    """Make a client; `http` goes to its HTTP client."""
    return OpenAI(base_url=base_url, http_client=DefaultHttpxClient(verify=TLS, **http), **{**ANY, "timeout": timeout})


def new_async_client(base_url: str, *, timeout: Any = ANY["timeout"], **http: Any) -> AsyncOpenAI:
    """Make an asynchronous client in the same way."""
    http_client = DefaultAsyncHttpxClient(verify=TLS, **http)
    return AsyncOpenAI(base_url=base_url, http_client=http_client, **{**ANY, "timeout": timeout})
