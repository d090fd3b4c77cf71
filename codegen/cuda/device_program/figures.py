"""Figures of a card, for estimates: those of an A100.

NVIDIA's whitepaper (2020) has 1.41 GHz and 1.555 TB/s; a launch takes 2 us (see
``mapping/machine.py``).  Other cards have more of everything, so both sides of a comparison scale.
"""

from __future__ import annotations

#: Cycles per second, and bytes of memory per second.
CYCLES, BANDWIDTH = 1.41e9, 1.555e12
#: Seconds of a launch; a library call costs one more on the host, as it splits a table of launches.
LAUNCH = 2e-6
