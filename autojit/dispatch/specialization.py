"""The state that ``jit`` keeps for one signature of a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.codegen.driver.executable import canonical
from autojit.errors import MissingDtypeError
from autojit.ir.core.halves import in_dtype
from autojit.ir.core.program import Program
from autojit.ir.transforms.layouts import LaidOut, inverse, laid_out
from autojit.session.background import Job
from autojit.session.devices import CPU, is_on_card
from autojit.session.watching import span, state
from autojit.staging import pytrees
from autojit.staging.trace_function import LeafType, Traced, argument_type, check_dtypes
from autojit.tracing.hooks import hooks

from .calls import NativeCalls, telling
from .layouts import MOST, Orders, orders_of
from .outside import Outside
from .retraces import Signature
from .static import exact


class CacheInfo(NamedTuple):
    """Counts of a compiled function's work so far."""

    traces: int
    hits: int
    last_retrace: str | None
    #: Native entries that came from the cache on disk.
    loaded: int
    #: Lines of ``if`` and conditional expressions on traced values, of loops that are compiled as
    #: loops, and of loops that were unrolled while the function was traced.
    branches: int = 0
    loops: int = 0
    unrolled: int = 0


def types_of(leaves: Sequence[Any], dynamic: Any) -> tuple[LeafType, ...]:
    """The types of the leaves of ``dynamic``: positional arguments, and those by name."""
    for leaf in leaves:
        if not pytrees.is_array(leaf):
            for each, path in zip(leaves, pytrees.call_paths(*dynamic), strict=True):
                pytrees.check_argument(each, path, "jit(f, static_argnums=...)")
    try:
        return tuple(map(argument_type, leaves))
    except MissingDtypeError:
        check_dtypes(leaves, pytrees.call_paths(*dynamic))
        raise


class Key(NamedTuple):
    """The facts by which a specialization is found."""

    static: Any
    structure: Any
    types: tuple[LeafType, ...]
    device: str | None

    @property
    def plain(self) -> Key:
        """The same for functions that do not tell arrays without axes from scalars."""
        if not any(leaf.boxed for leaf in self.types):
            return self
        return self._replace(types=tuple([leaf._replace(kinds=frozenset()) for leaf in self.types]))

    def settled(self, traced: Traced) -> Key:
        """The key of a trace for this one."""
        return self if traced.tells_scalars else self.plain

    def find(self, known: dict[Any, Specialization]) -> Specialization | None:
        """The specialization for it, if there is one."""
        found = known.get(self.plain)
        if found is None or found.traced.tells_scalars:
            found = known.get(self)
        return found

    def find_elsewhere(self, known: dict[Any, Specialization]) -> Specialization | None:
        """One for the same types on another device."""
        devices = dict.fromkeys(key.device for key in known)
        found = (self._replace(device=device).find(known) for device in devices)
        return next((each for each in found if each is not None), None)


