"""What ``jit`` keeps for one signature of a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.codegen.driver.executable import canonical
from autojit.errors import MissingDtypeError
from autojit.ir.core.halves import in_dtype
from autojit.session.background import Job
from autojit.session.devices import CPU, is_on_card
from autojit.session.watching import span
from autojit.staging import pytrees
from autojit.staging.trace_function import LeafType, Traced, check_dtypes, leaf_type

from .outside import Outside
from .retraces import Signature


class CacheInfo(NamedTuple):
    """What a compiled function has done so far."""

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
        return tuple(map(leaf_type, leaves))
    except MissingDtypeError:
        check_dtypes(leaves, pytrees.call_paths(*dynamic))
        raise


class Specialization:
    """One signature of a compiled function, and the program for it."""

    def __init__(self, signature: Signature, traced: Traced, device: str = CPU) -> None:
        self.signature = signature
        self.traced = traced
        #: Where it runs: ``"cpu"`` or ``"cuda:0"``.
        self.device = device
        #: Native code, which is made or loaded at the first call; None where there is none.
        self.native: Callable[..., Any] | None = None
        self.ready = False
        #: Seconds that the trace took, and what made or loaded the code; None before.
        self.traced_in = 0.0
        self.made_in: float | None = None
        #: Seconds of a call, where ``explain`` has measured it. Calls themselves are not timed:
        #: two looks at the clock take a tenth of a short one.
        self.measured: float | None = None
        #: Why it was traced: the argument that differed, and how; None for the first signature.
        self.cause: str | None = None
        #: What is still to be checked before calls go straight to native code: ``"gradients"``
        #: (``jit(f, check="first")``), ``"code"`` (``AUTOJIT_VERIFY``), ``"outside"``: whether what
        #: the function reads outside of itself has changed at the second call.
        self.held: set[str] = set()
        self.outside: Outside | None = None
        #: What makes it in the background.
        self.job: Job | None = None

    def look_outside(self, outside: Outside) -> None:
        """Keep what the function reads outside of itself, and look at it at the second call."""
        if outside.settle():
            self.outside = outside
            self.held.add("outside")

    def look_again(self) -> None:
        """Look once more at the next call."""
        if self.outside is not None:
            self.outside.calls = 1
            self.held.add("outside")

    def on_card(self, leaves: Sequence[Any]) -> list[Any]:
        """The leaves as the code for a GPU takes them: arrays there stay as they are."""
        return [
            leaf if is_on_card(leaf) or weak in (int, float) else in_dtype(leaf, type.dtype)
            for leaf, (type, weak) in zip(leaves, self.signature.leaves, strict=True)
        ]

    def arrays(self, leaves: Sequence[Any]) -> list[np.ndarray]:
        """The leaves as native code takes arrays."""
        with span("arguments", self.traced.program.name):
            return [
                canonical(in_dtype(leaf, type.dtype), type.dtype)
                for leaf, (type, _) in zip(leaves, self.signature.leaves, strict=True)
            ]

    @property
    def weak(self) -> tuple[type | None, ...]:
        """Python's types of those leaves that are numbers."""
        return tuple(leaf.weak for leaf in self.signature.leaves)

    @property
    def is_flat(self) -> bool:
        """Whether the arguments that are not static are leaves given by position, and the results
        leaves in order."""
        positional, by_name = self.signature.structure.children()
        static = {where for where, _ in self.signature.static}
        return (
            not by_name.num_children
            and all(c.is_leaf() or i in static for i, c in enumerate(positional.children()))
            and self.results is None
        )

    @property
    def results(self) -> Any:
        """The structure of the results; None where native code returns them in it."""
        structure = self.traced.structure
        bare = structure.is_leaf() or (
            structure.type is tuple and all(child.is_leaf() for child in structure.children())
        )
        return None if bare else structure


def verifiable(code: Any, found: Specialization) -> Callable[[Sequence[Any]], Sequence[Any]]:
    """The code of a signature as a function of the arrays of all inputs."""
    native, bare = found.native, found.traced.structure.is_leaf()

    def call(arrays: Sequence[Any]) -> Sequence[Any]:
        given = [
            array if weak is None else weak(np.asarray(array).item())
            for array, weak in zip(arrays, found.weak, strict=False)
        ]
        result = None if native is None else native(*given)
        if result is None:
            return list(code.call(arrays))
        return [result] if bare else list(result)

    return call
