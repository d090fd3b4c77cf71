"""From a Python function and its arguments to a program and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.codegen.cuda.arrays import DeviceArray
from autojit.codegen.cuda.foreign import is_foreign
from autojit.errors import AutojitError, MissingDtypeError
from autojit.ir.core.program import Program
from autojit.ir.core.types import Type, canonical_dtype
from autojit.ir.core.values import apart
from autojit.protocols.kinds import are_noted, kinds_of
from autojit.tracing.context import PYTHON_TYPES, Paths, check_dtype, current_trace
from autojit.tracing.hooks import hooks
from autojit.tracing.known import Inputs
from autojit.tracing.running.trace import trace_flat
from autojit.tracing.tracer import Tracer

from . import pytrees
from .containers import watched
from .numba_functions import python_function
from .unrolled import tidied, without_long_stretches


class Traced(NamedTuple):
    """A program, the structure of its result, and the function's auxiliary result (``aux``)."""

    program: Program
    structure: Any
    results: int
    #: The branches and loops of the user's in it (see ``Trace.constructs``).
    constructs: frozenset[tuple[str, Any]] = frozenset()
    #: Whether the structure or the shapes of the result depend on traced values.
    varies: bool = False
    #: Whether the function tells arrays without axes from scalars (see ``LeafType.boxed``).
    tells_scalars: bool = False

    def result(self, arrays: Sequence[Any], *, is_traced: bool = False) -> Any:
        """The function's result, made of those of the program."""
        if self.varies:
            return hooks.put_together(self.structure, is_traced)(arrays)
        return pytrees.unflatten(self.structure, arrays)


def note_tells_scalars(used: Traced) -> None:
    """Note in the active trace, which calls a function traced before, whether that tells arrays
    without axes from scalars."""
    trace = current_trace()
    if trace is not None and used.tells_scalars:
        trace.tells_scalars[0] = True


class LeafType(NamedTuple):
    """The type of a leaf, and Python's type if it is a Python number. ``kinds`` are the types that
    the user may see, unless that is Python's or the dtype's: ``np.ndarray`` for an array without
    axes, or several for a number whose type depends on the way."""

    type: Type
    weak: Any
    kinds: frozenset[Any] = frozenset()

    @property
    def boxed(self) -> bool:
        """Whether it is, or may be, an array without axes rather than a scalar."""
        return np.ndarray in self.kinds

    @property
    def seen(self) -> frozenset[Any]:
        """The types that the user may see."""
        return self.kinds or frozenset({self.weak or self.type.dtype.type})

    def seen_as(self, kinds: frozenset[Any]) -> LeafType:
        """The same type, seen by the user as one of these."""
        usual = LeafType(self.type, self.weak)
        is_usual = self.type.shape or kinds == usual.seen
        return usual if is_usual else usual._replace(kinds=kinds)


def columns_of(leaves: Sequence[LeafType]) -> tuple[list[Type], list[Any], list[frozenset[Any]]]:
    """The types of leaves, their Python types, and the types that the user may see."""
    return [x.type for x in leaves], [x.weak for x in leaves], [x.kinds for x in leaves]


def leaf_type(leaf: Any) -> LeafType:
    """The type of an argument, which is all that the trace may know of it."""
    if isinstance(leaf, Tracer):
        return LeafType(leaf.type, leaf.weak)
    if isinstance(leaf, DeviceArray):
        return LeafType(leaf.type, None)
    if is_foreign(leaf):  # its dtype may not be one of NumPy's
        described = leaf.__cuda_array_interface__
        dtype = np.dtype(described["typestr"])
        check_dtype(dtype)
        return LeafType(Type(canonical_dtype(dtype), tuple(described["shape"])), None)
    weak = type(leaf) if type(leaf) in PYTHON_TYPES else None
    dtype = PYTHON_TYPES[weak] if weak else leaf.dtype if hasattr(leaf, "dtype") else np.dtype(bool)
    check_dtype(dtype)
    return LeafType(Type(canonical_dtype(dtype), tuple(np.shape(leaf))), weak)


