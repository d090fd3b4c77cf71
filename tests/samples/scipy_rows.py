"""The rows of the tables of SciPy's functions.

The function of a row is plain SciPy, by SciPy's own names: with plain arguments it gives the
reference, and with traced ones autojit's result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Row:
    """One row; the other fields describe its accuracy.

    ``rtol``, ``atol``  how far values may differ from SciPy's
    ``dtol``            how far forward derivatives may differ from differences
    ``compiled``        whether it is compiled as well
    ``flat``            its differences are no derivatives, because it has jumps
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    rtol: float = 1e-9
    atol: float = 1e-10
    dtol: float = 2e-6
    compiled: bool = False
    flat: bool = False


def row(name: str, function: Callable[..., Any], *arguments: Any, **settings: Any) -> Row:
    """A row of arrays; integers become floats."""
    arrays = [np.asarray(a) for a in arguments]
    floats = tuple(a if a.dtype.kind == "c" else a.astype(float) for a in arrays)
    return Row(name, function, floats, **settings)
