"""What Python's operators and NumPy's protocols call (``array_methods``)."""

from __future__ import annotations

from autojit.protocols.registry import call_function
from autojit.protocols.ufuncs import call_operator, call_ufunc, call_unary_operator
from autojit.tracing.array_hooks import hooks

hooks.call_ufunc = call_ufunc
hooks.call_function = call_function
hooks.call_operator = call_operator
hooks.call_unary_operator = call_unary_operator
