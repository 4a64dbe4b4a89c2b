"""The command ``streamcite``. It needs the extra: ``pip install "streamcite[cli]"``."""

import sys

from .report import report

__all__ = ["main"]

# The extras that a command needs beside what all do.
_OF_COMMANDS = {"ask": "ask", "relay": "cli,relay", "serve": "serve"}
# What the extras bring, and what these bring in turn. Each is imported where it is used, so that any may be missing.
_OF_PACKAGES = {
    **dict.fromkeys(["click", "rich", "markdown_it", "starlette", "uvicorn", "openai"], "cli"),
    **dict.fromkeys(["bs4", "lxml", "markdownify", "pypdfium2"], "ask"),
    **dict.fromkeys(["aiohttp", "prometheus_client", "httptools", "yarl"], "relay"),
}


def main() -> int:
    """Run the command with the arguments of this process.

    Returns:
        The exit status: 0 for done, 1 where ``check`` has found something, 2 for bad use or input or a failure (one
        line on standard error says which), 130 for interrupted, 141 where the reader of the output has gone.
    """
    try:
        from .commands import run

        return run()
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if (extra := _OF_PACKAGES.get(package)) is None:
            raise
        extra = _OF_COMMANDS.get("".join(sys.argv[1:2]), extra)
        report(f'{package} is not installed; this command needs it: pip install "streamcite[{extra}]"')
        return 2
    except KeyboardInterrupt:
        return 130
