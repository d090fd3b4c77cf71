"""Makes calls that NumPy does not dispatch visible while a function is traced.

``np.zeros(3)`` and ``np.array([x, y])`` do not dispatch on their arguments. While any thread
traces, these names of the ``numpy`` module are bound to wrappers. A wrapper behaves like the
original in a thread that does not trace, and for callers in NumPy, SciPy, Numba and autojit itself.
For the user's code in a tracing thread, the arrays that it creates are fresh (see
``created_arrays``), and nested lists with traced values in them become traced arrays, also as
arguments of the other functions (see ``listed``).

A name imported directly (``from numpy import zeros``) stays the original. Its arrays are plain, and
an assignment of traced values into them is refused.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from autojit.capture.calls.calling import call_as, calls_of
from autojit.capture.calls.vectorized import elementwise
from autojit.capture.values.places import PlacesAndElements
from autojit.capture.values.ranges import FEW_ROWS
from autojit.errors import ConcreteValueError, UncoveredFunctionError, with_place
from autojit.protocols import lists
from autojit.tracing.context import current_trace
from autojit.tracing.created_arrays import FreshArray, bare, fresh, is_traced, is_vague, plain
from autojit.tracing.hooks import hooks
from autojit.tracing.running.trace import trace_flat
from autojit.tracing.source import user_source

from . import listed
from .concatenators import Concatenator
from .name_patching import Maker, Names, StandIn

#: A function that is called in place of the original: ``answer(original, *args, **kwargs)``.
Answer = Callable[..., Any]
ANSWERS: dict[str, Answer] = {}


def _answers(*names: str) -> Callable[[Answer], Answer]:
    def register(answer: Answer) -> Answer:
        ANSWERS.update(dict.fromkeys(names, answer))
        return answer

    return register


class _Wrapper(StandIn):
    """Calls its answer if the user's code calls it in a thread that traces."""

    def __init__(self, original: Any, answer: Answer) -> None:
        super().__init__(original)
        self.answer = answer

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if current_trace() is None or not _is_users(sys._getframe(1)):
            return self.original(*args, **kwargs)
        return self.answer(self.original, *args, **kwargs)


class PythonUfunc(StandIn):
    """The result of ``np.frompyfunc``; traced arguments go to the function inside it."""

    def __init__(self, original: Any, function: Any) -> None:
        super().__init__(original)
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not is_traced(args):
            return self.original(*plain(args), **kwargs)
        return elementwise(self.function, args, lambda f, *x: hooks.converted(f)(*x))


# -- who calls ------------------------------------------------------------------

_LIBRARIES = ("numpy", "scipy", "pandas", "numba", "llvmlite", "optree")
_users_files: dict[str, bool] = {}


@calls_of(_Wrapper)
def _called(f: _Wrapper, args: Any, kwargs: Any, converted: Any) -> Any:
    """A call from the user's code, made by the runtime of its twin."""
    return f.answer(f.original, *args, **kwargs)


def _is_users(frame: FrameType) -> bool:
    """Whether a call comes from the user's code, not from a module that is being imported."""
    filename = frame.f_code.co_filename
    known = _users_files.get(filename)
    if known is None:
        known = _users_files[filename] = not _is_of_library(filename)
    return known and not _is_importing(frame)


def _is_of_library(filename: str) -> bool:
    if filename.startswith("<"):
        return filename.startswith("<frozen") or filename == "<__array_function__ internals>"
    path = str(Path(filename).resolve())
    return path.startswith(_folders()) and not path.startswith(_plain_numpy())


@functools.cache
def _folders() -> tuple[str, ...]:
    here = Path(__file__).resolve().parents[1]
    specs = [importlib.util.find_spec(name) for name in _LIBRARIES]
    found = [Path(s.origin).resolve().parent for s in specs if s is not None and s.origin]
    ours = (here, here.parent / "ir", here.parent / "codegen")
    return tuple(f"{folder}{os.sep}" for folder in (*ours, *found))


@functools.cache
def _plain_numpy() -> str:
    """The folder of ``numpy.polynomial``: Python code on NumPy's public names, like a user's."""
    return f"{Path(np.__file__).resolve().parent / 'polynomial'}{os.sep}"


