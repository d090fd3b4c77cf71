"""The same function in plain Python and transformed: values, errors, or a refusal."""

from __future__ import annotations

import copy
import linecache
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from autojit import disable_jit, grad, jit
from autojit.capture import nests, runtime, unrolling
from autojit.errors import AutojitError

from .random_programs import Program

ARGUMENTS = [
    (0.5, -1.0, 2, np.array([0.5, -1.5, 2.0])),
    (-2.0, 0.75, 0, np.array([-0.5, 0.25, 0.0])),
    (3.0, 3.0, 4, np.array([1.0, 2.0, 3.0])),
]
#: Limits for unrolling loops, in operations: `FEW`, and the limit above which none is unrolled.
BUDGETS = [(8, 2_000), (0, 0)]


@contextmanager
def budget(few: int, unrolled: int) -> Iterator[None]:
    """Replace the limits of unrolling within the context."""
    kept = unrolling.FEW, unrolling.UNROLLED
    unrolling.FEW = few
    unrolling.UNROLLED = nests.UNROLLED = runtime.UNROLLED = unrolled
    try:
        yield
    finally:
        unrolling.FEW, unrolling.UNROLLED = kept
        nests.UNROLLED = runtime.UNROLLED = unrolling.UNROLLED


def function_from(text: str, name: str) -> Callable[..., Any]:
    """Return the function ``f`` that a source text defines."""
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {"__name__": "drawn"}
    exec(compile(text, name, "exec"), space)
    found: Callable[..., Any] = space["f"]
    return found


def _late(*_: Any) -> None:
    raise TimeoutError("more than a minute")


def outcome(f: Callable[..., Any], args: tuple[Any, ...]) -> tuple[str, Any]:
    """``("value", result)``, ``("error", error)`` or ``("refused", error)``."""
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(60)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return "value", f(*copy.deepcopy(args))
    except AutojitError as error:
        return "refused", error
    except Exception as error:
        return "error", error
    finally:
        signal.alarm(0)


def flat(x: Any) -> list[Any]:
    """Return a result as a flat list of types, shapes and numbers, for comparison."""
    if isinstance(x, dict):
        return ["dict", *(y for key in x for y in (key, *flat(x[key])))]
    if isinstance(x, (list, tuple)):
        return [type(x).__name__, *(y for part in x for y in flat(part))]
    if x is None:
        return ["None"]
    array = np.asarray(x)
    return [array.shape, *map(float, array.ravel())]


def is_same(a: Any, b: Any) -> bool:
    """Whether two outcomes are equal, up to rounding."""
    if a[0] != b[0]:
        return False
    if a[0] == "error":
        return type(a[1]) is type(b[1]) and _words(a[1]) == _words(b[1])
    pairs, other = flat(a[1]), flat(b[1])
    return len(pairs) == len(other) and all(map(_close, pairs, other))


def _words(error: BaseException) -> str:
    """Its first line; errors of our indexing, of traced keys, and of None have other words than
    NumPy's and Python's."""
    words = str(error).partition("\n")[0]
    if isinstance(error, TypeError) and "None" in words:
        return "None"
    is_at_key = isinstance(error, KeyError) and not isinstance(error.args[0], str)
    if is_at_key or words.strip("'(-")[:1].isdigit() or "a traced key" in words:
        return "key"
    return "index" if isinstance(error, IndexError) else words


def _close(x: Any, y: Any) -> bool:
    if isinstance(x, float) and isinstance(y, float):
        near = abs(x - y) <= 1e-6 * max(1.0, abs(x))  # results may be np.float32
        return x == y or near or (x != x and y != y)
    return bool(x == y)


def check_program(
    seed: int, writer: Any = Program, *, thorough: bool = False
) -> Iterator[tuple[str, str]]:
    """Yield ``same``, ``refused`` or ``other`` for each set of arguments and way to run."""
    name = f"<program {seed}>"
    f = function_from(writer(seed).text(), name)
    try:
        for few, unrolled in BUDGETS:
            with budget(few, unrolled), disable_jit():
                yield from _compared(f, jit(f), f"unrolled={unrolled}")
                if thorough:
                    yield from _gradients(f)
    finally:
        del linecache.cache[name]


def _compared(f: Any, transformed: Any, how: str) -> Iterator[tuple[str, str]]:
    for number, args in enumerate(ARGUMENTS):
        expected, found = outcome(f, args), outcome(transformed, args)
        if found[0] == "refused" and expected[0] != "refused":
            yield "refused", f"{type(found[1]).__name__}: {found[1]}".replace("\n", " ")
        elif is_same(expected, found):
            yield "same", ""
        else:
            yield "other", f"{how} arguments {number}: {_short(expected)} / {_short(found)}"


def _short(found: tuple[str, Any]) -> str:
    return f"{found[0]} {type(found[1]).__name__} {found[1]}".partition("\n")[0][:300]


def _number(f: Any, args: Any) -> Callable[[float], Any]:
    def value(a: Any) -> Any:
        found = f(a, *args[1:])
        return sum(np.sum(part) for part in _parts(found)) + 0.0 * a

    return value


def _parts(x: Any) -> Iterator[Any]:
    if isinstance(x, dict):
        x = list(x.values())
    if isinstance(x, (list, tuple)):
        for part in x:
            yield from _parts(part)
    else:
        yield x


def _gradients(f: Any) -> Iterator[tuple[str, str]]:
    """Compare the derivatives with known values (`grad`) and without (`jit` of `grad`)."""
    for args in ARGUMENTS:
        g = _number(f, args)
        known, compiled = outcome(grad(g), args[:1]), outcome(jit(grad(g)), args[:1])
        expected = outcome(g, args[:1])
        if "refused" in (known[0], compiled[0]):
            yield "refused", "a gradient"
        elif expected[0] == "value" and not is_same(known, compiled):
            yield "other", f"gradients {_short(known)} / {_short(compiled)}"
        elif expected[0] == "error" and not (is_same(expected, known)):
            yield "other", f"gradient's error {_short(expected)} / {_short(known)}"
        else:
            yield "same", ""


def check_slopes(f: Callable[[Any], Any], points: list[np.ndarray], tolerance: float) -> None:
    """Check compiled values beside Python's, and gradients beside differences of these."""
    value, slopes = jit(f), jit(grad(f))
    for x in points:
        np.testing.assert_allclose(value(x), f(x), rtol=1e-12)
        h = 1e-6
        wanted = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))]
        np.testing.assert_allclose(slopes(x), wanted, rtol=tolerance, atol=tolerance)
