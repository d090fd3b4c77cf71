"""Tests by sample calls: values compared with NumPy's, derivatives, batches and compiled code.

Derivatives of both modes are compared with each other and with central differences.
"""

from __future__ import annotations

import ast
import linecache
import operator
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .calls import of_numpy, of_numpy_parts, of_polynomials

#: The arguments that the names in the calls stand for; they are traced.
ARGUMENTS: dict[str, Any] = {
    "x": np.array([0.3, 1.7, -0.8, 2.4, 0.9, -1.6]),
    "y": np.array([1.2, -0.4, 0.7, -2.2, 1.9, 0.35]),
    "u": np.array([0.31, 0.77, 0.12, 0.55, 0.93, 0.48]),  # between 0 and 1
    "p": np.array([1.3, 2.7, 1.8, 3.4, 1.15, 2.2]),  # above 1
    "h": np.array([-2.1, -0.9, 0.15, 0.8, 1.95, 2.6]),  # in ascending order
    "n": np.array([0.3, np.nan, -0.8, 2.4, np.nan, -1.6]),
    "a": np.float64(0.7),
    "m": np.array([[0.5, -1.2, 1.7, 0.2], [1.1, 0.9, -0.3, -1.6], [-0.7, 1.4, 0.6, 1.9]]),
    "s": np.array([[2.6, 0.3, -0.8], [0.5, 1.9, 0.4], [-0.6, 0.7, 3.1]]),
    "d": np.array([[2.0, 0.3, -0.4], [0.3, 1.6, 0.5], [-0.4, 0.5, 1.9]]),  # positive definite
    "z": np.array([0.5 + 0.3j, 1.2 - 0.7j, -0.4 + 1.1j, 0.9 + 0.2j]),
    "w": np.array([0.1 - 0.6j, 0.8 + 0.4j, 1.3 - 0.2j, -0.5 + 0.9j]),
    "i": np.array([3, 1, 2, 4, 0, 2]),
    "j": np.array([2, 4, 1, 3, 1, 5]),
    "b": np.array([True, False, True, True, False, True]),
}


class Call(NamedTuple):
    """One line of the table."""

    text: str
    #: The function that the call tests, such as ``np.sin``.
    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def drawn(self) -> list[Any]:
        return [np.copy(x) if np.ndim(x) else x for x in self.arguments]


@cache
def calls() -> tuple[Call, ...]:
    """All sample calls whose function exists in this version of NumPy."""
    tables = (
        of_numpy.CALLS, of_numpy_parts.LINALG, of_numpy_parts.FFT, of_numpy_parts.STRIDES,
        of_polynomials.CALLS,
    )  # fmt: skip
    found = (parsed(line) for table in tables for line in table.strip().splitlines())
    return tuple(call for call in found if _exists(call.name))


def _exists(name: str) -> bool:
    """Whether this version of NumPy has a function; some versions drop names."""
    try:
        operator.attrgetter(name.partition(".")[2])(np)
    except AttributeError:
        return False
    return True


def sampled_functions() -> frozenset[str]:
    """The names of the functions with sample calls."""
    return frozenset(call.name for call in calls())


def parsed(line: str) -> Call:
    """A line of the table as a function of the names in it.

    >>> call = parsed("np.put(x, 0, a)")
    >>> call.name, call.function(np.zeros(2), 1.0)
    ('np.put', None)
    """
    tree = ast.parse(f"[{line}][-1]" if ":=" in line else f"({line})", mode="eval")
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    names = [name for name in ARGUMENTS if name in used]
    source = f"def call({', '.join(names)}):\n    return {ast.unparse(tree)}\n"
    file = f"<autojit coverage: {line}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space: dict[str, Any] = {"np": np, "__name__": "coverage"}
    exec(compile(source, file, "exec"), space)
    arguments = tuple(ARGUMENTS[name] for name in names)
    return Call(line, _first_name(tree), space["call"], arguments)


