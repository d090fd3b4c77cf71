"""NumPy's namespace, for those who prefer an import of their own.

``import numpy as np`` works as well: each name here is NumPy's.

>>> from autojit import grad
>>> import autojit.numpy as np
>>> grad(lambda x: np.sum(x ** 2))(np.array([1.0, 2.0]))
array([2., 4.])
"""

from __future__ import annotations

from typing import Any

import numpy


def __getattr__(name: str) -> Any:
    # Looked up each time: while a function is traced, some names are replaced.
    return getattr(numpy, name)


def __dir__() -> list[str]:
    return dir(numpy)


__all__ = numpy.__all__
