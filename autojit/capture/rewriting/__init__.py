"""From a function to its twin: source text, syntax tree, rewritten tree, function.

In the twin each construct (``if``, ``while``, ``for``, ``and``, a call, ``x[i]``) is a call of a
runtime, which decides at run time what the construct does. ``PlainRuntime`` does what Python does.
"""

from .context import Site
from .plain import PlainRuntime
from .twins import is_twin_code, reason_against, twin_of

__all__ = ["PlainRuntime", "Site", "is_twin_code", "reason_against", "twin_of"]
