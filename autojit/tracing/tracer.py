"""The traced array: what a user's function sees instead of its arguments."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from autojit.errors import (
    ConcreteValueError,
    RefusedInPlaceError,
    UncoveredAttributeError,
    UncoveredFunctionError,
    with_place,
)
from autojit.ir.core.halves import shown_dtype
from autojit.ir.core.program import Source, Value
from autojit.ir.core.types import Type
from autojit.session import advice
from autojit.session.elsewhere import closest_of_arrays, of_others
from autojit.session.frames import is_installed, is_of_python
from autojit.session.messages import written
from autojit.session.shown_text import Use, use_of_text

from .aliasing import View, refreshed
from .array_methods import ArrayMethods, uncovered_of
from .context import Trace, check_not_leaked
from .hooks import hooks
from .known import ONE_BY_ONE, at_hand, depends, is_batched, lost_derivative
from .scipy_calls import calling, way_out
from .source import user_frame, user_instruction, user_source


class Tracer(ArrayMethods):
    """An array or number whose value is not known yet, only its type.

    It implements NumPy's protocols, so ``np.sin(x)``, ``x + 1`` and ``x.T`` record operations.
    ``weak`` is the type of a traced Python number, which takes the dtype of its other operand.
    """

    __slots__ = (
        "base", "boxed", "how", "kept", "lost", "ordered", "own", "owner", "seen", "viewed", "weak"
    )  # fmt: skip
    __array_priority__ = 1000.0
    #: Whether its length is traced.
    is_bounded = False
    #: Higher than a DataFrame's, so that pandas leaves operators to the traced array.
    __pandas_priority__ = 5000

    def __init__(self, value: Value, trace: Trace, weak: type | None = None) -> None:
        self.own = value
        self.owner = trace
        self.weak = weak
        #: For a view: its base, how it shows the base, and the last seen value of the base.
        self.base: Tracer | None = None
        self.how: View | None = None
        self.seen: Value | None = None
        #: Whether a change elsewhere may have changed it (see ``aliasing``).
        self.lost = False
        #: Whether it is an element of a list that holds copies of its elements (see ``aliasing``).
        self.kept = False
        self.ordered = False  # whether it is known to be contiguous in row-major order
        self.boxed = False  # whether NumPy would have an array, not a scalar, even without axes
        self.viewed = False  # whether there may be views of it

    @property
    def value(self) -> Value:
        """Its present value in its trace."""
        return self.own if self.base is None and not self.lost else refreshed(self)

    @property
    def is_scalar(self) -> bool:
        """Whether NumPy would have a scalar here, which is immutable."""
        return self.is_number

    @property
    def is_number(self) -> bool:
        """The same, where the trace does not depend on it: an argument that is a scalar and one
        that is an array without axes share their code if nothing has asked for ``is_scalar``."""
        return not self.shape and not self.boxed and self.base is None

    # -- what is known ----------------------------------------------------

    @property
    def type(self) -> Type:
        return self.own.type

    @property
    def dtype(self) -> np.dtype:
        dtype = self.own.type.dtype
        return dtype if dtype.kind != "V" else shown_dtype(dtype)

    @property
    def ndim(self) -> int:
        return self.own.type.ndim

    @property
    def size(self) -> int:
        return self.own.type.size

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.own.type.nbytes

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of a traced scalar")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("iteration over a traced scalar")
        return (self[i] for i in range(self.shape[0]))

    def __contains__(self, value: Any) -> bool:
        if self.is_scalar:
            raise TypeError(f"argument of type '{hooks.type_of(self).__name__}' is not iterable")
        return bool(np.any(self == value))

    def __hash__(self) -> int:
        if not self.is_scalar:
            raise TypeError("unhashable type: 'numpy.ndarray'")
        found = at_hand(self)
        if found is None:
            self._refuse(advice.HASH, advice.KEY)
        return hash(found)

    def __repr__(self) -> str:
        return self._shown("!r")

    def __str__(self) -> str:
        return self._shown("!s")

    def _shown(self, how: str) -> str:
        """Its text, made as ``how`` says (see ``autojit.session.messages``)."""
        found = at_hand(self) if self.owner.open else None
        if found is not None:
            return written(found, how)
        if (use := use_of_text() if self.owner.open else Use.SHOWN) is Use.RAISED:
            return hooks.named(self, how)
        if how[0] == ":" and how != ":":
            self._refuse_format(how[1:])
        if use is Use.ANY:
            self._refuse("making a text of x", advice.SHOW)
        return f"Tracer<{self.type}>"

    @property
    def argument_path(self) -> str | None:
        """How the user writes it (``argument 0['w']``), where it is an argument of a caller's."""
        return None

    def as_static(self) -> str:
        """Code that makes it known while the function is traced."""
        path = self.argument_path or self._only_argument() or "argument 1"
        number, name = path.removeprefix("argument "), path[10:-1]
        if number.isdigit():
            return f"jit(f, static_argnums={number})"
        return (
            f"jit(f, static_argnames={name!r})" if name.isidentifier() else "jit(lambda x: f(x, n))"
        )

    def _only_argument(self) -> str | None:
        """The argument that a value depends on, if the function has one."""
        paths = self.owner.paths() if self.owner.paths is not None else []
        return paths[0] if len(paths) == 1 else None

    def __getattr__(self, name: str) -> Any:  # NumPy and Python probe even half-made copies
        kind = np.ndarray if name.startswith("_") else hooks.type_of(self)
        if name.startswith("__") or not (hasattr(np.ndarray, name) or hasattr(kind, name)):
            more = of_others(name) or ("" if name.startswith("_") else closest_of_arrays(name))
            raise AttributeError(f"a traced array has no attribute {name!r}{more}")
        if kind is not np.ndarray and (found := hooks.attribute_of_number(self, name)) is not None:
            return found
        if name == "flags":
            _check_not_by_numba()
        error = UncoveredAttributeError(
            with_place(
                f"x.{name} of a traced array of type {self.type} is not covered by autojit. "
                f"Ask the result:\n    jit(f)(x).{name}",
                user_source(),
            )
        )
        error.asked = True
        raise error

    @classmethod
    def __torch_function__(cls, f: Any, types: Any, args: Any = (), kwargs: Any = None) -> NoReturn:
        """The function that PyTorch calls instead of its own."""
        raise uncovered_of(f"torch.{getattr(f, '__name__', f)}", "PyTorch", "torch.sin(x)")

    # -- what needs a value -----------------------------------------------

    def _refuse(self, what: str, fix: str, *, asked: bool = False, by_c: bool = False) -> NoReturn:
        check_not_leaked(self)
        if not asked and user_instruction() == "STORE_SUBSCR":
            what, fix = advice.STORED, advice.ASSIGNMENT_FIX
        if at_hand(self) is not None:
            raise lost_derivative(self, what, fix)
        reason = "only its type is known while a function is traced."
        if is_batched(self):
            reason = "each element of the batch may have a different one under vmap."
            fix = f"{fix}\n{ONE_BY_ONE}"
        error = ConcreteValueError(
            with_place(
                f"{what} needs the value of a traced array of type {self.type}, but {reason}\n"
                f"{fix}{hooks.callback_instead(by_c)}",
                user_source(),
            )
        )
        error.asked = asked
        raise error

    def _without_loss(self) -> Any:
        """The value, if it is known and has no derivative to lose; else None."""
        found = at_hand(self)
        return None if found is None or depends(self) else found

    def __bool__(self) -> bool:
        found = at_hand(self)
        if found is not None:
            return bool(found)
        fix = f"{hooks.why_not_captured()} {advice.CHOOSE}"
        if not is_batched(self):
            fix += (
                "between functions with autojit.cond(x > 0, f, g, x) and autojit.while_loop,\n"
                f"or make the argument static: {self.as_static()}."
            )
        self._refuse(advice.BOOL, fix.rstrip("\n"))

    def __float__(self) -> float:
        found = self._without_loss()
        if found is not None:
            return float(found)
        self._refuse(
            "float(x)",
            "Keep the array (NumPy functions accept it directly):\n"
            "    y = np.sin(x)                      # not: math.sin(x) or float(x)\n"
            + advice.ASSIGN,
        )

    def __complex__(self) -> complex:
        found = self._without_loss()
        if found is not None:
            return complex(found)
        self._refuse("complex(x)", f"Use `x.astype(complex)` instead.\n{advice.ASSIGN}")

    # The derivative of a rounded value is 0.

    def __int__(self) -> int:
        found = at_hand(self)
        if found is not None:
            return int(found)
        self._refuse(
            "int(x)", f"Use `x.astype(int)` instead, or make the argument static.\n{advice.ASSIGN}"
        )

    def __round__(self, digits: int | None = None) -> Any:
        found = at_hand(self)
        if found is not None:
            return round(found, digits)
        self._refuse("round(x)", "Use `np.rint(x)` instead, or round the result of jit(f).")

    def __trunc__(self) -> int:
        return self._rounded("trunc")

    def __floor__(self) -> int:
        return self._rounded("floor")

    def __ceil__(self) -> int:
        return self._rounded("ceil")

    def _rounded(self, name: str) -> int:
        found = at_hand(self)
        if found is not None:
            return int(getattr(math, name)(found))
        self._refuse(f"math.{name}(x)", f"Use `np.{name}(x)` instead.")

    def __format__(self, form: str) -> str:
        return self._shown(f":{form}")

    def _refuse_format(self, form: str) -> NoReturn:
        self._refuse(
            f"formatting x as {form!r}",
            f"Print the type instead, or format the result of the compiled function:\n"
            f"    print(f'{{x}}')                      # not: f'{{x:{form}}}'\n"
            + f"    print(f'{{f(x):{form}}}')".ljust(39)
            + "# where f is called",
        )

    def __index__(self) -> int:
        found = at_hand(self)
        if found is not None:
            return operator.index(found)
        self._refuse(
            "using x as an index, a shape or a range",
            "Shapes and loop bounds must be Python integers. Make the argument static:\n"
            f"    {self.as_static()}\n" + advice.TAKE.rstrip("\n"),
            asked=True,
        )

    def item(self, *place: Any) -> Any:
        """A plain number, if the value is known and has no derivative."""
        found = self._without_loss()
        if found is not None:
            return np.asarray(found).item(*place)
        self._refuse("x.item()", "Keep the array, and call .item() on the result of jit(f).")

    def tolist(self) -> Any:
        """Plain numbers in lists, if the values are known and have no derivative."""
        found = self._without_loss()
        if found is not None:
            return np.asarray(found).tolist()
        self._refuse("x.tolist()", "Keep the array, and call .tolist() on the result of jit(f).")

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        found = self._without_loss()
        if found is not None:
            return np.array(found, dtype)
        if (function := calling()) is not None:
            name = "scipy." + ".".join(function)
            what = f"converting x to a NumPy array, which {name} does,"
            self._refuse(what, way_out(*function), by_c=True)
        self._refuse(
            "converting x to a NumPy array",
            f"{advice.TAKE if self.dtype.kind in 'iu' else ''}{advice.ASSIGN}\n"
            "Convert by the name in the module, which is followed while a function is traced:\n"
            "    np.array([x, y])                   # not: from numpy import array\n"
            "    np.sum([x, y])                     # not: from numpy import sum",
            by_c=True,
        )

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:
        found = self._without_loss()
        if found is not None:
            return np.array(found).__dlpack__(
                stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
            )
        self._refuse(
            "x.__dlpack__(), which gives the memory of x to another library,",
            "Give it the result of jit(f):\n    torch.from_dlpack(jit(f)(x))       # not: in f",
            by_c=True,
        )

    def stand_in(self, value: Value, trace: Trace) -> Tracer:
        """An array like this one, with that value in that trace (see ``blocks``)."""
        made = Tracer(value, trace, self.weak)
        made.boxed, made.ordered, made.kept = self.boxed, self.ordered, self.kept
        return made

    def check_owner(self, trace: Trace | None) -> None:
        """Raise unless the array belongs to that trace."""
        check_not_leaked(self)
        if self.owner is not trace:
            raise RefusedInPlaceError(
                with_place(
                    "A traced array of an outer function is changed in place inside a "
                    "transformed function. Return the new value instead.",
                    user_source(),
                )
            )


def _check_not_by_numba() -> None:
    """Raise an error if a Numba function asks, which code without source has called: elsewhere the
    function's own source runs instead."""
    frame = user_frame()
    if frame is None or not frame.f_globals.get("__name__", "").startswith("numba."):
        return
    while frame is not None and (
        is_installed(frame.f_code.co_filename) or is_of_python(frame.f_code.co_filename)
    ):
        frame = frame.f_back
    source = frame and Source(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
    raise UncoveredFunctionError(
        with_place(
            "A Numba function gets a traced array from code whose source is not available (exec, "
            "eval, Python's own prompt). Write that code in a file or in a cell of a notebook, or "
            "compile the Numba function:\n"
            "    jit(f)(x)                          # not: f(x)",
            source,
        )
    )