def _is_importing(frame: FrameType | None) -> bool:
    """Whether the call comes from a module that is being imported, whose arrays outlive the
    trace."""
    while frame is not None and frame.f_code is not trace_flat.__code__:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


# -- the answers ----------------------------------------------------------------

#: Arguments of creation functions that decide about shapes, by their positions.
_OF_SHAPES: dict[str, dict[int, str]] = {
    "arange": {0: "start", 1: "stop", 2: "step"},
    "identity": {0: "n"},
    "indices": {0: "dimensions"},
    "full_like": {5: "shape"},
    **{name: {0: "shape"} for name in ("zeros", "ones", "empty", "full")},
    **{name: {4: "shape"} for name in ("zeros_like", "ones_like", "empty_like")},
    **{name: {0: "N", 1: "M", 2: "k"} for name in ("eye", "tri")},
    **{name: {2: "num"} for name in ("linspace", "logspace", "geomspace")},
}


def _with_known_shape(original: Any, args: Any, kwargs: Any) -> tuple[Any, Any]:
    """Arguments with the values of a traced shape. If they are not known, raise our error, where
    NumPy would say that it expects integers."""
    parameters = _OF_SHAPES.get(original.__name__)
    if parameters is None or not is_traced((args, kwargs)):
        return args, kwargs
    from autojit.protocols.registry import with_known

    return with_known(f"np.{original.__name__}", parameters.items(), args, kwargs)


@_answers("zeros", "ones", "arange", "eye", "identity", "linspace", "zeros_like", "ones_like",
          "full_like", "copy", "tri", "logspace", "geomspace", "indices")  # fmt: skip
def _created(original: Any, *args: Any, **kwargs: Any) -> Any:
    args, kwargs = _with_known_shape(original, args, kwargs)
    return fresh(original(*args, **kwargs))


@_answers("empty", "empty_like")
def _empty(original: Any, *args: Any, **kwargs: Any) -> Any:
    args, kwargs = _with_known_shape(original, args, kwargs)
    made = fresh(original(*args, **kwargs))
    if isinstance(made, FreshArray):
        made[...] = 0  # arbitrary contents would become part of the program
    return made


@_answers("full")
def _full(original: Any, shape: Any, fill_value: Any, *args: Any, **kwargs: Any) -> Any:
    (shape,), _ = _with_known_shape(original, (shape,), {})
    if not is_traced(fill_value):
        return fresh(original(shape, fill_value, *args, **kwargs))
    from autojit.functions.creation import full

    return full(shape, bare(fill_value), *args, **kwargs)


@_answers("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray")
def _converted(original: Any, *args: Any, **kwargs: Any) -> Any:
    x = args[0] if args else None
    if is_traced(x) and kwargs.get("dtype", args[1] if args[1:] else None) is not object:
        from autojit.functions.creation import converted

        result = converted(original.__name__, bare(x), *args[1:], **kwargs)
        return x if result is bare(x) else result
    if isinstance(x, FreshArray):
        vague = is_vague(x)
        if vague and original.__name__ != "array":
            from .promotion import traced

            return _converted(original, traced(x), *args[1:], **kwargs)
        result = original(plain(x), *args[1:], **kwargs)
        return x if _is_same(result, x) else fresh(result, vague)
    result = original(*args, **kwargs)
    return fresh(result) if result is not x and result.flags.owndata else result


def _is_same(result: np.ndarray, x: np.ndarray) -> bool:
    """Whether a conversion has changed nothing."""
    described = ("data", "shape", "strides", "typestr")
    a, b = result.__array_interface__, x.__array_interface__
    return all(a[key] == b[key] for key in described)


@_answers("stack", "vstack", "hstack", "dstack", "column_stack", "concatenate")
def _joined(original: Any, *args: Any, **kwargs: Any) -> Any:
    """Convert lists in the list of arrays, since NumPy's dispatch does not look at them."""
    if args and isinstance(args[0], (list, tuple)):
        from autojit.functions.joining import stack_nested

        args = ([stack_nested(a) if is_traced(a) else a for a in args[0]], *args[1:])
    return fresh(original(*args, **kwargs))


