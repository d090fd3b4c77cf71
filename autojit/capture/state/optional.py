"""Values that are None on one way through a block and something else on another.

A flag says which. ``x is None`` reads the flag. Any other use takes the value, and the compiled
code raises Python's error for None. Branches on the flag know it: if it holds, nothing is checked.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import optree

from autojit.errors import ConcreteValueError, with_place
from autojit.staging.pytrees import NAMESPACE
from autojit.tracing.context import current_trace
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source
from autojit.tracing.tracer import Tracer

from .maybe import Maybe

#: Flags, and whether each holds.
Facts = tuple[tuple[Any, bool], ...]


class Flag(Tracer):
    """A traced bool, and the flags of optional values that hold if it is true, and if it is
    false."""

    __slots__ = ("if_false", "if_true")

    def __init__(self, x: Tracer, if_true: Facts, if_false: Facts) -> None:
        super().__init__(x.own, x.owner, x.weak)
        self.if_true, self.if_false = if_true, if_false


def flag(x: Any, if_true: Facts, if_false: Facts) -> Any:
    """A bool with its implications, if it has any."""
    is_bool = isinstance(x, Tracer) and x.is_scalar and x.dtype == np.dtype(bool)
    return Flag(x, if_true, if_false) if is_bool and (if_true or if_false) else x


def implied(x: Any, holds: bool) -> Facts:
    """The facts about flags that follow if a condition holds, or if it does not."""
    if type(x) is not Flag:
        return ()
    return x.if_true if holds else x.if_false


def assume(facts: Iterable[tuple[Any, bool]]) -> None:
    """Note flags that are known in the rest of the current block."""
    trace = current_trace()
    if trace is not None:
        trace.facts.update({id(held): (held, holds) for held, holds in facts})


def known_flag(held: Any) -> bool | None:
    """The value of a flag, if it is known here."""
    if isinstance(held, (bool, np.bool_)):
        return bool(held)
    trace = current_trace()
    while trace is not None:
        if id(held) in trace.facts:
            return trace.facts[id(held)][1]
        trace = trace.around
    return None


class Optional:
    """A value if ``__aj_held__`` is true, else None.

    Its attributes have names that no user has, since the user may ask the value for any attribute.
    """

    __slots__ = ("__aj_held__", "__aj_value__")
    #: So that modules below this one recognize it.
    __aj_may_be_none__ = True
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Any, held: Any) -> None:
        self.__aj_value__ = value
        self.__aj_held__ = held

    def __aj_is_none__(self) -> Any:
        """``x is None``."""
        known = known_flag(self.__aj_held__)
        if known is not None:
            return not known
        facts = ((self.__aj_held__, True),)
        absent = tuple((held, False) for held, _ in facts)
        negated = np.logical_not(self.__aj_held__)
        negated.weak = bool
        return flag(negated, absent, facts)

    def __aj_truth__(self, truth: Callable[[Any], Any]) -> Any:
        """``bool(x)``; ``truth`` gives the truth of the value."""
        known = known_flag(self.__aj_held__)
        if known is not None:
            return known and truth(self.__aj_value__)
        there = truth(self.__aj_value__)
        if isinstance(there, bool):
            return flag(self.__aj_held__, ((self.__aj_held__, True),), ()) if there else False
        return flag(np.logical_and(self.__aj_held__, there), ((self.__aj_held__, True),), ())

    def __aj_present__(self, error: Exception | str) -> Any:
        """The value; if it is None, the compiled code raises the error, or a TypeError."""
        known = known_flag(self.__aj_held__)
        if known is not True:
            error = TypeError(error) if isinstance(error, str) else error
            if known is False:
                raise error
            hooks.fail_where(np.logical_not(self.__aj_held__), error)
            assume([(self.__aj_held__, True)])
        return self.__aj_value__

    def __repr__(self) -> str:
        return f"<{self.__aj_value__!r} or None>"

    # -- operations that None has too

    def __eq__(self, other: Any) -> Any:
        if other is None:
            return self.__aj_is_none__()
        if isinstance(other, Optional):
            both = np.logical_and(self.__aj_held__, other.__aj_held__)
            none = np.logical_not(np.logical_or(self.__aj_held__, other.__aj_held__))
            return np.logical_or(
                none, np.logical_and(both, self.__aj_value__ == other.__aj_value__)
            )
        known = known_flag(self.__aj_held__)
        if known is not None:
            return self.__aj_value__ == other if known else other == None  # noqa: E711
        return np.logical_and(self.__aj_held__, self.__aj_value__ == other)

    def __ne__(self, other: Any) -> Any:
        same = self == other
        return np.logical_not(same) if np.ndim(same) else hooks.negated(same)

    def __bool__(self) -> bool:
        return bool(self.__aj_truth__(bool))

    # -- operations that None does not have

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return getattr(self.__aj_present__(AttributeError(_NO_ATTRIBUTE.format(name))), name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in Optional.__slots__:
            object.__setattr__(self, name, value)
        else:
            setattr(self.__aj_present__(AttributeError(_NO_ATTRIBUTE.format(name))), name, value)

    def __getitem__(self, index: Any) -> Any:
        return self.__aj_present__(_NO_ITEM)[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.__aj_present__("'NoneType' object does not support item assignment")[index] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.__aj_present__("'NoneType' object is not iterable"))

    def __len__(self) -> int:
        return len(self.__aj_present__("object of type 'NoneType' has no len()"))

    def __contains__(self, x: Any) -> bool:
        return x in self.__aj_present__("argument of type 'NoneType' is not iterable")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__aj_present__("'NoneType' object is not callable")(*args, **kwargs)

    def __format__(self, spec: str) -> str:
        return format(self.__aj_present__("unsupported format string passed to NoneType"), spec)

    def __index__(self) -> int:
        return operator.index(
            self.__aj_present__("'NoneType' object cannot be interpreted as an integer")
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        values = [without_none(x, f"ufunc '{ufunc.__name__}' of None") for x in inputs]
        return getattr(ufunc, method)(*values, **kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func(*_known_values(args, func), **_known_values(kwargs, func))

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return np.asarray(_known_value(self, np.asarray), *args, **kwargs)


_NO_ATTRIBUTE = "'NoneType' object has no attribute '{}'"
_NO_ITEM = "'NoneType' object is not subscriptable"


def inner(x: Maybe | Optional) -> Any:
    """The value of an object that may be None, or unbound: the value if it is neither."""
    return x.__aj_value__ if isinstance(x, Optional) else x.value


def with_inner(x: Maybe | Optional, value: Any) -> Maybe | Optional:
    """The same object with another value."""
    return Optional(value, x.__aj_held__) if isinstance(x, Optional) else Maybe(value, x.held)


def without_none(x: Any, words: str) -> Any:
    """A value for a use in which None raises a TypeError."""
    return x.__aj_present__(words) if type(x) is Optional else x


def _known_values(x: Any, func: Any) -> Any:
    if type(x) is dict:
        return {key: _known_values(each, func) for key, each in x.items()}
    if type(x) in (list, tuple):
        return type(x)([_known_values(each, func) for each in x])
    return _known_value(x, func)


def _known_value(x: Any, func: Any) -> Any:
    """An argument of a function of NumPy's; for some of these None has a meaning."""
    if type(x) is not Optional:
        return x
    known = known_flag(x.__aj_held__)
    if known is None:
        raise ConcreteValueError(
            with_place(
                f"np.{func.__name__} is given a value that may be None, which is known only when "
                "the compiled code runs. Ask first:\n"
                f"    if x is not None: np.{func.__name__}(x)",
                user_source(),
            )
        )
    return x.__aj_value__ if known else None


