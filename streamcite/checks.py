"""What several rooms require of their callers in the same words."""

from __future__ import annotations

from typing import Any, get_args


def check_choice(name: str, value: object, choices: Any) -> None:
    """Require one of the values of a ``Literal``.

    Args:
        name: the argument's, for the message.
        value: what was given.
        choices: the ``Literal``.

    Raises:
        ValueError: it is not one of them; the message lists them.
    """
    allowed = get_args(choices)
    if value not in allowed:
        raise ValueError(f"{name}: must be one of {', '.join(map(repr, allowed))}, not {value!r}")


def missing(error: ModuleNotFoundError, user: str, extra: str) -> ModuleNotFoundError:
    """Make the error that says which extra brings a package that is not installed.

    Args:
        error: what its import raised.
        user: what needs the package.
        extra: the extra of streamcite.
    """
    message = f'{error.name} is not installed; {user} needs it: pip install "streamcite[{extra}]"'
    return ModuleNotFoundError(message, name=error.name)
