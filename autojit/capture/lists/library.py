"""Functions of the standard library in Python, which are captured like functions of the user's.

They follow the documentation of `itertools`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any


def choose_all(made: Any, elements: Iterable[tuple[Any, Callable[[], Any]]]) -> Any:
    """Put the elements whose tests hold into a set or dict; returns it."""
    for test, element in elements:
        if test:
            if isinstance(made, dict):
                key, value = element()
                made[key] = value
            else:
                made.add(element())
    return made


def takewhile(predicate: Callable[[Any], Any], iterable: Iterable[Any]) -> Iterator[Any]:
    """``itertools.takewhile``."""
    for x in iterable:
        if not predicate(x):
            break
        yield x


def dropwhile(predicate: Callable[[Any], Any], iterable: Iterable[Any]) -> Iterator[Any]:
    """``itertools.dropwhile``."""
    drops = True
    for x in iterable:
        if drops and predicate(x):
            continue
        drops = False
        yield x


def filterfalse(predicate: Callable[[Any], Any], iterable: Iterable[Any]) -> Iterator[Any]:
    """``itertools.filterfalse``."""
    for x in iterable:
        if not predicate(x):
            yield x


def filtered(predicate: Callable[[Any], Any], iterable: Iterable[Any]) -> Iterator[Any]:
    """``filter``."""
    for x in iterable:
        if predicate(x):
            yield x


def numbered(iterable: Iterable[Any], start: Any = 0) -> Iterator[Any]:
    """``enumerate``."""
    number = start
    for x in iterable:
        yield number, x
        number += 1


def mapped(function: Callable[[Any], Any], iterable: Iterable[Any]) -> Iterator[Any]:
    """``map`` of one iterable."""
    for x in iterable:
        yield function(x)


def mapped_all(function: Callable[..., Any], iterables: tuple[Any, ...]) -> Iterator[Any]:
    """``map`` of several lists."""
    for xs in zip(*iterables):  # noqa: B905
        yield function(*xs)


def starmapped(function: Callable[..., Any], iterable: Iterable[Any]) -> Iterator[Any]:
    """``itertools.starmap``."""
    for xs in iterable:
        yield function(*xs)


def counted(start: Any, step: Any) -> Iterator[Any]:
    """``itertools.count``."""
    number = start
    while True:
        yield number
        number += step


def repeatedly(function: Callable[[], Any], last: Any) -> Iterator[Any]:
    """``iter`` of a function."""
    while True:
        found = function()
        if found == last:
            return
        yield found


def picked(iterable: Iterable[Any], element: Callable[[Any], Any]) -> Iterator[Any]:
    """A generator expression; ``element(x)`` says whether it has an element for x, and which."""
    for x in iterable:
        holds, value = element(x)
        if holds:
            yield value


def drained(generator: Any, consume: Callable[[Any], Any]) -> None:
    """Call a function with each of the rest of a generator's elements, until it returns True."""
    while not generator.advance():
        if consume(generator.current()):
            return


def each(iterable: Iterable[Any]) -> Iterator[Any]:
    """``iter``."""
    for x in iterable:  # noqa: UP028 - `yield from` runs through a generator of this function
        yield x


def keys(key: Callable[[Any], Any], iterable: Iterable[Any]) -> list[Any]:
    """The keys by which elements are sorted."""
    return [key(x) for x in iterable]


def place_of_extreme(keys: list[Any], largest: bool) -> Any:
    """The place that ``max`` or ``min`` chooses by keys, of which one may be NaN."""
    best = 0
    for place in range(1, len(keys)):
        if keys[place] > keys[best] if largest else keys[place] < keys[best]:
            best = place
    return best


def listed(iterable: Iterable[Any]) -> list[Any]:
    """``list``."""
    return [x for x in iterable]


def repeated(items: list[Any], times: Any) -> list[Any]:
    """``items * times``."""
    return [x for _ in range(times) for x in items]


def count_up(counts: dict[Any, Any], iterable: Iterable[Any]) -> dict[Any, Any]:
    """``collections.Counter(iterable)``, with an empty one."""
    for x in iterable:
        counts[x] += 1
    return counts


def total(iterable: Iterable[Any], start: Any) -> Any:
    """``sum``, or None of nothing."""
    found = None
    for x in iterable:
        found = start + x if found is None else found + x
    return found


def product(iterable: Iterable[Any], *, start: Any = 1) -> Any:
    """``math.prod``."""
    found = start
    for x in iterable:
        found = found * x
    return found


def some(iterable: Iterable[Any]) -> Any:
    """``any``."""
    for x in iterable:  # noqa: SIM110 - a loop that leaves early, in place of `any`
        if x:
            return True
    return False


def every(iterable: Iterable[Any]) -> Any:
    """``all``."""
    for x in iterable:  # noqa: SIM110
        if not x:
            return False
    return True


def itself(x: Any) -> Any:
    """The key of a value that is compared as it is."""
    return x


