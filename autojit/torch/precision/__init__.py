"""Tensors of half precision, and where operations make them."""

from .autocasting import casting, lowered
from .half import HALVES, HalfTensor, to_half, to_single

__all__ = ["HALVES", "HalfTensor", "casting", "lowered", "to_half", "to_single"]
