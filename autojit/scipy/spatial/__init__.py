"""``scipy.spatial`` for traced arrays."""

from . import distance
from .norms import distance_matrix, minkowski_distance, minkowski_distance_p

__all__ = ["distance", "distance_matrix", "minkowski_distance", "minkowski_distance_p"]