class Specialization:
    """One signature of a compiled function, and the program for it."""

    def __init__(self, signature: Signature, traced: Traced, device: str = CPU) -> None:
        self.signature = signature
        self.traced = traced
        #: The device on which it runs: ``"cpu"`` or ``"cuda:0"``.
        self.device = device
        #: Native code, which the first call compiles or loads; None if there is none.
        self.native: Callable[..., Any] | None = None
        self.ready = False
        #: Seconds of tracing, and of compiling or loading the code; None before.
        self.traced_in = 0.0
        self.made_in: float | None = None
        #: Seconds of a call, if ``explain`` has measured it. Ordinary calls are not timed: reading
        #: the clock twice takes a tenth of a short call.
        self.measured: float | None = None
        #: The reason for the trace: the argument that differed, and how; None for the first one.
        self.cause: str | None = None
        #: The checks that remain before calls go straight to native code: ``"gradients"``
        #: (``jit(f, check="first")``), ``"code"`` (``AUTOJIT_VERIFY``), and ``"outside"``: whether
        #: values that the function reads from outside have changed at the second call.
        self.held: set[str] = set()
        self.outside: Outside | None = None
        #: The background compilation.
        self.job: Job | None = None
        #: The memory orders of arguments and results, and the program on their transposes, which is
        #: compiled; None if they are in C order.
        self.layout: tuple[Orders, LaidOut] | None = None
        #: Specializations for arrays in other orders; None if they are copied.
        self.others: dict[Orders, Specialization | None] = {}

    @property
    def compiled(self) -> Program:
        """The program that code is made of."""
        return self.traced.program if self.layout is None else self.layout[1].program

    @property
    def orders(self) -> tuple[Orders, Orders] | None:
        """The memory orders of arguments and of results."""
        return None if self.layout is None else (self.layout[0], self.layout[1].results)

    def family(self) -> list[Specialization]:
        """This one, and those for arrays in other orders."""
        return [self, *filter(None, list(self.others.values()))]

    def for_leaves(self, leaves: Sequence[Any], natives: dict[Any, NativeCalls]) -> Specialization:
        """The specialization for arrays in the memory orders of the leaves.

        If such arrays are to be copied, the native functions are told so.
        """
        orders = orders_of(leaves)
        if orders is None or self.device != CPU or state.watchers:
            return self
        made = self._for_orders(orders)
        if made is None:
            static, structure, *_ = self.signature
            calls = natives.get((exact(static), structure))
            if calls is not None:
                calls.copy(orders)
        return made or self

    def _for_orders(self, orders: Orders) -> Specialization | None:
        if orders not in self.others:
            made = None
            known = sum(each is not None for each in self.others.values())
            is_taken = all(weak in (None, int, float) for weak in self.weak)
            if known < MOST and is_taken:
                made = self._in(orders)
            made = self.others.setdefault(orders, made)
        return self.others[orders]

    def _in(self, orders: Orders) -> Specialization:
        made = Specialization(self.signature, self.traced, self.device)
        made.layout = orders, laid_out(self.traced.program, orders)
        made.traced_in, made.cause = self.traced_in, self.cause
        made.held, made.outside = self.held, self.outside
        return made

    def look_outside(self, outside: Outside) -> None:
        """Keep the outside values of the function, and compare them at the second call."""
        if outside.settle():
            self.outside = outside
            self.held.add("outside")

    def look_again(self) -> None:
        """Compare once more at the next call."""
        if self.outside is not None:
            self.outside.calls = 1
            self.held.add("outside")

    def on_card(self, leaves: Sequence[Any]) -> list[Any]:
        """The leaves in the form GPU code takes: arrays on the GPU are unchanged."""
        return [
            leaf if is_on_card(leaf) or weak in (int, float) else in_dtype(leaf, type.dtype)
            for leaf, (type, weak, _) in zip(leaves, self.signature.leaves, strict=True)
        ]

    def arrays(self, leaves: Sequence[Any]) -> list[np.ndarray]:
        """The leaves as arrays for native code."""
        orders = self.layout[0] if self.layout else (None,) * len(leaves)
        with span("arguments", self.traced.program.name):
            return [
                canonical(in_dtype(leaf, type.dtype), type.dtype) if order is None else leaf
                for leaf, (type, *_), order in zip(
                    leaves, self.signature.leaves, orders, strict=True
                )
            ]

    def given(self, arrays: Sequence[Any]) -> list[Any]:
        """The arguments in the form that native code takes, from their arrays."""
        tells = self.traced.tells_scalars
        return [
            weak(np.asarray(array).item()) if weak is not None
            else np.asarray(array)[()] if tells and not type.shape and not kinds
            else array
            for array, (type, weak, kinds) in zip(arrays, self.signature.leaves, strict=False)
        ]  # fmt: skip

    def checked(self, native: Callable[..., Any] | None) -> Callable[..., Any] | None:
        """Native code that reports a difference between an array without axes and a scalar, if the
        function tells them apart."""
        kinds = {
            i: leaf.boxed
            for i, leaf in enumerate(self.signature.leaves)
            if not leaf.type.shape and leaf.weak is None
        }
        if native is None or not self.traced.tells_scalars or not kinds:
            return native
        return telling(native, kinds)

    def placed(self, arrays: Sequence[Any]) -> list[Any]:
        """Arrays of the arguments, in the orders that the code takes."""
        if self.layout is None:
            return list(arrays)
        return [
            array if order is None
            else np.ascontiguousarray(np.transpose(array, order)).transpose(inverse(order))
            for array, order in zip(arrays, self.layout[0], strict=False)
        ]  # fmt: skip

    @property
    def weak(self) -> tuple[type | None, ...]:
        """The Python types of the leaves that are numbers; None for the others."""
        return tuple(leaf.weak for leaf in self.signature.leaves)

    @property
    def is_flat(self) -> bool:
        """Whether the dynamic arguments are leaves given by position, and the results leaves in
        order."""
        positional, by_name = self.signature.structure.children()
        static = {where for where, _ in self.signature.static}
        return (
            not by_name.num_children
            and all(c.is_leaf() or i in static for i, c in enumerate(positional.children()))
            and self.rebuild is None
        )

    @property
    def rebuild(self) -> Callable[[Any], Any] | None:
        """Puts results together; None if native code already returns them in their structure."""
        structure = self.traced.structure
        bare = structure.is_leaf() or (
            structure.type is tuple and all(child.is_leaf() for child in structure.children())
        )
        if self.traced.varies:
            return hooks.put_together(structure, False)
        unflatten: Callable[[Any], Any] = structure.unflatten
        return None if bare else unflatten


def verifiable(code: Any, found: Specialization) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """The code of a signature as a function of the arrays of all inputs."""
    native, bare = found.native, found.traced.structure.is_leaf()

    def call(arrays: Sequence[Any]) -> Sequence[Any]:
        result = None if native is None else native(*found.given(found.placed(arrays)))
        if result is None:
            return list(code.call(arrays))
        return [result] if bare else list(result)

    return call
