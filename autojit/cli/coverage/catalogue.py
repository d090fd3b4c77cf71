"""The public functions of NumPy and SciPy, and which of them autojit implements."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from .reasons import OTHERS, REFUSED, reasons

#: Namespaces, and the submodules whose functions count as theirs.
NAMESPACES: dict[str, tuple[str, ...]] = {
    "numpy": (),
    "numpy.linalg": (),
    "numpy.fft": (),
    "numpy.lib.stride_tricks": (),
    "numpy.polynomial": (
        "polynomial", "chebyshev", "legendre", "hermite", "hermite_e", "laguerre",
    ),
    **dict.fromkeys(
        (
            "scipy.special", "scipy.stats", "scipy.linalg", "scipy.signal", "scipy.fft",
            "scipy.integrate", "scipy.interpolate", "scipy.ndimage", "scipy.optimize",
            "scipy.sparse.linalg", "scipy.spatial.distance",
        ),
        (),
    ),
}  # fmt: skip


class Function(NamedTuple):
    """A public function, and its state."""

    namespace: str
    name: str
    #: covered, refused, missing, or other (a function that takes no array of numbers).
    state: str
    #: The reason if it is not covered or not counted.
    reason: str = ""

    @property
    def full_name(self) -> str:
        return f"{self.namespace}.{self.name}"


def functions(namespace: str) -> list[Function]:
    """The public functions of a namespace, by name."""
    known = _answered(namespace)
    others, refused = reasons(OTHERS, namespace), reasons(REFUSED, namespace)
    found = []
    for name, function in _public(namespace):
        if name in others:
            row = Function(namespace, name, "other", others[name])
        elif name in refused:
            row = Function(namespace, name, "refused", refused[name])
        else:
            is_known = known(name, function)
            row = Function(namespace, name, *(("covered",) if is_known else ("missing", "not yet")))
        found.append(row)
    return found


def _public(namespace: str) -> Iterator[tuple[str, Any]]:
    module = importlib.import_module(namespace)
    yield from _of_module(module)
    for part in NAMESPACES[namespace]:
        inner = importlib.import_module(f"{namespace}.{part}")
        for name, function in _of_module(inner):
            yield f"{part}.{name}", function


def _of_module(module: ModuleType) -> Iterator[tuple[str, Any]]:
    given = getattr(module, "__all__", None)
    names = given or [name for name in vars(module) if not name.startswith("_")]
    for name in sorted(set(names)):
        function = getattr(module, name, None)
        if callable(function) and not isinstance(function, type):
            yield name, function


# -- autojit's tables --------------------------------------------------------------------


def _answered(namespace: str) -> Any:
    """A predicate that decides by name and function whether a function is implemented."""
    if namespace.startswith("scipy."):
        return _answered_by_scipy(namespace)
    sampled = _sampled()

    def is_known(name: str, function: Any) -> bool:
        if isinstance(function, (np.ufunc, type(np.sum))) or _dispatches(function):
            return _dispatches(function)
        return f"{namespace}.{name}".replace("numpy", "np", 1) in sampled

    return is_known


@cache
def _sampled() -> frozenset[str]:
    """The functions of the sample calls.

    autojit's tables need not contain them if they are Python code that calls other functions.
    """
    from .evidence import sampled_functions

    return sampled_functions()


def _dispatches(function: Any) -> bool:
    """Whether NumPy's dispatch of a function, or its name, leads to autojit."""
    from autojit.interception import numpy_polynomial
    from autojit.interception.patches import ANSWERS
    from autojit.protocols.registry import FUNCTIONS
    from autojit.protocols.ufuncs import is_covered
    from autojit.tracing.hooks import hooks

    hooks.load()
    numpy_polynomial.names()
    if isinstance(function, np.ufunc):
        return is_covered(function)
    name = getattr(function, "__name__", "")
    return function in FUNCTIONS or (getattr(np, name, None) is function and name in ANSWERS)


def _answered_by_scipy(namespace: str) -> Any:
    from autojit.protocols.ufuncs import is_covered
    from autojit.scipy.names import load, resolved
    from autojit.scipy.registry import FUNCTIONS
    from autojit.tracing.hooks import hooks

    hooks.load()
    load(namespace.split(".")[1])
    names = {name.removeprefix(f"{namespace}.").partition(".")[0] for name in FUNCTIONS
             if name.startswith(f"{namespace}.")}  # fmt: skip

    same = {id(f) for name in FUNCTIONS if (f := resolved(name)) is not None}

    def is_known(name: str, function: Any) -> bool:
        if isinstance(function, np.ufunc):
            return name in names or is_covered(function)
        if getattr(np, name, None) is function:  # NumPy's own, under SciPy's name
            return _dispatches(function)
        return name in names or id(function) in same or _is_family(function)

    return is_known


def _is_family(function: Any) -> bool:
    """Whether a function is a distribution of ``scipy.stats`` that has formulas."""
    families = sys.modules.get("autojit.scipy.stats.families.family")
    return families is not None and getattr(function, "name", None) in families.FAMILIES
