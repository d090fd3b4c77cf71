"""Programs are compiled for a GPU, and run on it or in the CUDA simulator."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from autojit.codegen.loop_ir.values import Buffer
from autojit.ir.core.halves import in_dtype
from autojit.ir.core.locks import Lock
from autojit.ir.core.program import Program
from autojit.ir.core.types import Type
from autojit.ir.passes.pipeline import optimize

from .arrays import DeviceArray, interned, to_host, uploaded
from .calling import Calling
from .capturing import Interleaved
from .device_program.calls import LibraryCall
from .device_program.failures import error_for
from .device_program.nodes import WIDEST
from .direct import Call, written
from .driver.card import Card
from .driver.cards import card as card_of
from .driver.compiler import Kept, Kernel
from .driver.extraction import Extraction
from .driver.failures import Calls, Flags
from .driver.launching import Launcher, Step
from .driver.memory import Memory
from .foreign import is_foreign, taken
from .machines import machine
from .packaged import FORMATS, inputs_at_once, kernel_of, layout_of, slot_of, step_of
from .refusals import lowered, printed
from .source import Launch, Source
from .tapes import STEPS, Tapes

Explain = Callable[[BaseException, "Sequence[np.ndarray] | None"], BaseException]


def _is_on_card(x: Any) -> bool:
    return x.__class__ is DeviceArray or is_foreign(x)


def compile_for_cuda(
    program: Program, ordinal: int = 0, kept: Kept | None = None
) -> CudaExecutable:
    """Optimise and schedule a program for a GPU; its kernels are compiled at the first call."""
    return CudaExecutable(program, card_of(ordinal), kept)


class CudaExecutable:
    """A program compiled for a GPU: ``call(arrays)`` returns device arrays."""

    def __init__(self, program: Program, card: Card, kept: Kept | None = None) -> None:
        self.source = program
        self.card = card
        self.in_types = tuple(map(interned, program.in_types))
        self.out_types = tuple(map(interned, program.out_types))
        self.optimized = optimize(program)
        self.loops = lowered(self.optimized)
        self.printed: Source = printed(self.loops, machine(card))
        self._kept = kept
        self._lock = Lock()
        self._extraction = Extraction(self.printed.text)
        self._general: Bound | None = None
        pairs = zip(self.loops.inputs, self.in_types, strict=True)
        self._of_pairs = frozenset(b for b, t in pairs if t.dtype.kind == "c")
        self.layout = layout_of(self.loops.temps, self.printed.partials)

    @property
    def is_ready(self) -> bool:
        """Whether the code for :meth:`call` is compiled."""
        return self._general is not None

    def prepare(self) -> Bound:
        """Compile, or load, the kernels for :meth:`call`."""
        with self._lock:
            if self._general is None:
                self._general = Bound(self, (None,) * len(self.in_types), ())
            return self._general

    def call(self, arrays: Sequence[Any], explain: Explain | None = None) -> list[DeviceArray]:
        """The outputs, on the card, for arrays on the card (not copied) or on the host.

        ``explain(error, arrays)`` returns what to raise for an error that is found later, when the
        outputs are read.
        """
        bound = self.prepare()
        exact = [self._array(a, t) for a, t in zip(arrays, self.in_types, strict=True)]
        results = bound.run(exact, explain)
        if results is None:
            raise TypeError(
                f"compiled for {self.in_types}, called with {[(a.dtype, a.shape) for a in arrays]}"
            )
        return results

    def direct(
        self,
        weak: Sequence[type | None],
        captured: Sequence[Any],
        *,
        as_tuple: bool,
        explain: Explain | None = None,
    ) -> Callable[..., Any]:
        """A function of the inputs, with the captured arrays bound to the last ones.

        ``weak`` has the Python number type of each other input, or None for an array. The function
        returns None if an argument is not exactly of the type that the program was compiled for.
        Its results are on the card if an argument or a bound array is there.
        """
        return Bound(self, weak, captured, as_tuple=as_tuple, explain=explain).direct()

    def launcher(
        self, by_value: frozenset[Buffer], slots: dict[Buffer, int], fixed: Any, *, is_aligned: bool
    ) -> Launcher | Interleaved:
        """The launches, for buffers in these slots, of which the last ones are fixed.
        ``is_aligned`` says whether inputs begin at multiples of ``WIDEST`` bytes."""
        parts: list[Launcher | Calling] = []
        for is_call, group in groupby(self.printed.launches, lambda x: isinstance(x, LibraryCall)):
            if is_call:
                parts += [Calling(self.card, x, slots) for x in group if isinstance(x, LibraryCall)]
                continue
            steps = [
                self._step(x, by_value, slots, is_aligned=is_aligned)
                for x in group
                if isinstance(x, Launch)
            ]
            parts.append(Launcher(self.card, steps, len(slots) - len(fixed), fixed))
        if not parts:
            return Launcher(self.card, [], len(slots) - len(fixed), fixed)
        only = parts[0]
        if len(parts) == 1 and isinstance(only, Launcher):
            return only
        return Interleaved(self.card, parts, fixed)

    @property
    def called(self) -> frozenset[Buffer]:
        """The buffers passed to libraries; they must be memory, not values."""
        calls = (x for x in self.printed.launches if isinstance(x, LibraryCall))
        return frozenset(b for call in calls for b in call.buffers)

    def kernels(self) -> list[Kernel]:
        """The kernels of the launches, each as a module of its own."""
        return [kernel_of(self._extraction, x, (), self._of_pairs) for x in self.launches]

    @property
    def launches(self) -> list[Launch]:
        """The launches of kernels, without calls of libraries."""
        return [x for x in self.printed.launches if isinstance(x, Launch)]

    @property
    def needs_alignment(self) -> bool:
        """Whether threads load several neighbouring elements of an input at once."""
        return any(inputs_at_once(x.kernel) for x in self.launches)

    def _step(
        self, launch: Launch, by_value: frozenset[Buffer], slots: dict[Buffer, int], *,
        is_aligned: bool,
    ) -> Step:  # fmt: skip
        kernel = kernel_of(
            self._extraction, launch, by_value, self._of_pairs, is_aligned=is_aligned
        )
        function = self.card.function(kernel, self._kept)
        return step_of(launch, function, slots, self.card.fitting(function, launch.threads))

    def _array(self, array: Any, type: Type) -> Any:
        """An array as :class:`Bound` takes it: on a card, or of NumPy in the exact dtype."""
        if isinstance(array, DeviceArray) or is_foreign(array):
            return array
        if hasattr(array, "copy_to_host"):  # numba's own, in the simulator
            array = array.copy_to_host()
        return in_dtype(array, type.dtype)


class Bound:
    """A program with arrays bound to its last inputs, ready to be called.

    ``weak`` has, for each other input, the Python type of a number, which is passed to kernels by
    value, or None for an array.  The bound arrays are copied to the card once.
    """

    def __init__(
        self,
        code: CudaExecutable,
        weak: Sequence[type | None],
        captured: Sequence[Any],
        *,
        as_tuple: bool = True,
        explain: Explain | None = None,
    ) -> None:
        self.code, self.card = code, code.card
        self._as_tuple = as_tuple
        self._explain = explain
        self._captured = [self._on_card(c) for c in captured]
        #: Whether results stay on the card whatever the arguments are.
        self._stays = any(isinstance(c, DeviceArray) or is_foreign(c) for c in captured)
        self._inputs = [
            (t, w, None if w is None else struct.Struct(FORMATS[str(t)[:-2]]).pack)
            for t, w in zip(code.in_types[: len(weak)], self._by_value(weak), strict=True)
        ]
        size, self._take = self.card.pool.rounded, self.card.pool.take
        self._outputs = [(t, size(t.nbytes)) for t in code.out_types]
        status = code.printed.status
        self._flags = (
            Flags(self.card.failures, status.size, self._error) if status is not None else None
        )
        tapes = code.printed.tapes
        self._tapes = Tapes(self.card, tapes) if tapes else None
        self._arena = size(code.layout.nbytes) if code.layout.offsets else 0
        self._offsets = list(code.layout.offsets.values())
        #: The launches for arguments that do not begin at multiples of ``WIDEST`` bytes, made when
        #: first needed. Only other libraries have such arrays.
        self._unaligned: Launcher | Interleaved | None = None
        self._needs_alignment = code.needs_alignment
        self._low = 0  # the bits of captured arrays' addresses: these may be unaligned, too
        for array in self._captured:
            self._low |= array.pointer
        self._launcher = self._made_launcher(is_aligned=not self._low % WIDEST)

    def _by_value(self, weak: Sequence[type | None]) -> list[type | None]:
        """The types of the inputs passed by value, None for others.

        Complex numbers are not passed by value, as they are two values, nor are the arguments of
        libraries, which must be memory.
        """
        called = self.code.called
        inputs = self.code.loops.inputs[: len(weak)]
        pairs = zip(weak, inputs, strict=True)
        return [None if w is complex or b in called else w for w, b in pairs]

    def _on_card(self, array: Any) -> DeviceArray:
        if isinstance(array, DeviceArray):
            return array
        if is_foreign(array):
            return taken(array, self.card, copy=True)[0]
        return uploaded(np.asarray(array), self.card)

    def _launcher_for(self, low: int) -> Launcher | Interleaved:
        """The launches for arguments whose addresses have these bits."""
        if not self._needs_alignment or not low % WIDEST:
            return self._launcher
        if self._unaligned is None:
            self._unaligned = self._made_launcher(is_aligned=False)
        return self._unaligned

    def _made_launcher(self, *, is_aligned: bool) -> Launcher | Interleaved:
        loops, printed = self.code.loops, self.code.printed
        own = len(self._inputs)
        given = [*loops.inputs[:own], *loops.outputs, *self.code.layout.offsets, *printed.tapes]
        if printed.tapes:
            given.append(STEPS)
        fixed = [c.pointer for c in self._captured]
        last = [*loops.inputs[own:]]
        if self._flags is not None and printed.status is not None:
            last.append(printed.status)
            fixed.append(self._flags.address)
        slots = {b: i for i, b in enumerate([*given, *last])}
        pairs = zip(loops.inputs, self._inputs, strict=False)
        by_value = frozenset(b for b, (_, weak, _) in pairs if weak is not None)
        assert len(slots) == len(given) + len(last)
        assert set(printed.partials) <= slots.keys()
        return self.code.launcher(by_value, slots, fixed, is_aligned=is_aligned)

    # -- calls --------------------------------------------------------------

    def direct(self) -> Callable[..., Any]:
        """:meth:`call` as a function written for this program."""
        if self._tapes is not None:  # the call waits, and may launch several times
            return self.call
        made = Call(
            self.card, self._launcher, self._inputs, self._outputs, self._arena, self._offsets,
            self._flags, self._explain, self._needs_alignment, self._as_tuple,
        )  # fmt: skip
        return written(made, self.call)

    def call(self, *leaves: Any) -> Any:
        """The results for these arguments; None if their types are not the program's."""
        results: Any = self.run(leaves, self._explain)
        if results is None:
            return None
        if leaves[:1] and leaves[0].__class__ is DeviceArray:  # the most frequent case
            pass
        elif not self._stays and not any(map(_is_on_card, leaves)):
            results = to_host(results)
        return tuple(results) if self._as_tuple else results[0]

    def run(self, leaves: Sequence[Any], explain: Explain | None) -> Any:
        """The same as :meth:`call`, with a list of arrays on the card as the result."""
        card = self.card
        low = 0
        addresses: list[int] = []
        used: list[Any] = []
        streams: list[int] = []
        for leaf, (type, weak, pack) in zip(leaves, self._inputs, strict=True):
            if leaf.__class__ is DeviceArray and weak is None:
                if leaf.type is not type or leaf.card is not card:
                    return None
                low |= leaf.pointer
                addresses.append(leaf.pointer)
                continue
            if pack is not None:
                if leaf.__class__ is not weak:
                    return None
                addresses.append(slot_of(leaf, pack))
                continue
            array = self._taken(leaf, type, streams)
            if array is None:
                return None
            used.append(array)  # until the launch
            low |= array.pointer
            addresses.append(array.pointer)
        return self._launch(self._launcher_for(low), leaves, addresses, streams, explain)

    def _launch(
        self,
        launcher: Launcher | Interleaved,
        leaves: Sequence[Any],
        addresses: list[int],
        streams: list[int],
        explain: Explain | None,
    ) -> list[DeviceArray]:
        card, flags, take = self.card, self._flags, self._take
        calls: Calls | None = None
        results = []
        with launcher.lock.current:
            if flags is not None:
                calls = flags.calls if self._tapes is not None else flags.launched()
                calls.note(leaves, explain)
            for type, size in self._outputs:
                pointer = take(size)
                addresses.append(pointer)
                results.append(DeviceArray(type, Memory(card, pointer, size), calls))
            if self._arena:
                # Given back to the pool before it is used: its next user is launched later.
                scratch = Memory(card, take(self._arena), self._arena)
                start = scratch.pointer
                addresses += [start + offset for offset in self._offsets]
            if self._tapes is None:
                launcher.run(addresses)
            else:
                self._run_with(launcher, self._tapes, addresses)
        for stream in streams:
            card.release_to(stream)
        return results

    def _run_with(
        self, launcher: Launcher | Interleaved, tapes: Tapes, addresses: list[int]
    ) -> None:
        """Launch until the tapes are long enough; raise the error of a failure.

        This waits for the card and checks the flags itself, so nobody else needs to.
        """
        flags, full = self._flags, self.code.printed.place_of_full_tapes
        assert flags is not None
        launcher.run([*addresses, *tapes.slots()])
        self.card.wait()
        while flags.is_set(full):
            flags.clear()
            tapes.grow()
            launcher.run([*addresses, *tapes.slots()])
            self.card.wait()
        error = flags.check()
        if error is not None:
            raise error

    def _taken(self, leaf: Any, type: Type, streams: list[int]) -> DeviceArray | None:
        """A copy of a NumPy array, or another library's array; None if its type differs."""
        if is_foreign(leaf):
            array, stream = taken(leaf, self.card)
            if stream is not None:
                streams.append(stream)
            return array if array.type is type else None
        if leaf.__class__ is not np.ndarray and not isinstance(leaf, np.generic):
            return None
        if leaf.shape != type.shape or leaf.dtype != type.dtype:
            return None
        return uploaded(np.asarray(leaf), self.card)

    # -- failures -----------------------------------------------------------

    def _own(self, x: Any) -> Any:
        """An array of another library as a ``DeviceArray``; anything else unchanged."""
        return taken(x, self.card)[0] if is_foreign(x) else x

    def _error(self, flags: np.ndarray, calls: Calls) -> BaseException:
        """The error for the flags of some calls."""
        error = error_for(self.code.printed.failures[int(np.flatnonzero(flags)[0])])
        if calls.explain is not None:
            arrays = None
            if calls.arguments is not None:
                there = (*calls.arguments, *self._captured)
                arrays = [np.asarray(self._own(x)) for x in there]
            return calls.explain(error, arrays)
        return error
