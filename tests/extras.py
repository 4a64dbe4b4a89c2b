"""What each extra is for: ``python tests/extras.py EXTRA`` imports that, in an environment with the extra alone.

Without an extra it imports what needs none. Whatever else cannot be imported must lack a package of some extra.
"""

import sys
from importlib import import_module
from pkgutil import walk_packages

import streamcite

NEEDS = {
    "": [
        "ask", "choose", "history", "material", "openai", "relay", "render.markdown", "render.plain", "resolve",
        "spacing", "sse", "ui.ai_sdk", "ui.langchain", "ui.openai_chat", "ui.openai_responses", "ui.response",
        "ui.resumable",
    ],
    "ask": ["cli.answering", "files"],
    "cli": ["cli.commands", "cli.demo", "render.terminal", "testing"],
    "markdown": ["lint.markdown", "markdown.leaves", "render.html", "render.live", "ui.native"],
    "redis": ["ui.redis_store"],
    "relay": ["relay.app", "relay.serve"],
    "serve": ["cli.serving", "serve.app", "serve.server"],
    "testing": ["testing"],
}  # fmt: skip
PACKAGES = {
    "aiohttp", "bs4", "click", "httptools", "lxml", "markdown_it", "markdownify", "prometheus_client", "pypdfium2",
    "redis", "rich", "starlette", "uvicorn", "yarl",
}  # fmt: skip


def main(extra: str) -> None:
    """Import all that an extra is for, and see that the rest lacks nothing else than packages of extras."""
    for name in NEEDS[extra]:
        import_module(f"streamcite.{name}")
    for module in walk_packages(streamcite.__path__, "streamcite.", onerror=lambda _: None):
        try:
            import_module(module.name)
        except ModuleNotFoundError as error:
            if error.name not in PACKAGES:
                raise


if __name__ == "__main__":
    main(*sys.argv[1:] or [""])