def _first_name(tree: ast.AST) -> str:
    """The first dotted name of NumPy in an expression."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    dotted = [(node.lineno, node.col_offset, ast.unparse(node)) for node in found]
    named = [d for d in dotted if d[2].replace(".", "").isidentifier() and d[2].startswith("np.")]
    line, column, _ = min(named)
    return max((name for at, col, name in named if (at, col) == (line, column)), key=len)


# -- checks ---------------------------------------------------------------------------


class Failed(Exception):
    """Raised if a call has a wrong result."""


def check_forward(call: Call) -> None:
    """Check the values that the interpreter computes."""
    from autojit import trace

    wanted = leaves(call.function(*call.drawn()))
    found = leaves(trace(call.function)(*call.drawn())(*call.drawn()))
    _compare(call, found, wanted)


def check_compiled(call: Call) -> None:
    """Check the values that compiled code computes."""
    from autojit import jit

    _compare(call, leaves(jit(call.function)(*call.drawn())), leaves(call.function(*call.drawn())))


def check_batched(call: Call) -> None:
    """Check a batch of two calls."""
    from autojit import disable_jit, vmap

    if not call.arguments:
        return
    both = [np.stack([x, x]) for x in call.drawn()]
    with disable_jit():
        found = leaves(vmap(call.function)(*both))
    _compare(call, [x[1] for x in found], leaves(call.function(*call.drawn())), dtypes=False)


def check_derivative(call: Call) -> bool:
    """Check both modes against a central difference; False if nothing is differentiable."""
    from autojit import disable_jit, grad, jvp

    places = [i for i, x in enumerate(call.arguments) if x.dtype.kind in "fc"]
    wanted = leaves(call.function(*call.drawn()))
    if not places or not any(np.asarray(x).dtype.kind in "fc" for x in wanted):
        return False
    function = _weighted_sum(call, wanted)
    moved, tangents = call.drawn(), [_tangent(call.arguments[i]) for i in places]

    def of_moved(*values: Any) -> Any:
        every = list(moved)
        for i, value in zip(places, values, strict=True):
            every[i] = value
        return function(*every)

    start = tuple(moved[i] for i in places)
    with disable_jit():
        cotangents = grad(of_moved, argnums=tuple(range(len(start))))(*start)
        _, forward = jvp(of_moved, start, tuple(tangents))
    pairs = zip(cotangents, tangents, strict=True)
    reverse = sum(float(np.nansum(np.real(c * t))) for c, t in pairs)
    step = 1e-6
    ends = [
        float(of_moved(*(x + sign * step * t for x, t in zip(start, tangents, strict=True))))
        for sign in (1, -1)
    ]
    difference = (ends[0] - ends[1]) / (2 * step)
    scale = max(1.0, abs(difference))
    if abs(reverse - float(forward)) > 1e-8 * scale or abs(forward - difference) > 1e-5 * scale:
        raise Failed(f"{call.text}: reverse {reverse}, forward {forward}, difference {difference}")
    return True


def leaves(result: Any) -> list[Any]:
    """The arrays and numbers in a result."""
    if isinstance(result, (tuple, list)):
        return [leaf for part in result for leaf in leaves(part)]
    is_number = isinstance(result, (np.ndarray, np.generic, float, int, complex, bool))
    return [result] if is_number or hasattr(result, "own") else []


def _compare(call: Call, found: list[Any], wanted: list[Any], *, dtypes: bool = True) -> None:
    if len(found) != len(wanted):
        raise Failed(f"{call.text}: {len(found)} results, NumPy has {len(wanted)}")
    for x, y in zip(map(np.asarray, found), map(np.asarray, wanted), strict=True):
        if x.shape != y.shape or (dtypes and x.dtype != y.dtype):
            raise Failed(f"{call.text}: {x.dtype}{x.shape}, NumPy has {y.dtype}{y.shape}")
        if not np.allclose(x, y, rtol=1e-9, atol=1e-12, equal_nan=True):
            raise Failed(f"{call.text}: {x}, NumPy has {y}")


def _weighted_sum(call: Call, wanted: list[Any]) -> Callable[..., Any]:
    """A scalar function: the sum of the results' elements with different weights."""
    from autojit.tracing.created_arrays import is_traced
    from autojit.tracing.hooks import hooks

    weights = [np.cos(np.arange(np.size(x)) + 1.0).reshape(np.shape(x)) for x in wanted]

    def function(*args: Any) -> Any:
        total: Any = 0.0
        inner = hooks.converted(call.function) if is_traced(args) else call.function
        for x, weight in zip(leaves(inner(*args)), weights, strict=True):
            if np.result_type(x).kind in "fc":
                total = total + np.sum(np.real(x) * weight)
            if np.result_type(x).kind == "c":
                total = total + np.sum(np.imag(x) * (weight + 0.3))
        return total

    return function


def _tangent(x: Any) -> Any:
    t = np.sin(np.arange(np.size(x)) * 1.7 + 1).reshape(np.shape(x)).astype(x.dtype)
    return (t * (1 + 0.5j) if x.dtype.kind == "c" else t)[()]


def found(call: Call, *, compiled: bool) -> dict[str, str]:
    """The outcome of each check of a call: yes, no, or a dash if it does not apply."""
    checks: dict[str, Callable[[Call], Any]] = {
        "values": check_forward, "derivatives": check_derivative, "batched": check_batched,
    }  # fmt: skip
    if compiled:
        checks["compiled"] = check_compiled
    return {name: _outcome(check, call) for name, check in checks.items()}


def _outcome(check: Callable[[Call], Any], call: Call) -> str:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return "-" if check(call) is False else "yes"
        except Exception:
            return "no"


def by_function(*, compiled: bool) -> Iterator[tuple[str, dict[str, str]]]:
    """The combined outcome of all calls of each function."""
    rows: dict[str, dict[str, str]] = {}
    for call in calls():
        for column, outcome in found(call, compiled=compiled).items():
            row = rows.setdefault(call.name, {})
            row[column] = _worse(row.get(column, "-"), outcome)
    yield from rows.items()


def _worse(a: str, b: str) -> str:
    return next((word for word in ("no", "yes") if word in (a, b)), "-")
