"""What `serve` and `relay` say where they cannot listen."""

from __future__ import annotations

import click


def cannot_listen(host: str, port: int, error: OSError) -> click.ClickException:
    """Make the error that says why there is no server at an address."""
    reason = (error.strerror or str(error)).partition(" (while attempting")[0]  # which says again where
    return click.ClickException(f"cannot listen on {host}, port {port}: {reason}")
