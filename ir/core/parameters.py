"""Parameters of ops are Python numbers, which have a textual form, not NumPy numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Types of parameters that are kept as they are.
_STATIC = frozenset({int, bool, str, float, complex, type(None)})


def plain(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters with NumPy numbers replaced by Python numbers.

    >>> from autojit.ir.core.parameters import plain
    >>> plain({"axes": (np.int64(1),), "value": np.float64(0.5)})
    {'axes': (1,), 'value': 0.5}
    """
    if _may_hold_numpys(params):
        return {name: _plain(value) for name, value in params.items()}
    return params


def _may_hold_numpys(params: dict[str, Any]) -> bool:
    """Whether there may be NumPy numbers: a quick check, because every op makes it."""
    for value in params.values():
        kind = value.__class__
        if kind is tuple:
            for item in value:
                if item.__class__ not in _STATIC:
                    return True
        elif kind not in _STATIC and isinstance(value, np.generic):
            return True
    return False


def _plain(value: Any) -> Any:
    if type(value) is tuple:
        return tuple(map(_plain, value))
    return value.item() if isinstance(value, np.generic) else value
