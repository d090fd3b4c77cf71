"""Distances of the module ``scipy.spatial`` itself, in a norm of known order."""

from __future__ import annotations

from typing import Any

import numpy as np

from autojit.scipy.arguments import floating, known
from autojit.scipy.registry import answers

from .distance import cdist


@answers("scipy.spatial.minkowski_distance_p")
def minkowski_distance_p(x: Any, y: Any, p: Any = 2.0) -> Any:
    """The p-th power of the distance along the last axis; for an infinite p, the distance."""
    off, p = np.abs(floating(y) - floating(x)), float(known(p, "p", "minkowski_distance_p"))
    return np.max(off, axis=-1) if p == np.inf else np.sum(off**p, axis=-1)


@answers("scipy.spatial.minkowski_distance")
def minkowski_distance(x: Any, y: Any, p: Any = 2.0) -> Any:
    """The distance along the last axis.

    >>> from autojit import grad
    >>> from autojit.scipy.spatial import minkowski_distance
    >>> grad(lambda x: minkowski_distance(x, np.zeros(2)))(np.array([3.0, 4.0]))
    array([0.6, 0.8])
    """
    ord = float(known(p, "p", "minkowski_distance"))
    return np.linalg.norm(floating(y) - floating(x), ord=ord, axis=-1)


@answers("scipy.spatial.distance_matrix")
def distance_matrix(x: Any, y: Any, p: Any = 2.0, threshold: Any = 1000000) -> Any:
    """The distances between the rows of two matrices."""
    return cdist(x, y, "minkowski", p=float(known(p, "p", "distance_matrix")))
