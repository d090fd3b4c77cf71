"""Executables are compiled programs that can be called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from autojit.ir.core.halves import BFLOAT16, held_as, in_dtype
from autojit.ir.core.locks import Lock
from autojit.ir.core.program import Program
from autojit.ir.core.types import canonical_dtype
from autojit.ir.ops.callback import calls_functions
from autojit.ir.pass_manager.records import phase

from .native import Native, builtin, compiled_entry

#: From this many bytes on, it matters which memory a copy of an array uses.
LARGE = 1 << 17

if TYPE_CHECKING:
    from autojit.codegen.cpu.abi.abi import Convention, Order
    from autojit.codegen.cpu.entry_point.core import Core
    from autojit.codegen.loop_ir.program import LoopProgram

    #: The axis orders of inputs and of results.
    Orders = tuple[Sequence[Order], Sequence[Order]]

    from .cache import Cache
    from .packing import Packing


def compile_program(
    program: Program, device: str = "cpu", cache: Cache | None = None, version: str = ""
) -> Any:
    """Return a program's code for ``"cpu"`` or ``"cuda:0"``, which is made on the first call."""
    if device != "cpu":
        from autojit.codegen.cuda.runtime import compile_for_cuda

        from .kernels import KernelCache

        kept = None if cache is None else KernelCache(cache)
        return compile_for_cuda(program, int(device.partition(":")[2] or 0), kept)
    return Executable(program, cache, version)


