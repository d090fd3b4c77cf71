"""Ops with bodies: loops, branches, checkpoints, custom derivatives, implicit functions.

Importing this package declares them.
"""

from . import checkpoint, custom, implicit, scan, switch, while_

__all__ = ["checkpoint", "custom", "implicit", "scan", "switch", "while_"]
