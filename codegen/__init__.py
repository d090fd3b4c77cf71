"""From programs to native code; see ``DESIGN.md``."""

from __future__ import annotations

import time

#: When this process began to load these sources (Unix time): files changed later are not what runs.
LOADED = time.time()

from .loop_ir import machine as _machine  # noqa: E402, F401 - programs are made for this machine  # noqa: E402, F401 - programs are made for this machine