def argument_type(leaf: Any) -> LeafType:
    """The same for an argument of a function of the user's, which may tell an array without axes
    from a scalar, and whose type may depend on the way."""
    found = leaf_type(leaf)
    if found.type.shape:
        return found
    if isinstance(leaf, Tracer) and are_noted([leaf]):
        return found.seen_as(frozenset(kinds_of(leaf)))
    if found.weak:
        return found
    is_array = not leaf.is_number if isinstance(leaf, Tracer) else isinstance(leaf, np.ndarray)
    return found._replace(kinds=_ARRAY) if is_array else found


_ARRAY = frozenset({np.ndarray})


#: Code that converts unsupported dtypes to supported ones, by kind.
_CONVERSIONS = {
    "f": "x.astype(np.float32)",
    "O": "x.astype(float)",
    "U": "x.astype(float)                    # if the texts are numbers",
    "S": "x.astype(float)                    # if the texts are numbers",
    "M": "(x - x[0]) / np.timedelta64(1, 's')    # seconds since the first",
    "m": "x / np.timedelta64(1, 's')         # seconds",
    "V": "x[x.dtype.names[0]]                # one field",
}


def check_dtypes(leaves: Sequence[Any], paths: Sequence[str]) -> None:
    """Raise MissingDtypeError with the path of the first argument whose dtype is not supported."""
    for leaf, path in zip(leaves, paths, strict=True):
        dtype = getattr(leaf, "dtype", None)
        try:
            leaf_type(leaf)
        except MissingDtypeError as error:
            size = "float64" if dtype is not None and dtype.itemsize > 8 else "float32"
            fix = _CONVERSIONS.get(getattr(dtype, "kind", ""), "").replace("float32", size)
            words, place = apart(str(error))
            fix = f"\nConvert it:\n    {fix}" if fix else ""
            raise MissingDtypeError(f"{path}: {words}{fix}{place}") from None


def trace_function(
    function: Callable[..., Any],
    leaves: Sequence[LeafType],
    call: Callable[[Callable[..., Any], Sequence[Any]], Any],
    paths: Paths | None = None,
    given: Inputs | None = None,
    *,
    may_vary: bool = False,
) -> Traced:
    """Trace ``call(function, leaves)``, which builds the arguments with these paths from the
    leaves.

    With ``given`` the program serves only these inputs, and Python may ask for values. If ``call``
    uses ``trees.arguments``, ArgumentChangedError is raised when the function changes a container.
    With ``may_vary`` the structure and the shapes of the result may depend on traced values.
    """
    name = getattr(function, "__name__", type(function).__name__)
    shown, name = name, name if name.isidentifier() else "main"
    structure: Any = None
    constructs: set[tuple[str, Any]] = set()
    has_arrays = varies = tells_scalars = False

    def flat(*tracers: Tracer) -> list[Any]:
        nonlocal structure, has_arrays, varies, tells_scalars
        twin = hooks.converted(python_function(function))
        trace = current_trace()
        try:
            found = hooks.returned(call(watched(twin), tracers), may_vary)
        except AutojitError:
            raise
        except Exception as error:
            if trace is None or not trace.checks:
                raise
            # one that may come first is raised as the code runs, and so is this one behind it
            hooks.fail_where(np.True_, error)
            found = 0.0
        results, structure = pytrees.flatten(found)
        varies = may_vary and hooks.varies(found)
        if trace is not None:
            constructs.update(trace.constructs)
            has_arrays, tells_scalars = bool(trace.loops_at_once), trace.tells_scalars[0]
        return [pytrees.check_result(r, f"The result of {shown}", function) for r in results]

    def numbered() -> list[str]:
        return [f"argument {i}" for i in range(len(leaves))]

    program = trace_flat(flat, *columns_of(leaves), name, paths or numbered, given)
    program = without_long_stretches(tidied(program) if has_arrays else program)
    count, kinds = len(program.outputs), frozenset(constructs)
    return Traced(program, structure, count, kinds, varies, tells_scalars)
