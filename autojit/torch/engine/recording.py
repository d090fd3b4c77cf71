"""Operations on tensors: computed at once, and recorded if an operand needs a gradient.

Every operation on tensors goes through this module.  The operation's function runs on NumPy arrays,
or on traced arrays in a transformation, where a tensor only wraps a traced array.
"""

from __future__ import annotations

import functools
import re
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from autojit.ir.core.halves import in_dtype as as_dtype
from autojit.ir.core.halves import kind_of
from autojit.session.watching import span
from autojit.session.watching import state as watching
from autojit.tracing.context import current_trace
from autojit.tracing.tracer import Tracer
from autojit.transformations.derivatives import stop_gradient

from .modes import modes
from .nodes import NOWHERE, Edge, Node, Saved, accumulator, recorded
from .rules import Operation, Rule, exact, known_rule, plain, rule_for, types_of
from .sharing import is_fresh
from .widening import has_halves

_new = object.__new__


def _hushing() -> tuple[Callable[[], Any], Callable[[Any], object]]:
    """A function that silences NumPy's warnings, because infinities and NaN are valid results, and
    one that undoes it: ``np.errstate(all="ignore")`` in a fifth of its time."""
    from numpy._core import umath

    variable: Any = getattr(umath, "_extobj_contextvar", None)
    make: Any = getattr(umath, "_make_extobj", None)
    if variable is None or make is None:
        return lambda: np.seterr(all="ignore"), lambda before: np.seterr(**before)
    return functools.partial(variable.set, make(all="ignore")), variable.reset


hush, unhush = _hushing()


class quiet:
    """A context without NumPy's warnings."""

    __slots__ = ("before",)

    def __enter__(self) -> None:
        self.before = hush()

    def __exit__(self, *error: object) -> None:
        unhush(self.before)


class Kind:
    """Holds the class of tensors, which a higher layer defines."""

    tensor: Any = None
    #: How many threads trace for `torch.compile`: their new tensors are added to ``modes.born``.
    tracing = 0


def wrap(array: Any) -> Any:
    """A tensor of an array, without recorded history."""
    made = _new(Kind.tensor)
    made._data = array
    made._needs = False
    made._edge = None
    made._grad = None
    made._counter = None
    made._base = None
    made._accumulate_ref = None
    made._hooks = None
    if Kind.tracing and modes.born is not None and not isinstance(array, Tracer):
        modes.born.append(made)
    return made


def record(operation: Operation, tensors: Sequence[Any], static: tuple[Any, ...] = ()) -> Any:
    """Compute an operation, record it if a gradient is needed, and return tensors."""
    if static:
        static = plain(static)
    if modes.usual and not watching.watchers and current_trace() is None:
        arrays: list[Any] = []
        key: list[Any] = [operation, exact(static) if static else static]
        is_needed = False
        for t in tensors:
            array = t._data
            arrays.append(array)
            need = t._needs if t._base is None else t.requires_grad
            if need:
                is_needed = True
            key += array.shape, array.dtype.char, need
        rule = known_rule(tuple(key)) if is_needed else None
        if rule is not None and rule.is_plain and len(rule.inexact) == 1:
            return _again(rule, operation, tensors, arrays, key[4::3], static)
    return _recorded(operation, tensors, static)


def _again(
    rule: Rule,
    operation: Operation,
    tensors: Sequence[Any],
    arrays: Sequence[Any],
    needs: Sequence[bool],
    static: tuple[Any, ...],
) -> Any:
    """The result of an operation with one result and a rule that was derived before."""
    forward = rule.forward
    if forward is not None and forward.compiled is not None:
        result = forward.compiled(*arrays)
    else:
        before = hush()
        try:
            result = operation.eager(*arrays, *static)
        finally:
            unhush(before)
        if not (operation.makes_anew or operation.is_view):
            result = apart(result, arrays)
    made = wrap(result if result.__class__ is np.ndarray else np.asarray(result))
    attach_rule(rule, operation, tensors, needs, (made,))
    return made


