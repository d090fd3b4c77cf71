"""From programs to native code; see ``DESIGN.md``."""

from __future__ import annotations

import time

#: When this process began to load these sources (Unix time): files changed later are not what runs.
LOADED = time.time()
