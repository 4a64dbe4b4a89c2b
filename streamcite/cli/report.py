"""What the command says to its user, on standard error."""

import sys
from contextlib import suppress

# Enough for any sentence; a message may quote what another program sent.
_LONGEST = 500  # code points


def report(message: str) -> None:
    """Print one line on standard error, whatever the message quotes: a file's name, a server's answer."""
    line = " ".join(message.split())
    shown = "".join(character if character.isprintable() else ascii(character)[1:-1] for character in line)
    if len(shown) > _LONGEST:
        shown = shown[:_LONGEST] + "..."
    # Without standard error nothing can be reported.
    if sys.stderr is not None:
        with suppress(OSError):
            print(f"streamcite: {shown}", file=sys.stderr, flush=True)
