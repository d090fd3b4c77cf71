"""``pure_callback``: a Python function on NumPy arrays, called from traced and compiled code."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import optree

from autojit.errors import DtypeError, ShapeError, StructureError, with_place
from autojit.ir.core.host import HostFunction
from autojit.ir.core.program import current_builder
from autojit.ir.core.types import Type, TypeMismatch, canonical_dtype, parse_type
from autojit.ir.ops.callback import METHODS, HostCall
from autojit.ir.ops.callback import callback as op
from autojit.session.tracebacks import folded
from autojit.staging import pytrees
from autojit.staging.bodies import check_function, name_of
from autojit.staging.trace_function import leaf_type
from autojit.tracing.context import current_trace, outside_of_traces
from autojit.tracing.created_arrays import plain
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer
from autojit.tracing.values import lift

VmapMethod = Literal["sequential", "expand_dims", "broadcast_all"]


@folded
def pure_callback(
    callback: Callable[..., Any],
    result_types: Any,
    *args: Any,
    vmap_method: VmapMethod | None = None,
    **kwargs: Any,
) -> Any:
    """Call a Python function on NumPy arrays, as a part of a traced or compiled function.

    Args:
        callback: any function. It gets NumPy arrays of its own (NumPy scalars for arrays without
            axes) in place of traced ones, and everything else unchanged.
        result_types: the types of its results: types such as ``"f64[3]"``, arrays, or anything with
            ``shape`` and ``dtype``, and trees of these. Results are checked against it.
        args, kwargs: the arguments of ``callback``: trees of arrays, and other objects.
        vmap_method: how ``vmap`` treats the call. ``"sequential"`` (or None) calls ``callback`` for
            each element of the batch. The others call it once, with arrays of one more axis in
            front: arguments that are not mapped over have one element along it
            (``"expand_dims"``), or are repeated (``"broadcast_all"``).

    The function must be pure. autojit may call it more often than the code says, less often, or in
    another order. Its exceptions come out of the compiled call. Other threads run meanwhile: the
    interpreter's lock is taken for the call, and released afterwards. Programs with callbacks are
    compiled in each process and not kept on disk.

    Raises:
        DerivativeError: if a derivative goes through the call. Define one with ``custom_jvp`` or
            ``custom_vjp``:

    >>> import numpy as np
    >>> import scipy.special
    >>> from autojit import custom_jvp, grad, jit, pure_callback
    >>> @custom_jvp
    ... def wright(x):
    ...     return pure_callback(scipy.special.wrightomega, x, x)
    >>> @wright.defjvp
    ... def rule(primals, tangents):
    ...     y = wright(*primals)
    ...     return y, tangents[0] * y / (1 + y)
    >>> jit(grad(lambda x: np.sum(wright(x))))(np.array([1.0]))
    array([0.5])
    """
    check_function(callback, "argument 0", "pure_callback")
    return staged(PythonFunction, callback, result_types, args, kwargs, vmap_method)


class PythonFunction(HostFunction):
    """A function, and the structures of its arguments and its results."""

    #: The name of the public function, for messages.
    caller = "pure_callback"

    def __init__(
        self, function: Callable[..., Any], arguments: Any, static: Sequence[Any], results: Any
    ) -> None:
        super().__init__(name_of(function))
        self.function = function
        self.arguments, self.static, self.results = arguments, tuple(static), results

    def __reduce__(self) -> Any:
        return type(self), (self.function, self.arguments, self.static, self.results)

    def call(self, arrays: Sequence[Any], types: Sequence[Type]) -> list[np.ndarray]:
        given = iter(arrays)
        leaves = [next(given) if x is _TRACED else x for x in self.static]
        args, kwargs = pytrees.unflatten(self.arguments, leaves)
        with outside_of_traces():
            made = self.function(*args, **kwargs)
        leaves, structure = pytrees.flatten(made)
        if structure != self.results:
            raise StructureError(
                f"{self.name}, called by {self.caller}, returned {pytrees.in_words(structure)}, "
                f"but its result_types are {pytrees.in_words(self.results)}."
            )
        pairs = zip(leaves, types, strict=True)
        return [self._checked(leaf, t, k) for k, (leaf, t) in enumerate(pairs)]

    def _checked(self, leaf: Any, type: Type, position: int) -> np.ndarray:
        array = np.asarray(leaf)
        which = (
            f"result {position} of {self.name}"
            if len(self.results) > 1
            else (f"the result of {self.name}")
        )
        if array.shape != type.shape:
            raise ShapeError(
                f"{self.caller}: {which} has shape {array.shape}, and its type is {type}. Return "
                f"an array of shape {type.shape}, or change result_types"
                f"{'' if array.dtype.kind == 'O' else f' to {_type_of(array)!r}'}."
            )
        if not _fits(leaf, array.dtype, type.dtype):
            raise DtypeError(
                f"{self.caller}: {which} has dtype {array.dtype}, and its type is {type}. Convert "
                f"it:\n    return result.astype(np.{type.dtype.name})"
            )
        return array.astype(type.dtype, copy=False)

    def no_derivative(self) -> str:
        name = self.name if self.name.isidentifier() else "f"
        types = "result_types"
        return (
            f"{self.caller} calls {self.name} as it is, so autojit does not know its derivative. "
            "Define one with custom_jvp (or, for reverse mode, custom_vjp):\n"
            "    @autojit.custom_jvp\n"
            "    def smooth(x):\n"
            f"        return autojit.{self.caller}({name}, {types}, x)\n"
            "    @smooth.defjvp\n"
            "    def rule(primals, tangents):\n"
            "        (x,), (t,) = primals, tangents\n"
            "        return smooth(x), derivative(x) * t\n"
            "or treat its arguments as constants:\n"
            f"    autojit.{self.caller}({name}, {types}, autojit.stop_gradient(x))"
        )


class _Traced:
    """Stands for an argument that programs compute."""

    def __repr__(self) -> str:
        return "array"

    def __reduce__(self) -> str:
        return "_TRACED"


_TRACED = _Traced()


def _fits(leaf: Any, found: np.dtype, wanted: np.dtype) -> bool:
    """Whether a result fits a dtype without loss; Python numbers count by their kind."""
    if type(leaf) in (bool, int, float, complex):
        return "biufc".index(found.kind) <= "bufc".find(wanted.kind) + 1 or (
            found.kind == "i" and wanted.kind in "iu"
        )
    return np.can_cast(found, wanted, "safe")


def _type_of(array: np.ndarray) -> str:
    try:
        return str(Type(canonical_dtype(array.dtype), array.shape))
    except TypeMismatch:
        return str(array.dtype)


# -- calls -------------------------------------------------------------------------------


def staged(
    kind: type[PythonFunction],
    function: Callable[..., Any],
    result_types: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    vmap_method: str | None,
) -> Any:
    """The results of a call: recorded if a trace is active, else computed."""
    method = vmap_method or METHODS[0]
    if method not in METHODS:
        raise ValueError(
            f"{kind.caller}: vmap_method is one of {', '.join(map(repr, METHODS))}, got "
            f"{vmap_method!r}"
        )
    types, results = _types(result_types, kind.caller)
    leaves, arguments = pytrees.flatten((args, kwargs))
    static = [_TRACED if pytrees.is_array(x) else x for x in leaves]
    arrays = [x for x in leaves if pytrees.is_array(x)]
    host = _function(kind, function, arguments, static, results)
    if current_trace() is None:
        found = [leaf_type(x).type for x in arrays]
        made = HostCall(host, found, types, ())([np.asarray(a) for a in arrays])
        return pytrees.unflatten(results, [a[()] for a in made])
    return pytrees.unflatten(results, _recorded(host, arrays, types, method))


def _recorded(
    host: HostFunction, arrays: Sequence[Any], types: Sequence[Type], method: str
) -> list[Any]:
    if not types:
        return []
    values = [lift(plain(x), leaf_type(x).type.dtype) for x in arrays]
    params = {"function": host, "types": tuple(types), "batch": (), "vmap": method}
    trace = current_trace()
    assert trace is not None
    return [Tracer(v, trace) for v in current_builder().emit(op, values, params)]


#: The functions that programs hold, so that tracing again finds the same one.
_made: weakref.WeakValueDictionary[Any, PythonFunction] = weakref.WeakValueDictionary()


def _function(
    kind: type[PythonFunction], function: Any, arguments: Any, static: list[Any], results: Any
) -> PythonFunction:
    key = (kind, function, arguments, tuple((type(x), x) for x in static), results)
    try:
        found = _made.get(key)
    except TypeError:  # not hashable
        return kind(function, arguments, static, results)
    if found is None:
        found = _made[key] = kind(function, arguments, static, results)
    return found


def _types(result_types: Any, caller: str) -> tuple[list[Type], Any]:
    leaves, structure = optree.tree_flatten(
        result_types, is_leaf=_is_described, namespace=pytrees.NAMESPACE
    )
    return [_type(leaf, caller) for leaf in leaves], structure


def _is_described(x: Any) -> bool:
    return hasattr(x, "shape") and hasattr(x, "dtype")


def _type(leaf: Any, caller: str) -> Type:
    try:
        if isinstance(leaf, str):
            return parse_type(leaf)
        if _is_described(leaf):
            return Type(canonical_dtype(np.dtype(leaf.dtype)), tuple(map(int, leaf.shape)))
        if type(leaf) in (bool, int, float, complex):
            return leaf_type(leaf).type
    except TypeMismatch as error:
        raise DtypeError(with_place(f"{caller}: result_types: {error}", user_source())) from None
    raise StructureError(
        with_place(
            f"{caller}: result_types holds {leaf!r:.60} of type {type(leaf).__name__}. Write a "
            "type, an array of that type, or a tree of these:\n"
            f'    autojit.{caller}(f, "f64[3]", x)',
            user_source(),
        )
    )
