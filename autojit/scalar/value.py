"""A number that records the operations on it.

An operation computes its number at once and creates a node: the number, the operands and the
operation. Nothing else is recorded, because nodes in order of creation (the *tape*) are already in
topological order, so :meth:`Value.backward` runs through the tape from its end. The tape is
bounded, and each backward pass discards it. If it does not contain the whole graph, the graph is
walked instead. Neither way recurses.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterable
from operator import attrgetter
from typing import Any, cast

import numpy as np
import optree

from autojit.staging.pytrees import NAMESPACE, WRAPPERS
from autojit.tracing.hooks import hooks

from .drawn import Drawn
from .operations import Operation, sweep
from .walking import ZERO, Own, operands_of, walk_back
from .words import NAMES, no_number, sigmoid

#: The number of recent operations on the tape: at most 16 MB of otherwise unused nodes.
LONGEST = 131_072

_new = object.__new__
_epoch_of = attrgetter("_epoch")
#: The epoch of computed nodes that no tape holds with all their operands.
OUTSIDE = object()
_tape: deque[Value] = deque(maxlen=LONGEST)
_push = _tape.append
_epoch = object()


def _begin_tape() -> deque[Value]:
    """Start a new tape and return the old one.

    The epoch changes last, so that nodes that another thread records meanwhile are at worst marked
    as older than they are, and are found by walking.
    """
    global _tape, _push, _epoch
    tape, _tape = _tape, deque(maxlen=LONGEST)
    _push = _tape.append
    _epoch = object()
    return tape


class Value(Drawn):
    """A number with a gradient.

    Args:
        data: the number.
        _children: its operands, for operations of your own. Then set ``_backward`` to a function
            that adds to the gradients of the children.
        _op: the name of the operation, for graphs.
        label: a name for graphs.

    ``backward()`` computes the derivatives of a number with respect to all numbers that it was
    computed from, and adds each to that number's ``grad``. It reads their current ``data``.

    >>> x = Value(2.0, label="x")
    >>> y = (x**2 + 1).log()
    >>> y.backward()
    >>> x.grad
    0.8
    """

    __slots__ = ("_a", "_b", "_epoch", "_label", "_operation", "data", "grad")

    def __init__(
        self, data: Any, _children: Iterable[Value] = (), _op: str = "", label: str = ""
    ) -> None:
        if data.__class__ is not float and not hasattr(data, "__truediv__"):
            raise no_number(data, "Value")
        self.data: Any = data
        self.grad: Any = ZERO
        self._a: Any = None
        self._b: Any = None
        self._epoch: Any = None
        self._operation: Any = None
        self._label = label
        children = tuple(_children)
        if children or _op:
            self._operation, self._b, self._epoch = Own(_op), children, OUTSIDE

    # -- origin --------------------------------------------------------------

    @property
    def label(self) -> str:
        """A name for graphs."""
        return getattr(self, "_label", "")

    @label.setter
    def label(self, label: str) -> None:
        self._label = label

    @property
    def _op(self) -> str:
        return "" if self._operation is None else self._operation.name

    @property
    def _prev(self) -> set[Value]:
        if self._operation is not None:
            self._operation.unfold(self)
        return set(operands_of(self))

    @property
    def _backward(self) -> Callable[[], None]:
        return lambda: None if self._operation is None else self._operation.pull(self, self.grad)

    @_backward.setter
    def _backward(self, function: Callable[[], None]) -> None:
        own = Own(self._op)
        own.function = function
        self._b, self._operation, self._a = operands_of(self), own, None
        self._epoch = OUTSIDE
        _begin_tape()  # nodes on it may have taken this one for a given number

    def __repr__(self) -> str:
        return f"Value(data={self.data}, grad={self.grad})"

    # -- operations -----------------------------------------------------------

    def __add__(self, other: Any) -> Value:
        if other.__class__ is not Value:
            other = as_value(other)
            if other is NotImplemented:
                return NotImplemented
        made = _new(Value)
        made.data = self.data + other.data
        made.grad = ZERO
        made._a = self
        made._b = other
        made._operation = ADD
        made._epoch = _epoch
        _push(made)
        return made

    def __mul__(self, other: Any) -> Value:
        if other.__class__ is not Value:
            other = as_value(other)
            if other is NotImplemented:
                return NotImplemented
        made = _new(Value)
        made.data = self.data * other.data
        made.grad = ZERO
        made._a = self
        made._b = other
        made._operation = MUL
        made._epoch = _epoch
        _push(made)
        return made

    def __pow__(self, other: Any) -> Value:
        if isinstance(other, Value):
            return _recorded(POWER, _power(self.data, other.data), self, other)
        if not isinstance(other, (int, float)):
            return NotImplemented
        return _recorded(_constant_power(other), self.data**other, self)

    def __rpow__(self, other: Any) -> Value:
        other = as_value(other)
        return other if other is NotImplemented else other**self

    def __neg__(self) -> Value:
        return self * -1

    def __pos__(self) -> Value:
        return self

    def __sub__(self, other: Any) -> Value:
        other = as_value(other)
        return other if other is NotImplemented else self + (-other)

    def __rsub__(self, other: Any) -> Value:
        other = as_value(other)
        return other if other is NotImplemented else other + (-self)

    def __truediv__(self, other: Any) -> Value:
        other = as_value(other)
        return other if other is NotImplemented else self * other**-1

    def __rtruediv__(self, other: Any) -> Value:
        other = as_value(other)
        return other if other is NotImplemented else other * self**-1

    __radd__ = __add__
    __rmul__ = __mul__

    def __abs__(self) -> Value:
        return _recorded(ABS, abs(self.data), self)

    def tanh(self) -> Value:
        """The hyperbolic tangent."""
        return _recorded(TANH, NAMES["tanh_"](self.data), self)

    def relu(self) -> Value:
        """The number if it is positive, else 0; the derivative at 0 is 0."""
        x = self.data
        return _recorded(RELU, _relu(x), self)

    def exp(self) -> Value:
        """e to the power of the number; OverflowError beyond 709, as in Python."""
        return _recorded(EXP, NAMES["exp_"](self.data), self)

    def log(self) -> Value:
        """The natural logarithm."""
        return _recorded(LOG, NAMES["log_"](self.data), self)

    def sigmoid(self) -> Value:
        """The logistic function, 1 / (1 + e**-x)."""
        return _recorded(SIGMOID, sigmoid(self.data), self)

    def sin(self) -> Value:
        """The sine."""
        return _recorded(SIN, NAMES["sin_"](self.data), self)

    def cos(self) -> Value:
        """The cosine."""
        return _recorded(COS, NAMES["cos_"](self.data), self)

    def tan(self) -> Value:
        """The tangent."""
        return _recorded(TAN, NAMES["tan_"](self.data), self)

    def sqrt(self) -> Value:
        """The square root."""
        return _recorded(SQRT, NAMES["sqrt_"](self.data), self)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Support NumPy's functions of the same names, and NumPy's numbers as left operands."""
        own = _UFUNCS.get(ufunc.__name__)
        if method != "__call__" or kwargs or own is None:
            return NotImplemented
        values = [as_value(x) for x in inputs]
        return NotImplemented if NotImplemented in values else own(*values)

    # -- comparisons are those of the numbers; `==` is identity ---------------

    def __lt__(self, other: Any) -> Any:
        return self.data < getattr(other, "data", other)

    def __le__(self, other: Any) -> Any:
        return self.data <= getattr(other, "data", other)

    def __gt__(self, other: Any) -> Any:
        return self.data > getattr(other, "data", other)

    def __ge__(self, other: Any) -> Any:
        return self.data >= getattr(other, "data", other)

    # -- gradients ------------------------------------------------------------

    def backward(self) -> None:
        """Add this number's derivative to the ``grad`` of each number that it was computed from.

        Its own ``grad`` becomes 1.  Gradients accumulate over calls until they are set to 0.
        """
        in_order = self._epoch is _epoch and _holds_all(_tape, _epoch)
        tape = _begin_tape()
        if in_order:
            self.grad = 1.0
            _sweep()(tape)
        else:
            walk_back(self)


