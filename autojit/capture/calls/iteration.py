"""``sum``, ``map``, ``filter``, ``reduce`` and the like, and those of `ranges` and `logic`."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from autojit.capture.lists import dicts, elements, hashed, library
from autojit.capture.lists.deques import Deque
from autojit.capture.lists.iterators import IN_PYTHON
from autojit.capture.lists.resumable import handed_on
from autojit.capture.lists.running import or_start, python_iterator
from autojit.capture.state.kinds import elements_of, may_be_elements
from autojit.capture.state.maybe import DICTS
from autojit.capture.state.stretch import made_of
from autojit.capture.values import ranges
from autojit.capture.values.refusals import refuse
from autojit.capture.values.scalars import any_traced, holds_traced, is_traced, truth
from autojit.capture.values.table import When, answers, answers_method
from autojit.tracing.created_arrays import bare

from . import items, logic, tables
from .items import check_key

answers(range)(ranges.range_)
answers(len, when=When.ALWAYS)(ranges.length)


@answers(zip, when=When.ALWAYS)
def zip_(*parts: Any, strict: bool = False) -> Any:
    """``zip``."""
    return ranges.zip_(*map(dicts.iterated, parts), strict=strict)


@answers(enumerate, when=When.ALWAYS)
def enumerate_(iterable: Any, start: Any = 0) -> Any:
    """``enumerate``."""
    return ranges.enumerate_(dicts.iterated(iterable), start)


answers(reversed, when=When.ALWAYS)(ranges.reversed_)
answers(any, when=When.ALWAYS)(logic.any_)
answers(all, when=When.ALWAYS)(logic.all_)


@answers(sum, when=When.ALWAYS)
def sum_(iterable: Any, /, start: Any = 0) -> Any:
    """``sum``; the rows of a traced array are summed as `np.sum` does."""
    if not is_traced(iterable) or not iterable.ndim:
        return sum(iterable, start)
    rows = bare(iterable)
    whole = rows.dtype if rows.dtype.kind != "b" else None
    if is_traced(rows.shape[0]):
        total = np.sum(rows, axis=0, dtype=whole)
        return or_start(np.equal(rows.shape[0], 0), lambda: start + total, start)
    if not rows.shape[0]:
        return start
    return start + np.sum(rows, axis=0, dtype=whole)


@answers(map, when=When.ALWAYS, calls=True)
def map_(call: Any, f: Any, *iterables: Any) -> Any:
    """``map``."""
    return map(lambda *args: call(f, *args), *iterables)


@answers(filter, when=When.ALWAYS, calls=True)
def filter_(call: Any, f: Any, iterable: Any) -> Iterator[Any]:
    """``filter`` with conditions that are known."""
    if f is None:
        return filter(None, iterable)

    return handed_on(
        lambda: filter(lambda x: truth(call(f, x)), python_iterator(iterable)),
        library.filtered, (f, iterable), refusal=_refuse_filter,
    )  # fmt: skip


def _refuse_filter() -> NoReturn:
    refuse(
        "The length of filter(f, xs)",
        "Keep all elements, and choose a neutral value for the others:\n"
        "    np.sum(np.where(xs > 0, xs, 0))    # not: sum(filter(positive, xs))",
    )


@answers(functools.reduce, when=When.ALWAYS, calls=True)
def reduce_(call: Any, f: Any, iterable: Any, *initial: Any) -> Any:
    """``functools.reduce``."""
    return functools.reduce(lambda a, b: call(f, a, b), iterable, *initial)


@answers(itertools.accumulate, when=When.ALWAYS, calls=True)
def accumulate(call: Any, iterable: Any, func: Any = None, *, initial: Any = None) -> Any:
    """``itertools.accumulate``."""
    f = operator.add if func is None else func
    return itertools.accumulate(iterable, lambda a, b: call(f, a, b), initial=initial)


@answers(itertools.starmap, when=When.ALWAYS, calls=True)
def starmap(call: Any, f: Any, iterable: Any) -> Any:
    """``itertools.starmap``."""
    return itertools.starmap(lambda *args: call(f, *args), iterable)


@answers(itertools.islice)
def islice(iterable: Any, *bounds: Any) -> Any:
    """``itertools.islice`` with traced bounds."""
    if is_traced(iterable) and not any_traced(bounds):
        return itertools.islice(iterable, *bounds)
    return IN_PYTHON[itertools.islice](iterable, *bounds)


def _while(original: Any) -> Any:
    """``itertools.takewhile``, ``dropwhile`` and ``filterfalse`` with conditions that are known."""

    def refusal() -> NoReturn:
        refuse(
            f"The length of {original.__name__}(f, xs)",
            "Loop over all elements, and leave the loop or skip an element:\n"
            "    total = 0.0\n"
            "    for v in x:\n"
            "        if v > 1.5:\n"
            "            break               # not: sum(takewhile(below, x))\n"
            "        total += v",
        )

    def answer(call: Any, f: Any, iterable: Any) -> Any:
        def held(x: Any) -> Any:
            return truth(x if f is None else call(f, x))

        return handed_on(
            lambda: original(held, python_iterator(iterable)),
            _IN_PYTHON[original], (f, iterable), refusal=refusal,
        )  # fmt: skip

    return answer


_IN_PYTHON: dict[Any, Any] = {
    itertools.takewhile: library.takewhile,
    itertools.dropwhile: library.dropwhile,
    itertools.filterfalse: library.filterfalse,
}


for _cut in (itertools.takewhile, itertools.dropwhile, itertools.filterfalse):
    answers(_cut, when=When.ALWAYS, calls=True)(_while(_cut))


# -- the functions of `operator` that are more than a special method -------------------

answers(operator.truth)(truth)
answers(operator.not_)(logic.not_)


def _ordered(compare: Any) -> None:
    """Answer ``operator.lt`` and the like, also for tuples and lists of traced numbers."""

    def answer(call: Any, a: Any, b: Any) -> Any:
        are_alike = any(isinstance(a, kind) and isinstance(b, kind) for kind in (tuple, list))
        if are_alike and (holds_traced(a) or holds_traced(b)):
            return call(library.ordered, a, b, compare)
        return compare(a, b)

    answers(compare, when=When.ALWAYS, calls=True)(answer)


for _compare in (operator.lt, operator.le, operator.gt, operator.ge):
    _ordered(_compare)


@answers(operator.contains, when=When.ALWAYS)
def contains(container: Any, x: Any) -> Any:
    """``operator.contains``."""
    return logic.in_(x, container)


@answers(operator.getitem, when=When.ALWAYS)
def getitem(x: Any, index: Any) -> Any:
    """``operator.getitem``."""
    return items.item(x, index)


@answers(operator.setitem, when=When.ALWAYS)
def setitem(x: Any, index: Any, value: Any) -> None:
    """``operator.setitem``."""
    items.set_item(x, index, value)


@answers(operator.index)
def index_(x: Any) -> Any:
    """``operator.index``."""
    return ranges.bound(x)


# -- methods of containers ---------------------------------------------------------------


def _index(call: Any, items: Any, x: Any) -> Any:
    """``lst.index(x)``; a comparison may be traced only in a list of numbers."""
    for number, element in enumerate(items):
        same = element is x or truth(element == x)
        if is_traced(same):
            if isinstance(items, list) and may_be_elements([*items, x]):
                return elements.METHODS["index"](call, _made(items), x)
            refuse("lst.index(x) with a traced x", "np.argmax(np.array(lst) == x)")
        if same:
            return number
    raise ValueError(f"{type(items).__name__}.index(x): x not in {type(items).__name__}")


answers_method(list, "index")(_index)
answers_method(Deque, "index")(_index)
answers_method(tuple, "index")(_index)


def _made(items: list[Any]) -> list[Any]:
    """A list that holds a stretch in place of its elements."""
    return [made_of(items, elements_of(items))]


@answers_method(list, "insert", "pop")
def _at(call: Any, items: list[Any], index: Any, *value: Any) -> Any:
    """``lst.insert(index, value)``, ``lst.pop(index)``."""
    if is_traced(index):
        if not items:
            return items.append(*value) if value else items.pop()
        items[:] = _made(items)
        return elements.METHODS["insert" if value else "pop"](call, items, index, *value)
    return items.insert(index, *value) if value else items.pop(index)


@answers_method(Deque, "remove")
@answers_method(list, "remove")
def _remove(call: Any, items: list[Any], x: Any) -> None:
    """``lst.remove(x)``."""
    for number, element in enumerate(items):
        same = truth(element == x)
        if is_traced(same):
            items[:] = _made(items)
            elements.METHODS["remove"](call, items, x)
            return
        if same:
            del items[number]
            return
    [].remove(x)  # which raises Python's ValueError


def _by_key(kind: type, name: str) -> None:
    """``d.get(key, default)`` and similar methods, whose default may be traced."""

    def answer(call: Any, items: dict[Any, Any], key: Any, *default: Any) -> Any:
        key = hashed.settled_key(key)
        if tables.is_table(items, key):
            if name == "get":
                return tables.get(items, key, *default)
            return tables.method(call, name, items, key, *default)
        if hashed.is_key(key):
            check_key(key)
        return getattr(items, name)(key, *default)

    answers_method(kind, name)(answer)


for _kind in DICTS:
    for _name in ("get", "setdefault", "pop"):
        _by_key(_kind, _name)


def _count(call: Any, container: Any, x: Any) -> Any:
    """``lst.count(x)``."""
    total: Any = 0
    for element in container:
        same = element is x or truth(element == x)
        total = total + (call(int, same) if is_traced(same) else int(same))
    return total


answers_method(list, "count")(_count)
answers_method(Deque, "count")(_count)
answers_method(tuple, "count")(_count)
