"""A package of the name ``autograd`` whose derivatives are autojit's.

What autograd writes in terms of ``make_vjp``, ``make_jvp`` and vector spaces comes from its own
source: ``grad``, ``jacobian``, ``check_grads``, ``flatten``, the optimizers.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import sys
import types
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

import autojit
from autojit.staging import pytrees
from autojit.tracing.tracer import Tracer
from tests.others.autograd import functions, nodes

WRAPPED = ("numpy", "numpy.random", "numpy.linalg", "numpy.fft", "scipy", "scipy.special",
           "scipy.stats", "scipy.linalg", "scipy.signal", "scipy.integrate")  # fmt: skip
DISTRIBUTIONS = ("norm", "t", "beta", "chi2", "dirichlet", "gamma", "multivariate_normal",
                 "poisson")  # fmt: skip

#: Functions that only autograd's modules have, or that have other arguments there.
OWN = {
    "numpy": {"make_diagonal": functions.make_diagonal, "where": functions.where,
              "int64": functions.Int64},
    "numpy.linalg": {"_dot": np.matmul, "T": functions.transposed, "eigh": functions.eigh},
    "scipy": {},
    "scipy.signal": {"convolve": functions.convolve},
}  # fmt: skip


def install(checkout: Path) -> None:
    """Put the package into ``sys.modules``."""
    source = checkout / "autograd"
    package = types.ModuleType("autograd")
    package.__path__ = [str(source)]
    package.__file__ = str(source / "__init__.py")
    sys.modules["autograd"] = package
    for name in WRAPPED:
        module = importlib.import_module(name)
        own = OWN.get(name)
        sys.modules[f"autograd.{name}"] = (
            module if own is None else functions.Module(f"autograd.{name}", module, **own)
        )
    for name in ("numpy.linalg", "scipy.signal"):
        parent, _, child = name.partition(".")
        setattr(sys.modules[f"autograd.{parent}"], child, sys.modules[f"autograd.{name}"])
    package.numpy, package.scipy = sys.modules["autograd.numpy"], sys.modules["autograd.scipy"]
    for name in DISTRIBUTIONS:
        sys.modules[f"autograd.scipy.stats.{name}"] = _module_of(name)
    sys.modules.setdefault("funcsigs", inspect)
    core = importlib.import_module("autograd.core")
    _replace_vector_spaces(core)
    core.make_vjp, core.make_jvp = make_vjp, make_jvp
    importlib.import_module("autograd.builtins").isinstance = functions.is_instance
    _load("autograd._vspaces", source / "numpy" / "numpy_vspaces.py")
    extend = importlib.import_module("autograd.extend")
    for place in (extend, core, importlib.import_module("autograd.tracer")):
        place.primitive = Primitive
        place.defvjp, place.defjvp = defvjp, defjvp
    importlib.import_module("autograd.tracer").trace = nodes.trace
    # Theirs stacks an iterator, which NumPy does not take.
    unary_to_nary = importlib.import_module("autograd.wrap_util").unary_to_nary
    operators = importlib.import_module("autograd.differential_operators")
    operators.jacobian = unary_to_nary(jacobian)
    exec(compile((source / "__init__.py").read_text("utf-8"), package.__file__, "exec"),
         vars(package))  # fmt: skip
    package.primitive, package.checkpoint = Primitive, autojit.checkpoint
    importlib.import_module("autograd.misc.fixed_points").fixed_point = functions.fixed_point
    importlib.import_module("autograd.misc").const_graph = const_graph


def _load(name: str, path: Path) -> None:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def _module_of(name: str) -> types.ModuleType:
    """A distribution of SciPy's, as a module."""
    import scipy.stats

    module = types.ModuleType(f"autograd.scipy.stats.{name}")
    distribution = getattr(scipy.stats, name)
    module.__getattr__ = lambda key: getattr(distribution, key)  # type: ignore[method-assign]
    return module


def _replace_vector_spaces(core: Any) -> None:
    theirs = core.vspace

    def vspace(value: Any) -> Any:
        if isinstance(value, Tracer):
            return theirs(np.zeros(value.shape, value.dtype))
        is_array = isinstance(value, (np.ndarray, np.inexact))
        return theirs(np.asarray(value) if is_array else value)

    core.vspace = vspace


# -- derivatives -------------------------------------------------------------------------


