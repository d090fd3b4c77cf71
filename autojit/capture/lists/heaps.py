"""Functions of `heapq` in Python, which are captured like functions of the user's.

They follow the source of `heapq`.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Any

from .library import is_less


def heappush(heap: list[Any], item: Any) -> None:
    """``heapq.heappush``."""
    heap.append(item)
    sift_down(heap, 0, len(heap) - 1)


def heappop(heap: list[Any]) -> Any:
    """``heapq.heappop``."""
    last = heap.pop()
    if heap:
        found = heap[0]
        heap[0] = last
        sift_up(heap, 0)
    else:
        found = last
    return found


def heapreplace(heap: list[Any], item: Any) -> Any:
    """``heapq.heapreplace``."""
    found = heap[0]
    heap[0] = item
    sift_up(heap, 0)
    return found


def heappushpop(heap: list[Any], item: Any) -> Any:
    """``heapq.heappushpop``."""
    if heap and is_less(heap[0], item):
        item, heap[0] = heap[0], item
        sift_up(heap, 0)
    return item


def heapify(heap: list[Any]) -> None:
    """``heapq.heapify``."""
    for place in range(len(heap) // 2 - 1, -1, -1):
        sift_up(heap, place)


def sift_down(heap: list[Any], start: Any, place: Any) -> None:
    """``heapq._siftdown``."""
    item = heap[place]
    while place > start:
        above = (place - 1) // 2
        parent = heap[above]
        if not is_less(item, parent):
            break
        heap[place] = parent
        place = above
    heap[place] = item


def sift_up(heap: list[Any], place: Any) -> None:
    """``heapq._siftup``."""
    end = len(heap)
    start = place
    item = heap[place]
    child = 2 * place + 1
    while child < end:
        right = child + 1
        if right < end and not is_less(heap[child], heap[right]):
            child = right
        heap[place] = heap[child]
        place = child
        child = 2 * place + 1
    heap[place] = item
    sift_down(heap, start, place)


def nsmallest(n: int, iterable: Iterable[Any], key: Any = None) -> list[Any]:
    """``heapq.nsmallest``."""
    return sorted(iterable, key=key)[:n]


def nlargest(n: int, iterable: Iterable[Any], key: Any = None) -> list[Any]:
    """``heapq.nlargest``."""
    return sorted(iterable, key=key, reverse=True)[:n]


#: These functions, by the functions that they stand for.
HEAPS: dict[Any, Callable[..., Any]] = {
    heapq.heappush: heappush, heapq.heappop: heappop, heapq.heapreplace: heapreplace,
    heapq.heappushpop: heappushpop, heapq.heapify: heapify, heapq.nsmallest: nsmallest,
    heapq.nlargest: nlargest,
}  # fmt: skip
