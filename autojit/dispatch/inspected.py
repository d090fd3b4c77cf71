"""Inspection of compiled functions: counts, programs, code on disk."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from autojit.ir.core.locks import Lock
from autojit.ir.core.program import Program
from autojit.session.devices import CPU
from autojit.session.tracebacks import folded
from autojit.staging import pytrees
from autojit.staging.execute import executable, loaded_entries
from autojit.staging.shown import Shown
from autojit.staging.signatures import written

from .facts import facts_of
from .retraces import Retraces, Signature
from .specialization import CacheInfo, Specialization

if TYPE_CHECKING:
    from autojit.explanations.explanation import Explanation
    from autojit.explanations.on_gpu import GpuExplanation


class Inspected(Shown):
    """The methods of a compiled function for inspecting it."""

    function: Callable[..., Any]
    asked: str | None
    _specializations: dict[Any, Specialization]
    specialize: Callable[..., tuple[list[Any], Specialization]]
    _retraces: Retraces
    _lock: Lock
    _hits: int

    def __repr__(self) -> str:
        return facts_of(self).line()

    @property
    def device(self) -> str:
        """The device it runs on: the one given to ``jit``, or that of the last signature."""
        found = self.specializations()
        return self.asked or (found[-1].device if found else CPU)

    def written(self) -> str:
        """How it was made: ``jit(grad(loss))``."""
        return f"jit({written(self.function)})"

    def specializations(self) -> list[Specialization]:
        """The specializations, one per signature, in the order of the traces."""
        with self._lock:
            return list(self._specializations.values())

    def cache_info(self) -> CacheInfo:
        """How often the function was traced, and which argument differed at the last retrace:
        "argument 0['x'] was f64[3], is f64[4]".

        Calls on the fast path are not counted as hits. ``loaded`` counts how often native code came
        from the cache on disk instead of being compiled. ``branches``, ``loops`` and ``unrolled``
        count the lines of Python's ``if``, ``for`` and ``while`` that the traces have captured or
        unrolled; ``autojit dump --remarks`` says why.
        """
        found = list(self._specializations.values())
        programs = {(each.compiled, each.device) for one in found for each in one.family()}
        from_disk = sum(loaded_entries(*each) for each in programs)
        traces = len(found)
        kinds = Counter(
            kind for kind, _ in set().union(*(each.traced.constructs for each in found))
        )
        counts = kinds["branch"], kinds["loop"], kinds["unrolled"]
        return CacheInfo(traces, self._hits, self._retraces.last, from_disk, *counts)

    @folded
    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """Trace and optimise for these arguments, without running.

        Types may replace arrays: those of a program (``program.in_types``), or the result of
        ``autojit.ir.core.types.parse_type("f64[100,3]")``.

        Returns an object with ``text(stage)``, ``compile()`` and ``cost()``.
        """
        from autojit.staging.inspection import Lowered

        (args, kwargs), _ = pytrees.in_place_of_types((args, kwargs))
        _, found = self.specialize(args, kwargs)
        return Lowered(found.traced.program, found.device)

    @folded
    def explain(self, *args: Any, **kwargs: Any) -> Explanation | GpuExplanation:
        """Explain what the code of a call does, and why: print it, or call ``html()`` or
        ``json()``.

        For a GPU it reports how each kernel is launched, and runs nothing. With types instead of
        arrays (see ``lower``) nothing is run, so nothing is measured.

        >>> autojit.jit(lambda x: np.sum(np.exp(x))).explain(np.ones(1000)).flops
        2000
        """
        from autojit.explanations.explaining import explain_anywhere

        (args, kwargs), has_types = pytrees.in_place_of_types((args, kwargs))
        return explain_anywhere(self, args, kwargs, run=not has_types)

    def is_ready(self, signature: Signature) -> bool:
        """Whether native code for a signature is in memory."""
        kept = [s for s in self.specializations() if s.signature == signature]
        return any(each.ready for s in kept for each in s.family())

    @folded
    def program(self, *args: Any, **kwargs: Any) -> Program:
        """The traced program for these arguments."""
        return self.specialize(args, kwargs)[1].traced.program

    @folded
    def cache_key(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        """The disk cache key of native code for these arguments, by part; None if it has none."""
        leaves, found = self.specialize(args, kwargs)
        if found.device != CPU:
            return None
        found = found.for_leaves(leaves, {})
        bare, captured = found.traced.structure.is_leaf(), len(found.compiled.captured)
        code = executable(found.compiled)
        key: dict[str, Any] | None
        key = code.key(found.weak, captured, as_tuple=not bare, orders=found.orders)
        return key