def extreme(
    iterable: Iterable[Any], key: Callable[[Any], Any], comes_first: Callable[[Any, Any], Any]
) -> Any:
    """``max`` or ``min``, or None of nothing; ``comes_first(a, b)`` says that a is taken."""
    best = best_key = None
    for x in iterable:
        mine = key(x)
        if best_key is None or comes_first(mine, best_key):
            best, best_key = x, mine
    return best


def reduced(function: Callable[[Any, Any], Any], items: list[Any]) -> Any:
    """``functools.reduce``."""
    if not items:
        raise TypeError("reduce() of empty iterable with no initial value")
    return reduced_from(function, items[1:], items[0])


def reduced_from(function: Callable[[Any, Any], Any], items: list[Any], first: Any) -> Any:
    """``functools.reduce`` with a first value."""
    found = first
    for x in items:
        found = function(found, x)
    return found


def zipped_with(iterable: Iterable[Any], others: tuple[Any, ...]) -> Iterator[Any]:
    """``zip`` of an iterable and of others with a length, which are read at an index."""
    number = 0
    for x in iterable:
        if any(number >= len(other) for other in others):
            break
        yield (x, *[other[number] for other in others])
        number += 1  # noqa: SIM113 - the loop is compiled


def islice(iterable: Iterable[Any], start: int, stop: int | None, step: int) -> Iterator[Any]:
    """``itertools.islice``."""
    number = 0
    if stop is not None and stop <= start:
        return
    for x in iterable:
        if number >= start and (number - start) % step == 0:
            yield x
        number += 1  # noqa: SIM113
        if stop is not None and number >= stop:
            break


def chained(iterables: Iterable[Any]) -> Iterator[Any]:
    """``itertools.chain``."""
    for iterable in iterables:
        yield from iterable


def pairs(iterable: Iterable[Any]) -> Iterator[Any]:
    """``itertools.pairwise``."""
    before = None
    for x in iterable:
        if before is not None:
            yield before, x
        before = x


def sums(iterable: Iterable[Any], function: Callable[[Any, Any], Any]) -> Iterator[Any]:
    """``itertools.accumulate``."""
    total = None
    for x in iterable:
        total = x if total is None else function(total, x)
        yield total


def sums_from(
    iterable: Iterable[Any], function: Callable[[Any, Any], Any], first: Any
) -> Iterator[Any]:
    """``itertools.accumulate`` with a first value."""
    total = first
    yield total
    for x in iterable:
        total = function(total, x)
        yield total


def ordered(a: Any, b: Any, compare: Callable[[Any, Any], Any]) -> Any:
    """``a < b`` and the like of two tuples, or of two lists, by their first different elements."""
    for x, y in zip(a, b):  # noqa: B905
        if x is not y and x != y:
            return compare(x, y)
    return compare(len(a), len(b))


def is_less(a: Any, b: Any) -> Any:
    """``a < b``, also for tuples."""
    return operator.lt(a, b)


def is_greater(a: Any, b: Any) -> Any:
    """``a > b``, also for tuples."""
    return operator.gt(a, b)


def present_keys(
    d: dict[Any, Any], keys: list[Any], state_of: Callable[[Any], Any]
) -> Iterator[Any]:
    """``d.keys()``, for a dict that has some of the keys."""
    state, size = state_of(d), len(d)
    for key in keys:
        if key in d:
            yield key
            if not state.is_as_before(d) and len(d) != size:
                raise RuntimeError("dictionary changed size during iteration")


def present_values(
    d: dict[Any, Any], keys: list[Any], state_of: Callable[[Any], Any]
) -> Iterator[Any]:
    """``d.values()``, likewise."""
    for key in present_keys(d, keys, state_of):
        yield d[key]


def present_items(
    d: dict[Any, Any], keys: list[Any], state_of: Callable[[Any], Any]
) -> Iterator[Any]:
    """``d.items()``, likewise."""
    for key in present_keys(d, keys, state_of):
        yield key, d[key]


def updated(d: dict[Any, Any], other: dict[Any, Any], keys: list[Any]) -> None:
    """``d.update(other)``, for another dict that has some of the keys."""
    for key in keys:
        if key in other:
            d[key] = other[key]


def updated_from(d: dict[Any, Any], items: Iterable[Any]) -> None:
    """``d.update(items)``."""
    for key, value in items:
        d[key] = value


def table_items(d: dict[Any, Any], entry: Callable[[Any, Any], Any]) -> Iterator[Any]:
    """``d.items()``, for a table; ``entry(d, i)`` is its entry at a place."""
    size, place = len(d), 0
    while place < size:
        key, value, _ = entry(d, place)
        yield key, value
        place += 1
        if len(d) != size:
            raise RuntimeError("dictionary changed size during iteration")


def table_keys(d: dict[Any, Any], entry: Callable[[Any, Any], Any]) -> Iterator[Any]:
    """``d.keys()``, likewise."""
    for key, _ in table_items(d, entry):
        yield key


def table_values(d: dict[Any, Any], entry: Callable[[Any, Any], Any]) -> Iterator[Any]:
    """``d.values()``, likewise."""
    for _, value in table_items(d, entry):
        yield value
