"""The command ``streamcite``. It needs the extra: ``pip install "streamcite[cli]"``."""

from .report import report

__all__ = ["main"]

# What the extra brings, and what it brings in turn. Each is imported where it is used, so that any may be missing.
_EXTRA = {"click", "rich", "markdown_it", "starlette", "uvicorn", "openai"}


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
        if error.name is None or error.name.partition(".")[0] not in _EXTRA:
            raise
        report(f'{error.name} is not installed; this command needs it: pip install "streamcite[cli]"')
        return 2
    except KeyboardInterrupt:
        return 130