class Executable:
    """A program compiled for the CPU.

    ``call(arrays)`` takes any arrays of the input types. ``direct(…)`` returns a builtin function
    for one calling convention. Each convention is loaded from the cache on disk, or else compiled,
    on first use.
    """

    def __init__(self, program: Program, cache: Cache | None = None, version: str = "") -> None:
        self.source = program
        self.in_types = program.in_types
        self.out_types = program.out_types
        #: The number of conventions that were loaded from disk.
        self.loaded = 0
        #: Whether the code of :meth:`call` must still be compared with the interpreter.
        self.unverified = False
        self._cache = cache
        self._version = version
        self._lock = Lock()
        self._natives: dict[Convention, Native] = {}
        self._compiled: list[Any] = []
        self._generic: Callable[..., Any] | None = None
        self._packing: tuple[Packing | None] | None = None
        self._optimized: Program | None = None
        self._loops: LoopProgram | None = None
        #: The code that measures times (see ``timed``), after the first request.
        self.timed: Any = None

    # Not cached_property: in Python 3.11 it has one lock for all instances, which stays locked in a
    # child of ``fork`` if another thread was lowering.

    @property
    def packing(self) -> Packing | None:
        """The program that is compiled if many arguments or results are numbers, which it takes in
        arrays; else None."""
        if self._packing is None:
            from .packing import packing

            self._packing = (packing(self.source),)
        return self._packing[0]

    @property
    def packed(self) -> Program:
        """The program that is optimised and compiled."""
        return self.source if self.packing is None else self.packing.program

    @property
    def optimized(self) -> Program:
        if self._optimized is None:
            from autojit.ir.passes.pipeline import optimize

            self._optimized = optimize(self.packed)
        return self._optimized

    @property
    def loops(self) -> LoopProgram:
        """The loop program that is compiled. It is not made if the code comes from disk."""
        if self._loops is None:
            from autojit.codegen.lowering.lower import lower

            self._loops = lower(self.optimized)
        return self._loops

    def call(self, arrays: Sequence[Any]) -> list[Any]:
        """Return the outputs for arrays of the input types, in any memory layout."""
        generic = self._generic or self.prepare()
        result = generic(*arrays)
        if result is None:
            exact = [canonical(a, t.dtype) for a, t in zip(arrays, self.in_types, strict=True)]
            result = generic(*exact)
        if result is None:
            raise TypeError(
                f"compiled for {self.in_types}, called with "
                f"{[(a.dtype, a.shape) for a in map(np.asarray, arrays)]}"
            )
        return list(result)

    @property
    def is_lowered(self) -> bool:
        """Whether its loops have been made."""
        return self._loops is not None

    @property
    def is_ready(self) -> bool:
        """Whether :meth:`call` has its code."""
        return self._generic is not None

    def prepare(self) -> Callable[..., Any]:
        """Compile or load the code of :meth:`call`."""
        self._generic = self._caller(self._general(), (None,) * len(self.in_types), ())
        return self._generic

    def direct(
        self,
        weak: Sequence[type | None],
        captured: Sequence[np.ndarray],
        *,
        as_tuple: bool,
        orders: Orders | None = None,
    ) -> Callable[..., Any] | None:
        """Return a builtin for inputs of these Python number types, with the last arrays bound.

        The builtin returns None if an argument does not have exactly the type that the program was
        compiled for. There is none for Python's bool and complex. ``orders`` are the axis orders of
        inputs and results in memory; the program was made for their transposes.
        """
        convention = self._specific(weak, len(captured), as_tuple=as_tuple, orders=orders)
        if convention is None:
            return None
        bound = [
            canonical(a, t.dtype) for a, t in zip(captured, self.in_types[len(weak) :], strict=True)
        ]
        return self._caller(convention, weak, bound)

    def _caller(
        self,
        convention: Convention,
        weak: Sequence[type | None],
        bound: Sequence[np.ndarray],
        times: np.ndarray | None = None,
    ) -> Callable[..., Any]:
        code, out_types = self._native(convention), self.packed.out_types
        held = [np.asarray(a).view(held_as(a.dtype)) for a in bound]
        native = builtin(code, out_types, held, self.source.name, times, convention.made)
        if self.packing is not None:
            from .packing import Caller

            native = Caller(self.packing, native, weak)
        if all(t.dtype is not BFLOAT16 for t in (*self.in_types, *self.out_types)):
            return native
        from .bits import OfBits

        return OfBits(native, self.in_types[: len(weak)], self.out_types)

    def key(
        self,
        weak: Sequence[type | None],
        captured: int,
        *,
        as_tuple: bool,
        orders: Orders | None = None,
    ) -> dict[str, Any] | None:
        """Return the key on disk of the code for such a call; None if the cache is not used."""
        convention = self._specific(weak, captured, as_tuple=as_tuple, orders=orders)
        return self._key(convention or self._general())

    def _general(self) -> Convention:
        """Return the convention of :meth:`call`: arrays only, and a tuple of results."""
        from autojit.codegen.cpu.abi.abi import Convention

        return Convention((None,) * len(self.packed.inputs), 0, as_tuple=True)

    def _specific(
        self,
        weak: Sequence[type | None],
        bound: int,
        *,
        as_tuple: bool,
        orders: Orders | None = None,
    ) -> Convention | None:
        """Return the convention for inputs of these number types; None for bool and complex."""
        from autojit.codegen.cpu.abi.abi import Convention

        if any(w not in (None, float, int) for w in weak):
            return None
        taken, made = orders or ((), ())
        if self.packing is not None:
            inputs = self.packing.inputs
            if any(i >= len(weak) for group in inputs.groups for i in group.places):
                return None  # bound numbers
            others = [weak[i] for i in inputs.rest if i < len(weak)]
            taken = inputs.repacked(taken, len(weak))
            made = self.packing.outputs.repacked(made, len(made))
            weak = [*[None] * len(inputs.groups), *others]
        return Convention(tuple(weak), bound, as_tuple, tuple(taken), tuple(made))

    def _native(self, convention: Convention) -> Native:
        with self._lock:
            if convention not in self._natives:
                key = self._key(convention)
                self._natives[convention] = self._load(key) or self._compile(convention, key)
            return self._natives[convention]

    def _key(self, convention: Convention) -> dict[str, Any] | None:
        if self._cache is None or calls_functions(
            self.packed
        ):  # another process has other functions
            return None
        from autojit.codegen.cpu.entry_point.key import key

        return key(self.packed, convention, self._version)

    @phase("read the cache")
    def _load(self, key: dict[str, Any] | None) -> Native | None:
        """Load code from disk."""
        if self._cache is None or key is None:
            return None
        entry = self._cache.load(key)
        if entry is None:
            return None
        from autojit.codegen.cpu.abi.abi import Needs
        from autojit.codegen.cpu.host.engine import load_objects

        try:
            symbol, *needs = entry.about["entry"]
            native = Native(*load_objects(entry.code, symbol), Needs(*needs))
        except (KeyError, TypeError, ValueError) as error:
            self._cache.discard(key, f"it cannot be loaded, {error!r}")
            return None
        self.loaded += 1
        return native

    def _compile(self, convention: Convention, key: dict[str, Any] | None) -> Native:
        """Compile code, and store it on disk under the key if there is one."""
        from autojit.codegen.cpu.entry_point.key import unchanged

        in_types, out_types = self.packed.in_types, self.packed.out_types
        symbol, native = compiled_entry(self.loops, in_types, out_types, convention, self._writer())
        compiled = native.owner
        self._compiled.append(compiled)
        if self._cache and key and unchanged():
            about = {
                "name": self.source.name,
                "types": signature(self.source),
                "entry": [symbol, *native.needs],
            }
            self._cache.store(key, about, compiled.object_code)
        return native

    def _writer(self) -> Callable[..., Core]:
        """Return the writer of the code's core."""
        from autojit.codegen.cpu.entry_point.core import Core

        return Core

    def llvm(self) -> str:
        """Return the optimised LLVM IR of the first convention compiled here, or of a new one."""
        return str(self._any_compiled().llvm())

    def assembly(self) -> str:
        """Return the assembly for this machine."""
        return str(self._any_compiled().assembly())

    def _any_compiled(self) -> Any:
        with self._lock:
            if not self._compiled:
                self._compile(self._general(), None)
            return self._compiled[0]


