"""Shared code for workloads that sort: a function of sorted numbers, and an argsort by radix sort
for hand-written Numba.

Numba's own `argsort` compares one pair at a time. Here the upper half of a number's bits and its
place form one word, and three passes over eleven bits each sort the words; see D. Knuth, "The Art
of Computer Programming", volume 3, 5.2.5. Numbers that are still out of order agree in these bits;
an insertion sort moves them, by few places unless many numbers differ only in their lower halves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.workload import Function

OPTIONS = {"error_model": "numpy"}
DIGITS = 1 << 11
SHIFTS = (32, 43, 54)  # of the digits in the upper half of a word; the last digit has ten bits
_MASK = np.uint64(DIGITS - 1)
_SIGN, _EVERY = np.uint64(1 << 63), np.uint64((1 << 64) - 1)
_UPPER, _LOWER = np.uint64(0xFFFFFFFF00000000), np.uint64(0xFFFFFFFF)


def sort_primal(np: Any, special: Any) -> Function:
    """A sum of sorted elements, weighted by their rank along the last axis, from 1 / n to 1."""

    def loss(x):
        ranks = np.arange(1, x.shape[-1] + 1) / x.shape[-1]
        return np.sum(ranks * np.sort(x) ** 2)

    return loss


def torch_sort(torch: Any) -> Function:
    def loss(x):
        ranks = torch.arange(1, x.shape[-1] + 1, dtype=x.dtype) / x.shape[-1]
        return torch.sum(ranks * torch.sort(x).values ** 2)

    return loss


def pytensor_sort(extent: int) -> Any:
    """A version for PyTensor, which does not know the extent of the last axis."""

    def make(pt: Any) -> Function:
        def loss(x):
            ranks = pt.arange(1, extent + 1) / extent
            return pt.sum(ranks * pt.sort(x) ** 2)

        return loss

    return make


def numba_order(numba: Any) -> Function:
    """`order(x)` returns the argsort of a float64 array, and the sorted elements.

    The array must have no NaN, and less than 2^32 elements.
    """
    packed, sorted_by_digit, inserted = _packed(numba), _sorted_by_digit(numba), _inserted(numba)

    def order(x):
        # NumPy asks for huge pages for its arrays, Numba's own `empty` does not.
        words, other = np.empty(x.size, np.uint64), np.empty(x.size, np.uint64)
        packed(x, words)
        for shift in SHIFTS:
            sorted_by_digit(words, other, np.uint64(shift))
            words, other = other, words
        places, ordered = other.view(np.int64), np.empty_like(x)
        inserted(x, words, places, ordered)
        return places, ordered

    return order


def _packed(numba: Any) -> Function:
    @numba.njit(parallel=True, **OPTIONS)
    def packed(x, words):
        """Fill words with bits that sort as integers like the numbers, and places in the lower
        half."""
        bits = x.view(np.uint64)
        for i in numba.prange(x.size):
            flipped = bits[i] ^ (_EVERY if bits[i] & _SIGN else _SIGN)
            words[i] = (flipped & _UPPER) | np.uint64(i)

    return packed


def _sorted_by_digit(numba: Any) -> Function:
    @numba.njit(parallel=True, **OPTIONS)
    def sorted_by_digit(words, result, shift):
        """Sort by one digit: each thread counts its words, and so knows where to write them."""
        shares, size = numba.get_num_threads(), words.size
        starts = np.zeros((shares, DIGITS), np.int64)
        for k in numba.prange(shares):
            counts = starts[k]
            for i in range(size * k // shares, size * (k + 1) // shares):
                counts[(words[i] >> shift) & _MASK] += 1
        total = 0
        for digit in range(DIGITS):
            for k in range(shares):
                count = starts[k, digit]
                starts[k, digit] = total
                total += count
        for k in numba.prange(shares):
            free = starts[k]
            for i in range(size * k // shares, size * (k + 1) // shares):
                digit = (words[i] >> shift) & _MASK
                result[free[digit]] = words[i]
                free[digit] += 1

    return sorted_by_digit


def _inserted(numba: Any) -> Function:
    @numba.njit(**OPTIONS)
    def inserted(x, words, order, ordered):
        """Sort numbers completely that are already sorted by their upper halves."""
        for i in range(x.size):
            place = np.int64(words[i] & _LOWER)
            value, at = x[place], i
            while at > 0 and ordered[at - 1] > value:
                order[at], ordered[at] = order[at - 1], ordered[at - 1]
                at -= 1
            order[at], ordered[at] = place, value

    return inserted