def as_value(x: Any) -> Any:
    """A Value unchanged, a number as a Value; NotImplemented for other objects."""
    if isinstance(x, Value):
        return x
    if isinstance(x, (int, float, np.number)) or getattr(x, "shape", None) == ():
        return Value(x)
    return NotImplemented


def _recorded(operation: Operation, data: Any, a: Value, b: Value | None = None) -> Value:
    return pushed(made_node(operation, data, a, b, epoch=_epoch))


def made_node(
    operation: Any, data: Any, a: Value, b: Value | None = None, *, grad: Any = ZERO,
    epoch: object = OUTSIDE,
) -> Value:  # fmt: skip
    """A computed Value."""
    made = _new(Value)
    made.data = data
    made.grad = grad
    made._a = a
    made._b = b
    made._operation = operation
    made._epoch = epoch
    return made


def own_epoch(operands: Iterable[Value]) -> object:
    """The epoch of a node with these operands: OUTSIDE if an operand was computed in another."""
    epoch = _epoch
    return epoch if {None, epoch}.issuperset(map(_epoch_of, operands)) else OUTSIDE


def pushed(node: Value) -> Value:
    """A node, recorded on the tape."""
    _push(node)
    return node


def _holds_all(tape: deque[Value], epoch: object) -> bool:
    """Whether a tape has all operands of its nodes, and no gradient has reached one of them."""
    if len(tape) == LONGEST:
        return False
    for v in tape:
        a, b = v._a, v._b
        if (
            v.grad is not ZERO
            or a is None
            or (a._epoch is not epoch and a._epoch is not None)
            or (b is not None and b._epoch is not epoch and b._epoch is not None)
        ):
            return False
    return True


