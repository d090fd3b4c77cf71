"""Functions that run as they are written, and ask for types."""

from __future__ import annotations

import contextlib
import numbers
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from autojit import grad, jit, value_and_grad
from autojit.errors import CaptureError

#: Functions that ask for types in ways that see the types of Python.
SEEN = {
    "isinstance": "return 2 * x if isinstance(x, float) else 3 * x",
    "class": "return 2 * x if x.__class__ is float else 3 * x",
    "isscalar": "return 2 * x if np.isscalar(x) else 3 * x",
    "number": "return 2 * x if isinstance(x, numbers.Real) else 3 * x",
    "type": "return 2 * x if type(x) is float else 3 * x",
    "hasattr": "return 3 * x if hasattr(x, '__len__') else 2 * x",
    "type in an inner function": "return (lambda v: 2 * v if type(v) is float else 3 * v)(x)",
    "attribute": "return 2 * x if (type(Told.type), type(x)) == (int, float) else 3 * x",
    "match": "match x:\n        case float():\n            return 2 * x\n    return 3 * x",
    "inner function": "return (lambda v: 2 * v if isinstance(v, float) else 3 * v)(x)",
    "function called": "return told(x)",
    "method called": "return Told().of(x)",
    "module": "return helpers.told(x)",
}
#: Functions that see the object that stands for a number.
REFUSED = {
    "passed on": "return 2 * x if list(map(type, [x])) == [float] else 3 * x",
    "function called": "return of_type(x)",
    "method called": "return Told().of_type(x)",
    "module": "return helpers.of_type(x)",
}


def told(x: Any) -> Any:
    return 2 * x if isinstance(x, float) else 3 * x


def of_type(x: Any) -> Any:
    return 2 * x if type(x) is float else 3 * x


class Told:
    type = 1

    def of(self, x: Any) -> Any:
        return told(x)

    def of_type(self, x: Any) -> Any:
        return 2 * x if type(x) is float else 3 * x


def executed(body: str) -> Callable[[Any], Any]:
    here = sys.modules[__name__]
    names: dict[str, Any] = {**vars(here), "helpers": here, "numbers": numbers, "__name__": "made"}
    exec(f"def f(x):\n    {body}", names)
    function: Callable[[Any], Any] = names["f"]
    return function


@pytest.mark.parametrize("name", SEEN)
def test_types_of_python(name: str) -> None:
    f = executed(SEEN[name])
    for kind in (float, np.float64, np.array):
        want = f(kind(1.0))
        for transformed in (jit(f), jit(lambda x: f(x))):
            assert transformed(kind(1.0)) == want
        assert grad(f)(kind(1.0)) == want


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    f = executed(REFUSED[name])
    for transformed in (jit(f), grad(f), jit(lambda x: f(x))):
        with pytest.raises(CaptureError, match="its source is not available"):
            transformed(1.0)
    assert f(1.0) == 2.0


def test_other_functions_run() -> None:
    f = executed("return np.sin(x) * x")
    assert jit(f)(2.0) == pytest.approx(2 * np.sin(2.0), rel=1e-15)
    asks = executed("return len(x) if type(x) is list else 0")
    assert jit(lambda x: x + asks([1, 2]))(1.0) == 3.0


# -- code that Python or a library calls, where functions have source ---------------------------


class Number:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __add__(self, other: Any) -> Any:
        return told(self.value) + other

    @property
    def by_type(self) -> Any:
        return of_type(self.value)

    def __neg__(self) -> Any:
        return of_type(self.value)

    def __str__(self) -> str:
        return "a" if type(self.value) is float else "bb"

    def __enter__(self) -> Any:
        return told(self.value)

    def __exit__(self, *error: object) -> None: ...


def generated(x: Any) -> Any:
    yield told(x)


def generated_by_type(x: Any) -> Any:
    yield of_type(x)


@contextlib.contextmanager
def manager(x: Any) -> Any:
    yield told(x)


@contextlib.contextmanager
def manager_by_type(x: Any) -> Any:
    yield of_type(x)


class Meta(type):
    def __call__(cls, x: Any) -> Any:
        return of_type(x)


class Made(metaclass=Meta): ...


def in_with(x: Any) -> Any:
    with Number(x) as y:
        return y


def in_manager(x: Any) -> Any:
    with manager(x) as y:
        return y


CALLED: dict[str, Callable[[Any], Any]] = {
    "operator": lambda x: Number(x) + x, "property": lambda x: Number(x).by_type,
    "sign": lambda x: -Number(x), "text": lambda x: x * len(str(Number(x))), "with": in_with,
    "manager": in_manager,
    "generator": lambda x: next(generated(x)), "loop": lambda x: sum(generated(x)),
    "generator by type": lambda x: next(generated_by_type(x)),
    "loop by type": lambda x: sum(generated_by_type(x)),
    "elements": lambda x: np.vectorize(told)(np.array([x, x]))[0],
}  # fmt: skip


@pytest.mark.parametrize("name", CALLED)
@pytest.mark.parametrize("kind", [float, np.float64, np.array])
def test_called_by_python(name: str, kind: Callable[[float], Any]) -> None:
    f = CALLED[name]
    assert jit(f)(kind(1.5)) == value_and_grad(f)(kind(1.5))[0] == f(kind(1.5))


def test_refused_where_a_library_calls() -> None:
    def by_manager(x: Any) -> Any:
        with manager_by_type(x) as y:
            return y

    def elements(x: Any) -> Any:
        return np.sum(np.vectorize(of_type)(x))

    def by_metaclass(x: Any) -> Any:
        return Made(x)

    for f, x in ((by_manager, 1.0), (elements, np.ones(2)), (by_metaclass, 1.0)):
        for transformed in (jit(f), grad(f)):
            with pytest.raises(CaptureError):
                transformed(x)


def test_source_of_a_command() -> None:
    code = (
        "from autojit import jit\n"
        "def f(x):\n"
        "    if x > 0 and isinstance(x, float):\n"
        "        return 2 * x\n"
        "    return -x\n"
        "print(jit(f)(1.5), jit(f)(-1.5))\n"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert made.stdout == "3.0 1.5\n"
