"""The relay that the soak loads: ``python -m benchmarks.left_running.relayed UPSTREAM SILENCE``. It prints its port.

SILENCE is after how many seconds an upstream that sends nothing counts as gone.
"""

from __future__ import annotations

import sys

from streamcite.relay.app import create_app
from streamcite.relay.config import RelayConfig

from .at_rest import AtRest, serve

if __name__ == "__main__":
    serve(AtRest(create_app(RelayConfig(upstream=sys.argv[1], read_timeout=float(sys.argv[2])))))
