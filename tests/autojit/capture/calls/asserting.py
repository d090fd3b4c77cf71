"""Functions with `assert`, in a file whose statements pytest leaves as they are."""

from __future__ import annotations

from typing import Any

import numpy as np


def checked_product(x: Any, y: Any) -> Any:
    assert np.allclose(x, y, rtol=1e-7, atol=0.0)
    return np.sum(x * y)
