"""Mistakes in the use of a command, each reported with the way to its help."""

from __future__ import annotations

import click


def misuse(message: str) -> click.UsageError:
    """Make the error that reports a mistake in the use of the current command."""
    return click.UsageError(message, click.get_current_context())


def bad_value(option: str, message: str) -> click.BadParameter:
    """Make the error that reports a bad value of an option, such as ``--pace``."""
    return click.BadParameter(message, click.get_current_context(), param_hint=f"'{option}'")