def _words(symbol: str, kinds: tuple[str, str]) -> str:
    if symbol in ("<", "<=", ">", ">="):
        return f"'{symbol}' not supported between instances of '{kinds[0]}' and '{kinds[1]}'"
    return f"unsupported operand type(s) for {symbol}: '{kinds[0]}' and '{kinds[1]}'"


def _kind(x: Any) -> str:
    return "NoneType" if type(x) is Optional else hooks.type_of(x).__name__


def _operator(symbol: str, apply: Any) -> tuple[Any, Any, Any]:
    """An operator, its reflection and its in-place form; Python may lack the last two."""
    in_place = getattr(operator, "i" + apply.__name__.strip("_"), apply)

    def forward(self: Optional, other: Any, apply: Any = apply) -> Any:
        return apply(self.__aj_present__(_words(symbol, ("NoneType", _kind(other)))), other)

    def backward(self: Optional, other: Any) -> Any:
        return apply(other, self.__aj_present__(_words(symbol, (_kind(other), "NoneType"))))

    def changed(self: Optional, other: Any) -> Any:
        return forward(self, other, in_place)

    return forward, backward, changed


def _unary(symbol: str, apply: Any) -> Any:
    def method(self: Optional) -> Any:
        return apply(self.__aj_present__(f"bad operand type for {symbol}: 'NoneType'"))

    return method


_OPERATORS = {
    "add": ("+", operator.add), "sub": ("-", operator.sub), "mul": ("*", operator.mul),
    "truediv": ("/", operator.truediv), "floordiv": ("//", operator.floordiv),
    "mod": ("%", operator.mod), "pow": ("** or pow()", operator.pow),
    "matmul": ("@", operator.matmul), "and": ("&", operator.and_), "or": ("|", operator.or_),
    "xor": ("^", operator.xor), "lshift": ("<<", operator.lshift),
    "rshift": (">>", operator.rshift),
}  # fmt: skip
_COMPARISONS = {
    "lt": ("<", operator.lt), "le": ("<=", operator.le), "gt": (">", operator.gt),
    "ge": (">=", operator.ge),
}  # fmt: skip
_UNARY = {
    "neg": ("unary -", operator.neg), "pos": ("unary +", operator.pos),
    "invert": ("unary ~", operator.invert), "abs": ("abs()", abs),
}  # fmt: skip
for _name, (_symbol, _apply) in _OPERATORS.items():
    for _prefix, _method in zip(("", "r", "i"), _operator(_symbol, _apply), strict=True):
        setattr(Optional, f"__{_prefix}{_name}__", _method)
for _name, (_symbol, _apply) in _COMPARISONS.items():
    setattr(Optional, f"__{_name}__", _operator(_symbol, _apply)[0])
for _name, (_symbol, _of_one) in _UNARY.items():
    setattr(Optional, f"__{_name}__", _unary(_symbol, _of_one))


def _taken_apart(x: Any) -> tuple[list[Any], None, list[str]]:
    return [x.__aj_value__, x.__aj_held__], None, ["__aj_value__", "__aj_held__"]


def _put_together(_: Any, children: Any) -> Any:
    return Optional(*children)


#: Typed as Any, because optree's annotations ask for collections.
_CLASS: Any = Optional
optree.register_pytree_node(_CLASS, _taken_apart, _put_together, namespace=NAMESPACE)
