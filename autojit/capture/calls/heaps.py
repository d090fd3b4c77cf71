"""``heapq`` of traced numbers, and of tuples of them."""

from __future__ import annotations

from typing import Any

from autojit.capture import library
from autojit.staging import pytrees

from .scalars import any_traced
from .table import When, answers


def _in_python(original: Any) -> Any:
    def answer(call: Any, *args: Any, **kwargs: Any) -> Any:
        if any_traced(pytrees.flatten((args, kwargs))[0]):
            return call(library.HEAPS[original], *args, **kwargs)
        return original(*args, **kwargs)

    return answer


for _function in library.HEAPS:
    answers(_function, when=When.ALWAYS, calls=True)(_in_python(_function))
