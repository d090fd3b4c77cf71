"""``numba_callback``: functions that Numba has compiled, called by their addresses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.errors import DtypeError, NotArrayError, ShapeError
from autojit.ir.core.types import Type
from autojit.ir.ops.callback import Answer, HostCall
from autojit.session.tracebacks import folded

from .pure import PythonFunction, VmapMethod, staged


@folded
def numba_callback(
    callback: Callable[..., Any],
    result_types: Any,
    *args: Any,
    vmap_method: VmapMethod | None = None,
) -> Any:
    """Call a function that Numba has compiled, as a part of a traced or compiled function.

    Args:
        callback: a function compiled by ``@njit`` or ``@vectorize``, which takes arrays and NumPy
            scalars as ``pure_callback`` gives them, or a ``@cfunc`` of numbers, which is called for
            each element of its broadcast arguments.
        result_types, vmap_method: as for ``pure_callback``.
        args: arrays and numbers.

    Compiled code calls it without the interpreter's lock. Otherwise it is like ``pure_callback``.
    If the function raises, Python calls it once more, so that the error is the function's own.

    >>> import numba
    >>> import numpy as np
    >>> from autojit import jit, numba_callback
    >>> @numba.njit
    ... def smoothed(x, rate):
    ...     for i in range(1, len(x)):
    ...         x[i] = rate * x[i] + (1 - rate) * x[i - 1]
    ...     return x
    >>> jit(lambda x: 2 * numba_callback(smoothed, x, x, 0.5))(np.array([1.0, 2.0]))
    array([2., 3.])
    """
    return staged(NumbaFunction, _compiled(callback), result_types, args, {}, vmap_method)


def _compiled(callback: Any) -> Any:
    """A function that both Numba's code and Python can call with arrays."""
    from numba.core.ccallback import CFunc
    from numba.core.dispatcher import Dispatcher
    from numba.np.ufunc.dufunc import DUFunc

    if isinstance(callback, (Dispatcher, DUFunc)):
        return callback
    if isinstance(callback, CFunc):
        return _elementwise(callback)
    raise NotArrayError(
        f"numba_callback takes a function that Numba has compiled; got {callback!r:.60} of type "
        f"{type(callback).__name__}. Compile it, or let Python call it:\n"
        "    numba_callback(numba.njit(f), result_types, x)\n"
        "    pure_callback(f, result_types, x)"
    )


#: Functions of arrays, by the ``@cfunc`` of numbers that they apply.
_of_numbers: dict[Any, Any] = {}


def _elementwise(callback: Any) -> Any:
    import numba
    from numba import types

    signature = callback._sig
    kinds = (types.Number, types.Boolean)
    if not all(isinstance(t, kinds) for t in (*signature.args, signature.return_type)):
        raise NotArrayError(
            f"numba_callback takes a @cfunc of numbers, but {callback.__name__} has the "
            f"signature {signature}. Compile the function with @numba.njit for arrays."
        )
    if callback not in _of_numbers:
        names = ", ".join(f"a{i}" for i in range(len(signature.args)))
        made = _defined(f"def f({names}):\n    return c({names})\n", {"c": callback.ctypes}, "f")
        made.__name__ = callback.__name__
        _of_numbers[callback] = numba.vectorize(made)
    return _of_numbers[callback]


def _defined(source: str, names: dict[str, Any], name: str) -> Any:
    exec(source, names)
    return names[name]


