"""The relay in several processes: uvicorn's supervisor of them."""

from __future__ import annotations

import inspect
import socket
from typing import Any

import uvicorn
from uvicorn.supervisors import Multiprocess


class Workers(Multiprocess):
    """Processes that serve, which are started again where they die."""

    def __init__(self, settings: uvicorn.Config, listener: socket.socket) -> None:
        # Older versions must be told what each process runs.
        has_target = "target" in inspect.signature(Multiprocess).parameters
        target: dict[str, Any] = {"target": uvicorn.Server(settings).run} if has_target else {}
        super().__init__(settings, sockets=[listener], **target)
        self._interrupted = False

    def handle_int(self) -> None:
        """Let the processes end."""
        super().handle_int()
        self._interrupted = True

    def run(self) -> None:
        """Serve until the processes are told to end.

        Raises:
            KeyboardInterrupt: by an interrupt, as a server in one process raises it.
        """
        super().run()
        if self._interrupted:
            raise KeyboardInterrupt