def _relu(x: Any) -> Any:
    return (0.0 if x <= 0 else x) if isinstance(x, (int, float)) else np.where(x <= 0, 0.0, x)


def _power(x: Any, y: Any) -> Any:
    return x**y


def _expit(x: Any) -> Any:
    return sigmoid(x)


ADD, MUL = Operation("+", np.add, 2), Operation("*", np.multiply, 2)
POWER = Operation("**", np.power, 2)
TANH, EXP, LOG = Operation("tanh", np.tanh), Operation("exp", np.exp), Operation("log", np.log)
SIN, COS, TAN = Operation("sin", np.sin), Operation("cos", np.cos), Operation("tan", np.tan)
SQRT, ABS = Operation("sqrt", np.sqrt), Operation("abs", np.abs)
RELU, SIGMOID = Operation("ReLU", _relu), Operation("sigmoid", _expit)


@functools.cache
def _sweep() -> Callable[[deque[Value]], None]:
    return sweep((ADD, MUL), ZERO)


_powers: dict[tuple[type, float], Operation] = {}


def _constant_power(n: float) -> Operation:
    found = _powers.get((type(n), n))
    if found is None:
        found = _powers[type(n), n] = Operation(f"**{n}", lambda x: x**n)
    return found


_UFUNCS: dict[str, Callable[..., Value]] = {
    "add": Value.__add__, "multiply": Value.__mul__, "subtract": Value.__sub__,
    "divide": Value.__truediv__, "power": Value.__pow__, "negative": Value.__neg__,
    "absolute": Value.__abs__, "exp": Value.exp, "log": Value.log, "tanh": Value.tanh,
    "sin": Value.sin, "cos": Value.cos, "tan": Value.tan, "sqrt": Value.sqrt,
}  # fmt: skip


# -- as arguments and results of compiled functions ----------------------------------------


def _number_of(value: Value) -> Any:
    return ((value.data,), None, ("data",))


def _value_of(_: Any, children: Any) -> Any:
    (data,) = children
    if isinstance(data, Value):  # a derivative with respect to a Value
        return data
    value = Value(0.0)
    value.data = data.item() if isinstance(data, np.generic) else data
    return value


optree.register_pytree_node(cast(Any, Value), cast(Any, _number_of), _value_of, namespace=NAMESPACE)
WRAPPERS[Value] = lambda value: value.data
hooks.releases.append(_begin_tape)