@_answers("take")
def _taken(original: Any, *args: Any, **kwargs: Any) -> Any:
    """Check the indices too, since NumPy's dispatch looks at the array alone."""
    args, kwargs = lists.all_as_arrays(args, kwargs)
    given = dict(zip(("a", "indices"), args, strict=False)) | kwargs
    if not is_traced(given.get("indices")):
        return original(*args, **kwargs)
    from autojit.functions.indexing import take

    return take(bare(given.pop("a")), given.pop("indices"), *args[2:], **given)


@_answers("asarray_chkfinite")
def _checked_finite(original: Any, a: Any, *args: Any, **kwargs: Any) -> Any:
    if not is_traced(a):
        return fresh(original(plain(a), *args, **kwargs))
    from autojit.functions.shapes.elements import checked_finite

    return checked_finite(bare(a), *args, **kwargs)


@_answers("require")
def _required(
    original: Any, a: Any, dtype: Any = None, requirements: Any = None, **kwargs: Any
) -> Any:
    """Convert to the dtype only: arrays in compiled code meet all other requirements."""
    if not is_traced(a):
        return fresh(original(plain(a), dtype, requirements, **kwargs))
    return _converted(np.asanyarray, a, dtype)


@_answers("poly1d")
def _poly1d(original: Any, c_or_r: Any, *args: Any, **kwargs: Any) -> Any:
    from autojit.functions.polynomials.traced import Poly1d, coefficients

    if not is_traced(coefficients(c_or_r)):
        return original(c_or_r, *args, **kwargs)
    return Poly1d(c_or_r, *args, **kwargs)


@_answers("frompyfunc")
def _from_python(original: Any, func: Any, /, nin: int, nout: int, **kwargs: Any) -> Any:
    return PythonUfunc(original(func, nin, nout, **kwargs), func)


@_answers("ndenumerate")
def _ndenumerate(original: Any, arr: Any) -> Any:
    if not is_traced(arr):
        return original(arr) if np.size(arr) <= FEW_ROWS else PlacesAndElements(np.asarray(arr))
    return PlacesAndElements(_converted(np.asarray, arr))


@_answers("nditer", "nested_iters")
def _nditer(original: Any, *args: Any, **kwargs: Any) -> Any:
    if not is_traced((args, kwargs)):
        return original(*args, **kwargs)
    raise UncoveredFunctionError(
        with_place(
            f"np.{original.__name__} of a traced array is not covered by autojit: it returns "
            "pieces of memory. Iterate over the indices, or over the elements:\n"
            "    for at in np.ndindex(x.shape): x[at]\n"
            "    for v in x.ravel(): v",
            user_source(),
        )
    )


@_answers("save", "savez", "savez_compressed", "savetxt", "array2string", "array_repr", "array_str")
def _written(original: Any, *args: Any, **kwargs: Any) -> Any:
    if not is_traced((args, kwargs)):
        return original(*args, **kwargs)
    raise ConcreteValueError(
        with_place(
            f"np.{original.__name__} needs the values of a traced array, which do not exist "
            "while a function is traced. Return the array, and save the result of the call:\n"
            f"    y = jit(f)(x)\n    np.{original.__name__}(…, y)",
            user_source(),
        )
    )


# -- the names ------------------------------------------------------------------


@functools.cache
def names() -> tuple[Names, ...]:
    """The replaced names of NumPy's modules."""
    makers: dict[str, Maker] = dict.fromkeys(listed.covered(np), listed.Listed)
    makers |= dict.fromkeys(("r_", "c_"), Concatenator)
    answers = {getattr(np, name): answer for name, answer in ANSWERS.items()}
    for name, found in vars(np).items():  # np.concat is np.concatenate too
        if callable(found) and found in answers:
            makers[name] = functools.partial(_Wrapper, answer=answers[found])
    for original, answer in answers.items():
        call_as(original, functools.partial(answer, original))
    for module in (np, np.linalg, np.fft):
        for name in listed.covered(module):
            call_as(getattr(module, name), listed.Listed(getattr(module, name)))
    return (
        Names(np, makers),
        Names(np.linalg, dict.fromkeys(listed.covered(np.linalg), listed.Listed)),
        Names(np.fft, dict.fromkeys(listed.covered(np.fft), listed.Listed)),
    )