def run_loops(loops: LoopProgram, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Compile a loop program, and return its outputs for flat arrays of its inputs."""
    from autojit.codegen.cpu.abi.abi import Convention
    from autojit.codegen.cpu.entry_point.core import Core

    in_types, out_types = ([b.type for b in found] for found in (loops.inputs, loops.outputs))
    convention = Convention((None,) * len(in_types), 0, as_tuple=True)
    _, native = compiled_entry(loops, in_types, out_types, convention, Core)
    call = builtin(native, out_types, (), loops.name)
    exact = [canonical(a, t.dtype) for a, t in zip(arrays, in_types, strict=True)]
    return list(call(*exact))


def signature(program: Program) -> str:
    """Return the types of a program's inputs and outputs as text.

    >>> signature(autojit.trace(np.sin)(np.ones(3)))
    'f64[3] -> f64[3]'
    """
    inputs, outputs = (", ".join(map(str, t)) for t in (program.in_types, program.out_types))
    return f"{inputs} -> {outputs}"


def canonical(array: Any, dtype: np.dtype) -> np.ndarray:
    """Return an aligned C-contiguous array of exactly this dtype object."""
    dtype = canonical_dtype(dtype)
    if dtype is BFLOAT16:
        return np.require(in_dtype(array, dtype), None, ["C_CONTIGUOUS", "ALIGNED"])
    array = np.require(_in_order(array, dtype), dtype, ["C_CONTIGUOUS", "ALIGNED"])
    return array if array.dtype is dtype else array.view(dtype)


def _in_order(array: Any, dtype: np.dtype) -> Any:
    """Copy an array into pooled memory if it is large and not in C order.

    Fresh memory would cost a page fault every few kilobytes, up to half of the time.
    """
    if type(array) is not np.ndarray or array.nbytes < LARGE or array.flags.c_contiguous:
        return array
    from autojit.codegen.cpu.abi.results import allocator

    if not np.can_cast(array.dtype, dtype, "equiv"):
        return array
    made = allocator(array.shape, dtype)()
    np.copyto(made, array)
    return made
