"""When this process began to load the compiler."""

from __future__ import annotations

import time

#: Unix time: source files that were changed later are not what runs.
LOADED = time.time()