class NumbaFunction(PythonFunction):
    """A function of Numba's, which compiled code calls by its address."""

    caller = "numba_callback"

    def native(self, call: HostCall, python: Any) -> tuple[int, Any] | None:
        import numba
        from numba import types

        names = ", ".join(f"a{i}" for i in range(len(call.in_types)))
        whole = numba.njit(_defined(f"def f({names}):\n    return f_({names})\n",
                                    {"f_": self.function}, "f"))  # fmt: skip
        self._check_result(whole, call)
        source = _entry(call)
        given = {"f": whole, "carray": numba.carray, "python": python, "np": np}
        entry = _defined(source, given, "entry")
        signature = types.int64(types.CPointer(types.voidptr), types.voidptr)
        made = numba.cfunc(signature)(entry)
        address: Any = made.address
        return address, made

    def _check_result(self, whole: Any, call: HostCall) -> None:
        """Compile the function, and compare the types of its results."""
        depth = len(call.batch)
        inner = [_inner(call, k, depth) for k in range(len(call.in_types))]
        arguments = tuple(_numba_type(t) for t in inner)
        whole.compile(arguments)
        found = whole.overloads[arguments].signature.return_type
        results = getattr(found, "types", None) or [found]
        if len(results) != len(call.types):
            raise ShapeError(
                f"numba_callback: {self.name} returns {found}, but its result_types are "
                f"{', '.join(map(str, call.types))}."
            )
        for result, type in zip(results, call.types, strict=True):
            self._check_one(result, type)

    def _check_one(self, found: Any, type: Type) -> None:
        from numba.np.numpy_support import as_dtype

        element = getattr(found, "dtype", found)
        if getattr(found, "ndim", 0) != type.ndim:
            raise ShapeError(
                f"numba_callback: {self.name} returns {found}, and its result_types say {type}."
            )
        dtype = as_dtype(element)
        if not np.can_cast(dtype, type.dtype, "safe"):
            raise DtypeError(
                f"numba_callback: the result of {self.name} has dtype {dtype}, and its type is "
                f"{type}. Convert it:\n    return result.astype(np.{type.dtype.name})"
            )


def _inner(call: HostCall, k: int, depth: int) -> Type:
    """The type of operand k in one call."""
    axes = sum(marks[k] for _, marks in call.batch[:depth])
    t = call.in_types[k]
    return Type(t.dtype, t.shape[axes:])


def _numba_type(type: Type) -> Any:
    from numba import types
    from numba.np.numpy_support import from_dtype

    element = from_dtype(type.dtype)
    return types.Array(element, type.ndim, "C") if type.ndim else element


def _entry(call: HostCall) -> str:
    """The source of ``int64 entry(void **addresses, void *status)``: the function for each element
    of the batch, on copies of its operands."""
    lines = ["def entry(p, status):"]
    every = [*call.in_types, *call.out_types]
    for k, t in enumerate(every):
        shape = t.shape or (1,)
        lines.append(f"    w{k} = carray(p[{k}], {shape!r}, np.{_name(t)})")
    indent = "    "
    for d, (size, _) in enumerate(call.batch):
        lines.append(f"{indent}for i{d} in range({size}):")
        indent += "    "
    count = len(call.in_types)
    arguments = ", ".join(
        _element(call, k, [marks[k] for _, marks in call.batch]) for k in range(count)
    )
    # The error is unknown without the interpreter's lock: Python calls the function to find it.
    lines += [
        f"{indent}try:",
        f"{indent}    r = f({arguments})",
        f"{indent}except Exception:",
        f"{indent}    return python(p, status)",
    ]
    index = ", ".join(f"i{d}" for d in range(len(call.batch)))
    for k, t in enumerate(call.types):
        result = "r" if len(call.types) == 1 else f"r[{k}]"
        if t.shape:
            lines.append(f"{indent}if {result}.shape != {t.shape!r}: return python(p, status)")
            place = f"[{index}]" if index else "[...]"
        else:
            place = f"[{index}]" if index else "[0]"
        lines.append(f"{indent}w{count + k}{place} = {result}")
    lines.append(f"    return {Answer.FINE:d}")
    return "\n".join(lines) + "\n"


def _element(call: HostCall, k: int, marks: Sequence[bool]) -> str:
    index = ", ".join(f"i{d}" for d, marked in enumerate(marks) if marked)
    t = call.in_types[k]
    if t.ndim > sum(marks):
        return f"w{k}[{index}].copy()" if index else f"w{k}.copy()"
    return f"w{k}[{index or '0'}]"


def _name(type: Type) -> str:
    return "bool_" if type.dtype.kind == "b" else type.dtype.name
