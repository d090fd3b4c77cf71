"""The result of ``jit``: traced once per signature, compiled, and called natively."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from autojit.codegen.loop_ir.errors import TargetError
from autojit.ir.core.collection import seldom_collected
from autojit.ir.core.locks import Lock
from autojit.session.background import start
from autojit.session.devices import CPU, Request, chosen, is_on_card, placed
from autojit.session.progress import stage
from autojit.session.tracebacks import fold
from autojit.session.watching import results_of, span, state
from autojit.staging import pytrees
from autojit.staging.execute import (
    apply,
    bound_inputs,
    executable,
    explain_late,
    failing_lines,
    interpreted,
    is_quick,
    settings,
    target_errors,
    verifies,
)
from autojit.staging.failing_lines import FAILURES, is_of_code, with_line
from autojit.staging.pickling import global_name, loaded, pickles, portable
from autojit.staging.trace_function import Traced, note_tells_scalars, trace_function
from autojit.staging.transformed import Binding, P, R, look_like
from autojit.tracing.context import require
from autojit.tracing.hooks import hooks
from autojit.tracing.source import user_source
from autojit.tracing.values import is_tracer

from .calls import MISS, NativeCalls
from .inspected import Inspected
from .once import count_trace, watching_state
from .outside import Outside
from .retraces import Retraces, Signature, check_allowed
from .specialization import Key, Specialization, types_of, verifiable
from .static import StaticArguments, StaticCalls, caller, exact

_NO_STATIC = exact(())


class _State(NamedTuple):
    """The pickled state of a compiled function."""

    function: Any
    name: str
    static: tuple[Any, ...]
    asked: str | None
    tier: str
    check: str | None
    programs: list[tuple[Signature, Traced]]


def _unpickled(state: _State) -> CompiledFunction[..., Any]:
    function = loaded(state.function, state.name)
    made: CompiledFunction[..., Any] = CompiledFunction(
        function, (), (), state.asked, state.tier, state.check
    )
    made.static.given, made.static.numbers, made.static.names = state.static
    made.remember(state.programs)
    return made


class CompiledFunction(Inspected, Binding[P, R]):
    """The result of ``jit``: call it like the function."""

    def __init__(
        self,
        function: Callable[P, R],
        static_argnums: Sequence[int],
        static_argnames: Sequence[str],
        asked: str | None,
        tier: str = "compiled",
        check: str | None = None,
    ) -> None:
        look_like(self, function)
        self.function = function
        #: The device given to ``jit``; None for the device of the arguments.
        self.asked = asked
        self.tier = tier
        self.check = check
        self.static: StaticArguments = StaticArguments(function, static_argnums, static_argnames)
        self._specializations: dict[Any, Specialization] = {}
        self._fast: Callable[..., Any] | None = None
        #: The same by static arguments.
        self._by_static: StaticCalls | None = None
        #: Native code by the static arguments and the structure of the others.
        self._natives: dict[Any, NativeCalls] = {}
        #: The entry of these that was called last with the same static arguments.
        self._latest: dict[Any, NativeCalls] = {}
        self._lock = Lock()
        self._hits = 0
        self._retraces = Retraces(_name(function))
        self.outside = Outside

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        # The fast path: native code checks the types itself and reports a difference.
        try:
            try:
                if self._fast is not None and not kwargs and settings.direct:
                    result = self._fast(*args)
                    if result is not None:
                        return result
                if self._by_static is not None and settings.direct:
                    result = self._by_static.call(args, kwargs)
                    if result is not MISS:
                        return result
                if self._natives and settings.direct:
                    result = self._call_native(args, kwargs)
                    if result is not MISS:
                        return result
            except FAILURES as error:
                found = self._with_line(error, args, kwargs)
                if found is not error:
                    raise found from None
                raise
            with span("call", _name(self.function)):
                return self._call(args, kwargs)
        except FAILURES as error:
            fold(error)
            raise

    def __reduce__(self) -> Any:
        """Pickle by name, or with the function; if that is impossible, with the traced programs."""
        name = global_name(self)
        return name or (_unpickled, (self._state(),))

    def _state(self) -> _State:
        function, name = portable(self.function), _name(self.function)
        programs: list[tuple[Signature, Traced]] = []
        if not pickles(self.function):
            with self._lock:
                known = list(self._specializations.values())
            pairs = [(found.signature, found.traced) for found in known]
            programs = [pair for pair in pairs if pickles(pair)]
            if function is None and not programs:
                raise pickle.PicklingError(
                    f"{name} cannot be pickled: pickle finds functions by name, but this one is "
                    "a lambda or is defined inside another function. It was not called either, "
                    "so there is no program to pickle instead. Define it at the top level of a "
                    "module, or call it once first."
                )
        static = self.static.given, self.static.numbers, self.static.names
        return _State(function, name, static, self.asked, self.tier, self.check, programs)

    def _call_native(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The result of existing native code, or MISS."""
        key: Any = _NO_STATIC
        tree: Any = (args, kwargs)
        if self.static:
            static, tree = self.static.split(args, kwargs)
            key = exact(static)
        calls = self._latest.get(key)
        leaves = calls.leaves(tree) if calls is not None else None
        if leaves is None:
            leaves, structure = pytrees.flatten(tree)
            calls = self._natives.get((key, structure))
            if calls is None:
                return MISS
            self._latest[key] = calls
        assert calls is not None
        return calls.call(leaves)

    def _with_line(
        self, error: BaseException, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> BaseException:
        """An error that native code has raised, with the user's line."""
        if not is_of_code(error):
            return error
        if isinstance(error, TargetError):  # a refusal by a GPU, which has no line
            with target_errors():
                raise error
        found, arrays = self.traced(args, kwargs)
        return with_line(error, found.traced.program, arrays)

    def traced(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Specialization, list[Any]]:
        """The trace for these arguments, and the arrays of its program's inputs."""
        leaves, found = self.specialize(args, kwargs)
        return found, bound_inputs(found.traced.program, leaves)

    # -- the slow path ----------------------------------------------------

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        leaves, found = self.specialize(args, kwargs)
        program = found.traced.program
        inside = any(map(is_tracer, (*leaves, *program.captured)))
        if inside:
            require(self._requests())
            note_tells_scalars(found.traced)
        if inside or settings.interpret:
            return found.traced.result(apply(program, leaves), is_traced=inside)
        with target_errors():
            found = found.for_leaves(leaves, self._natives)
            results = self._run(leaves, found)
        if settings.checks_results > 0:
            inputs, shown = bound_inputs(program, leaves), [np.asarray(r) for r in results]
            hooks.check_results(program, inputs, shown, found.signature.paths)
        if "gradients" in found.held:
            hooks.load_check("gradients")
            hooks.check_gradients(self, args, kwargs, results)
            self._release(found, "gradients")
        if found.outside is not None and found.outside.is_due():
            found.outside.check(found.traced)
            self._release(found, "outside")
        return found.traced.result(results)

    def _run(self, leaves: list[Any], found: Specialization) -> Sequence[Any]:
        """The results of the compiled code, which the first call compiles or loads here."""
        program = found.traced.program
        code = executable(found.compiled, found.device)
        if found.device != CPU:
            return self._run_on_card(leaves, found, code)
        arrays = found.arrays(leaves)
        if not found.ready:
            if self.tier == "auto" and self._is_compiling(code, found):
                with np.errstate(all="ignore"):
                    return interpreted(program, [*arrays, *program.captured])
            if verifies():
                found.held.add("code")
            with stage("compiling", _name(self.function), lambda: len(program.ops)):
                self._make_ready(code, found)
        if "code" in found.held:
            hooks.verify(program, [*arrays, *program.captured], verifiable(code, found))
            self._release(found, "code")
        with failing_lines(program, [*arrays, *program.captured]):
            if found.native is not None and not state.watchers:
                made = found.native(*found.given(arrays))
                if made is not None:
                    self._release(found)  # later signatures may have taken its place
                    return (made,) if found.traced.structure.is_leaf() else made
            code = executable(program, found.device)
            return results_of(program, code, [*arrays, *program.captured])

    def _run_on_card(self, leaves: list[Any], found: Specialization, code: Any) -> Sequence[Any]:
        """The same on a GPU."""
        program = found.traced.program
        if not found.ready:
            with stage("compiling", _name(self.function), lambda: len(program.ops)):
                self._make_ready(code, found)
        assert found.native is not None
        with span("run", program.name):
            made = found.native(*leaves)
            if made is None:
                made = found.native(*found.on_card(leaves))
        return (made,) if found.traced.structure.is_leaf() else made

    def _requests(self) -> list[Request]:
        """The request for the device given to ``jit``, if any."""
        if self.asked is None:
            return []
        words = f"jit({_name(self.function)}, device={self.asked!r})"
        return [Request(self.asked, words, user_source())]

    def _is_compiling(self, code: Any, found: Specialization) -> bool:
        """Whether code is still being compiled and the interpreter may answer meanwhile."""

        def work() -> None:
            with target_errors():
                self._make_ready(code, found)
                if found.native is None:
                    code.prepare()

        with self._lock:
            if found.job is None or found.job.lost:
                found.job = start(work)
            job = found.job
        if job.done or not is_quick(found.traced.program):
            job.wait()
            return False
        return True

    def _make_ready(self, code: Any, found: Specialization) -> None:
        """Create the native function for this signature; further calls go there."""
        bare = found.traced.structure.is_leaf()
        began = perf_counter()
        program = found.traced.program
        more: dict[str, Any] = {"orders": found.orders}
        if found.device != CPU:
            more = {"explain": explain_late(program)}
        with seldom_collected():
            native = code.direct(found.weak, program.captured, as_tuple=not bare, **more)
            native = found.checked(native)
        with self._lock:
            if found.ready:
                return  # another thread was faster
            found.native, found.ready, found.made_in = native, True, perf_counter() - began
        self._release(found)

    def _release(self, found: Specialization, *checked: str) -> None:
        """Let further calls of this signature go to its native code, once all checks are done."""
        with self._lock:
            found.held.difference_update(checked)
            native = found.native
            if native is None or found.held:
                return
            static, structure, *_ = found.signature
            calls = self._natives.setdefault((exact(static), structure), NativeCalls(structure))
            calls.add(native, found.rebuild)
            positional, by_name = structure.children()
            if found.is_flat and not static:
                self._fast = native
            elif static and not by_name.num_children:
                self._by_static = self._by_static or StaticCalls(self.static)
                self._by_static.add(static, positional.num_children, calls, found.is_flat)

    def specialize(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[Any], Specialization]:
        new = self.static.find_settings(args, kwargs)
        if new and self._by_static is not None:
            self._by_static.forget(new)
        static, dynamic = self.static.split(args, kwargs)
        leaves, structure = pytrees.flatten(dynamic)
        types = types_of(leaves, dynamic)
        asked = self._requests()
        if any(map(is_on_card, leaves)):
            asked += placed(leaves, pytrees.call_paths(*dynamic))
        key = Key(exact(static), structure, types, chosen(asked))
        with self._lock:
            found = key.find(self._specializations)
            if found is not None:
                self._hits += 1
                return leaves, found
            found = key.find_elsewhere(self._specializations)
            if found is not None:  # the same program elsewhere
                device = chosen([*asked, *found.traced.program.devices]) or CPU
                made = Specialization(found.signature, found.traced, device)
                made.traced_in, made.held = found.traced_in, set(found.held)
                key = key.settled(found.traced)
                return leaves, self._specializations.setdefault(key, made)
            earlier = [each.signature for each in self._specializations.values()]
        signature = Signature(static, structure, types, tuple(pytrees.call_paths(*dynamic)))
        check_allowed(self, _name(self.function), signature, earlier)

        call = caller(static, structure)
        if not earlier:
            count_trace(self.function, types)

        def trace(paths: Any = None) -> Traced:
            return trace_function(self.function, types, call, paths, may_vary=True)

        outside = self.outside(self.function, static, trace)
        began = perf_counter()
        with stage("tracing", _name(self.function), lambda: 0), watching_state(self.function):
            traced = trace(lambda: signature.paths)
        device = chosen([*asked, *traced.program.devices]) or CPU
        key = key.settled(traced)
        signature = signature._replace(leaves=key.types)
        found = Specialization(signature, traced, device)
        found.traced_in = perf_counter() - began
        found.held.update(["gradients"] if self.check is not None else [])
        if any(map(is_tracer, traced.program.captured)):
            return leaves, found
        found.look_outside(outside)
        with self._lock:
            kept = self._specializations.setdefault(key, found)
        if kept is found:
            found.cause = self._retraces.add(signature, earlier)
        return leaves, kept

    def remember(self, programs: Sequence[tuple[Signature, Traced]]) -> None:
        """Take over signatures that another process traced."""
        for signature, traced in programs:
            asked = chosen(self._requests())
            key = Key(exact(signature.static), signature.structure, signature.leaves, asked)
            device = chosen([*self._requests(), *traced.program.devices]) or CPU
            self._specializations.setdefault(key, Specialization(signature, traced, device))

    def look_again(self) -> None:
        """Check outside values at the next call of each signature, before native code runs."""
        with self._lock:
            self._fast = self._by_static = None
            self._natives, self._latest = {}, {}
            for found in self._specializations.values():
                found.look_again()

    def anew(self) -> CompiledFunction[P, R]:
        """The same function, with nothing traced or compiled yet."""
        made = CompiledFunction[P, R](self.function, (), (), self.asked)
        made.static = self.static
        return made


def _name(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", type(f).__name__)