def _recorded(operation: Operation, tensors: Sequence[Any], static: tuple[Any, ...]) -> Any:
    """The results in the general case: in any mode, with or without a known rule."""
    arrays = [t._data for t in tensors]
    compute = _watched if watching.watchers else _computed
    result = compute(operation, arrays, static)
    if modes.lifting is not None:
        modes.lifting += _known(tensors)
    needs = None
    if modes.off is not None:
        result = constants(result)
    if modes.grad and not modes.tracing:
        needs = needs_of(tensors)
    if result.__class__ is tuple:
        made = tuple([wrap(r if _is_array(r) else np.asarray(r)) for r in result])
        if needs is not None and True in needs:
            attach(operation, tensors, arrays, static, needs, made)
        return made
    one = wrap(result if _is_array(result) else np.asarray(result))
    if needs is not None and True in needs:
        attach(operation, tensors, arrays, static, needs, (one,))
    return one


def needs_of(tensors: Sequence[Any]) -> tuple[bool, ...]:
    """Which tensors need gradients."""
    return tuple([t._needs if t._base is None else t.requires_grad for t in tensors])


def record_by(
    rule: Rule, operation: Operation, tensors: Sequence[Any], count: int
) -> tuple[Any, ...]:
    """The results of an operation with a rule of its own, which returns residuals after ``count``
    results."""
    arrays = [t._data for t in tensors]
    compute = _watched if watching.watchers else _computed
    found = compute(operation, arrays, ())
    made = tuple(map(wrap, found[:count]))
    attach_rule(rule, operation, tensors, needs_of(tensors), made, found[count:])
    return made


def _known(tensors: Sequence[Any]) -> list[Any]:
    """The tensors that are not traced."""
    return [t for t in tensors if not isinstance(t._data, Tracer)]


def constants(result: Any) -> Any:
    """The results, as constants to derivatives if recording was switched off in this trace."""
    if modes.off is not current_trace():
        return result
    return tuple(map(frozen, result)) if result.__class__ is tuple else frozen(result)


def frozen(array: Any) -> Any:
    """An array that is a constant to derivatives, if it is traced."""
    return stop_gradient(array) if isinstance(array, Tracer) else array


def _is_array(x: Any) -> bool:
    return x.__class__ is np.ndarray or isinstance(x, Tracer)


def _computed(operation: Operation, arrays: Sequence[Any], static: tuple[Any, ...]) -> Any:
    if current_trace() is not None:
        result = operation.on(operation.impl, arrays, static)
    else:
        if operation.compiled:
            compiled = operation.compiled.get((exact(static), types_of(arrays)))
            if compiled is not None:
                return compiled(*arrays)
        with quiet():
            if has_halves(arrays):
                result = operation.on(operation.eager, arrays, static)
            else:
                result = operation.eager(*arrays, *static)
    if operation.is_view or operation.makes_anew:
        return result
    if result.__class__ is tuple:
        return tuple([apart(r, arrays) for r in result])
    return apart(result, arrays)


def apart(result: Any, arrays: Sequence[Any]) -> Any:
    """The result in its own memory: a copy if NumPy returned an operand or a view of one."""
    for a in arrays:
        if result is a:
            return np.copy(result)
    if isinstance(result, Tracer):
        is_shared = result.base is not None
    elif result.__class__ is not np.ndarray or is_fresh(result):
        return result
    else:
        is_shared = any([np.may_share_memory(result, a) for a in arrays])
    return np.copy(result) if is_shared else result