def differentiable(x: Any) -> Any:
    """Integers as floats: autograd differentiates with respect to arrays of them."""

    def one(leaf: Any) -> Any:
        if isinstance(leaf, (np.ndarray, np.generic, int)) and np.asarray(leaf).dtype.kind in "iu":
            return np.asarray(leaf, float)[()]
        return leaf

    return mapped(one, x)


def mapped(function: Callable[..., Any], x: Any, *others: Any) -> Any:
    """A function of the leaves of trees."""
    leaves, structure = pytrees.flatten(x)
    rest = [pytrees.flatten(other)[0] for other in others]
    return pytrees.unflatten(
        structure, [function(*each) for each in zip(leaves, *rest, strict=True)]
    )


def like(x: Any, result: Any) -> Any:
    """A cotangent of the type of a result."""
    if isinstance(x, Tracer) or isinstance(result, Tracer):
        return x if isinstance(x, Tracer) and x.dtype == result.dtype else x + np.zeros_like(result)
    dtype = np.result_type(result)
    x = np.real(x) if dtype.kind != "c" else x
    return np.broadcast_to(np.asarray(x, dtype), np.shape(result))[()]


def make_vjp(fun: Callable[[Any], Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    result, pullback = autojit.vjp(fun, differentiable(x))
    return (lambda cotangent: pullback(mapped(like, cotangent, result))[0]), result


def make_jvp(fun: Callable[[Any], Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    x = differentiable(x)
    return lambda tangent: autojit.jvp(fun, (x,), (mapped(like, tangent, x),))


def jacobian(fun: Callable[[Any], Any], x: Any) -> Any:
    return autojit.jacrev(fun)(differentiable(x))


# -- functions with rules ----------------------------------------------------------------


def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """A function that Python runs once."""
    return autojit.jit(functools.partial(fun, *args, **kwargs))


class Primitive(functions.Deprecated):
    """A function whose derivative is what its rules say."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        self.fun = fun
        self.vjps: dict[int, Any] = {}
        self.jvps: dict[int, Any] = {}
        self.__name__ = getattr(fun, "__name__", "")
        self.__doc__ = fun.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        arrays = [k for k, x in enumerate(args) if not (callable(x) or isinstance(x, str))]

        def whole(given: Any) -> list[Any]:
            found = dict(zip(arrays, given, strict=True))
            return [found.get(k, x) for k, x in enumerate(args)]

        def plain(*given: Any) -> Any:
            return self.fun(*whole(given), **kwargs)

        def kept(*given: Any) -> Any:
            ans = plain(*given)
            return ans, (ans, given)

        given = [differentiable(args[k]) for k in arrays]
        if self.jvps:
            with_rule = autojit.custom_jvp(plain)
            with_rule.defjvp(lambda x, t: self._pushed(arrays, whole(x), t, kwargs))
            return with_rule(*given)
        with_rules = autojit.custom_vjp(plain)
        with_rules.defvjp(
            kept, lambda found, g: self._pulled(arrays, found[0], whole(found[1]), g, kwargs)
        )
        return with_rules(*given)

    def _pushed(self, arrays: Any, args: Any, tangents: Any, kwargs: Any) -> Any:
        ans = self.fun(*args, **kwargs)
        total = np.zeros_like(ans)
        for number, tangent in zip(arrays, tangents, strict=True):
            rule = self._rule(self.jvps, "JVP", number)
            if rule is not None:
                total = total + rule(tangent, ans, *args, **kwargs)
        return ans, total

    def _pulled(self, arrays: Any, ans: Any, args: Any, g: Any, kwargs: Any) -> Any:
        makers = [(k, self._rule(self.vjps, "VJP", k)) for k in arrays]
        return tuple(
            [
                mapped(np.zeros_like, args[k]) if make is None else make(ans, *args, **kwargs)(g)
                for k, make in makers
            ]
        )

    def _rule(self, rules: dict[int, Any], mode: str, number: int) -> Any:
        if number not in rules:
            raise NotImplementedError(f"{mode} of {self.__name__} wrt argnum {number} not defined")
        return rules[number]


def defvjp(fun: Primitive, *makers: Any, argnums: Any = None) -> None:
    fun.vjps.update(zip(count() if argnums is None else argnums, makers, strict=False))


def defjvp(fun: Primitive, *rules: Any, argnums: Any = None) -> None:
    fun.jvps.update(zip(count() if argnums is None else argnums, rules, strict=False))
