"""``heapq`` on traced numbers and on tuples of them."""

from __future__ import annotations

from typing import Any

from autojit.capture.lists import heaps
from autojit.capture.values.scalars import any_traced
from autojit.capture.values.table import When, answers
from autojit.staging import pytrees


def _in_python(original: Any) -> Any:
    def answer(call: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("key") is not None or any_traced(pytrees.flatten((args, kwargs))[0]):
            return call(heaps.HEAPS[original], *args, **kwargs)
        return original(*args, **kwargs)

    return answer


for _function in heaps.HEAPS:
    answers(_function, when=When.ALWAYS, calls=True)(_in_python(_function))