def spoken(name: str) -> str:
    """The function name of an operation, from the name of its nodes.

    >>> spoken("LogSoftmaxBackward0")
    'log_softmax'
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", re.sub(r"Backward\d*$", "", name)).lower()


def _watched(operation: Operation, arrays: Sequence[Any], static: tuple[Any, ...]) -> Any:
    """Compute an operation as a span that watchers are notified of."""
    with span("operation", spoken(operation.name), arrays):
        return _computed(operation, arrays, static)


def attach(
    operation: Operation,
    tensors: Sequence[Any],
    arrays: Sequence[Any],
    static: tuple[Any, ...],
    needs: tuple[bool, ...],
    results: Sequence[Any],
) -> None:
    """Record the operation that results were computed by."""
    attach_rule(rule_for(operation, arrays, static, needs), operation, tensors, needs, results)


def attach_rule(
    rule: Rule,
    operation: Operation,
    tensors: Sequence[Any],
    needs: Sequence[bool],
    results: Sequence[Any],
    residuals: Sequence[Any] = (),
) -> None:
    """Record results with the rule of their operation; residuals are arrays that only the node
    holds."""
    links: Any = () if len(tensors) < 5 else []  # each edge copies a tuple
    for t, need in zip(tensors, needs):  # noqa: B905 - it is asked for each operation
        if need:
            edge = t._edge if t._base is None else t._current_edge()
            links += (accumulator(t), 0) if edge is None else edge
        else:
            links += NOWHERE
    node = recorded(operation, rule, links)
    node.saved = _saved(rule, tensors, results, residuals) if rule.saved else ()
    if not modes.usual and modes.anomaly:
        node.extra().traceback = "".join(traceback.format_stack()[:-2])
    for k, inexact in enumerate(rule.inexact):
        if inexact:
            t = results[k]
            t._edge = (node, k)
            t._needs = True


#: The counter of tensors that never change: a tuple, which the garbage collector need not track.
FIXED = (0,)


def counter_of(t: Any) -> Any:
    """The counter of in-place changes of a tensor's memory, made on first use.

    It has a second element if a traced copy represents a view of the memory.
    """
    if t._counter is None:
        t._counter = [0]
    return t._counter


def constant(number: Any, dtype: np.dtype) -> Any:
    """A number as a new tensor.

    Raises AttributeError if it is neither a number nor an array of numbers; the caller, which knows
    the argument, names it.
    """
    kind = getattr(getattr(number, "dtype", None), "kind", "f")
    numbers = (int, float, complex, np.generic)
    if kind in "OSUMm" or not (isinstance(number, numbers) or _is_array(number)):
        raise AttributeError(f"{type(number).__name__} is not a tensor", name="_data", obj=number)
    made = wrap(as_dtype(number, dtype))
    made._counter = FIXED
    return made


def _saved(
    rule: Rule,
    tensors: Sequence[Any],
    results: Sequence[Any],
    residuals: Sequence[Any],
) -> tuple[Saved, ...]:
    saved: list[Saved] = []
    for kind, k in rule.saved:
        if kind == "in":
            t = tensors[k]
            counter = t._counter or counter_of(t)
            saved.append((t._data, counter, counter[0]))
        elif kind == "out":
            t = results[k]
            counter = t._counter or counter_of(t)
            saved.append((t._data, counter, counter[0]))
        else:
            saved.append((residuals[k], FIXED, 0))
    return tuple(saved)


def edge_of(t: Any) -> Edge:
    """The edge along which the gradient of a tensor continues."""
    edge: Edge | None = t._edge if t._base is None else t._current_edge()
    return (accumulator(t), 0) if edge is None else edge


def compute(operation: Operation, tensors: Sequence[Any], static: tuple[Any, ...] = ()) -> Any:
    """The result of an operation that has no derivative."""
    compute = _watched if watching.watchers else _computed
    result = compute(operation, [t._data for t in tensors], static)
    if modes.lifting is not None:
        modes.lifting += _known(tensors)
    if result.__class__ is tuple:
        return tuple([wrap(r if _is_array(r) else np.asarray(r)) for r in result])
    return wrap(result if _is_array(result) else np.asarray(result))


def from_saved(saved: Saved, edge: Edge | None) -> Any:
    """A tensor of a saved array, linked into the graph."""
    made = wrap(saved[0])
    made._counter = saved[1]
    if edge is not None and kind_of(saved[0].dtype) in "fc":
        made._needs = True
        made._edge = edge
    return made


def is_node(x: Any) -> bool:
    """Whether an object is a node of a graph."""
    return isinstance(x, Node)
