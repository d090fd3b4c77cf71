"""``jit``: trace once a signature, compile, and call natively."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from autojit.ir.program import Program

from . import trees
from .abstract import LeafType, Traced, leaf_type, trace_function
from .errors import StructureError, UnhashableStaticError, UnsupportedTargetError
from .execute import apply, executable, loaded, settings, target_errors
from .tracing import is_tracer

DEVICES = ("cpu", "cuda")


class CacheInfo(NamedTuple):
    """What a compiled function has done so far."""

    traces: int
    hits: int
    last_retrace: str | None
    #: Native entries that came from the cache on disk.
    loaded: int


class Specialization(NamedTuple):
    """One signature of a compiled function."""

    traced: Traced
    signature: tuple[LeafType, ...]
    #: Of the arguments; plain if they are leaves given by position.
    structure: Any
    plain: bool

    @property
    def weak(self) -> tuple[type | None, ...]:
        """Python's types of those leaves that are numbers."""
        return tuple(leaf.weak for leaf in self.signature)


class CompiledFunction:
    """The result of :func:`jit`: call it like the function."""

    def __init__(
        self,
        function: Callable[..., Any],
        static_argnums: Sequence[int],
        static_argnames: Sequence[str],
        donate_argnums: Sequence[int],
        device: str,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.device = device
        self.static_argnums = tuple(static_argnums)
        self.static_argnames = tuple(static_argnames)
        self.donate_argnums = tuple(donate_argnums)
        self._specializations: dict[Any, Specialization] = {}
        self._fast: Callable[..., Any] | None = None
        #: Native code for trees of arguments, by their structure: (function, structure of results).
        self._natives: dict[Any, tuple[Callable[..., Any], Any]] = {}
        self._lock = threading.RLock()
        self._hits = 0
        self._last_retrace: str | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # The fast path: native code checks the types itself and says when they differ.
        if self._fast is not None and not kwargs and not settings.interpret:
            result = self._fast(*args)
            if result is not None:
                return result
        return self._call(args, kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """Methods: ``@jit def f(self, x)`` binds like a function."""
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<jit {getattr(self.function, '__name__', self.function)!s}>"

    # -- the slow path ----------------------------------------------------

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._natives and not settings.interpret:
            leaves, structure = trees.flatten((args, kwargs))
            native = self._natives.get(structure)
            if native is not None:
                result = native[0](*leaves)
                if result is not None:
                    return trees.unflatten(native[1], result)
        leaves, found = self._specialize(args, kwargs)
        program = found.traced.program
        structure = found.traced.structure
        inside = any(map(is_tracer, (*leaves, *program.captured)))
        if inside or settings.interpret:
            return trees.unflatten(structure, apply(program, leaves))
        with target_errors():
            return self._run(leaves, found)

    def _run(self, leaves: list[Any], found: Specialization) -> Any:
        """Call the compiled code, which is made or loaded here if this is its first call."""
        program, structure = found.traced.program, found.traced.structure
        code = executable(program, self.device)
        if self.device == "cpu":
            direct = self._install_fast_path(code, found)
            made = direct(*leaves) if direct is not None else None
            if made is not None:
                return made if structure.is_leaf() else trees.unflatten(structure, made)
            leaves = [
                np.asarray(x, t.dtype) for x, t in zip(leaves, program.in_types, strict=False)
            ]
        return trees.unflatten(structure, code.call([*leaves, *program.captured]))

    def _install_fast_path(self, code: Any, found: Specialization) -> Callable[..., Any] | None:
        """Native code for this signature, which checks it; further calls go there.

        Flat positional arrays go there as they are, other trees after flattening.
        """
        program, results = found.traced.program, found.traced.structure
        bare = results.is_leaf()
        native: Callable[..., Any] | None
        native = code.direct(found.weak, program.captured, as_tuple=not bare)
        if native is None or self.static_argnums or self.static_argnames:
            return native
        flat = bare or (results.type is tuple and all(c.is_leaf() for c in results.children()))
        if flat and found.plain:
            self._fast = native
        elif not bare:
            self._natives[found.structure] = native, results
        return native

    def _specialize(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[Any], Specialization]:
        static, dynamic = self._split(args, kwargs)
        leaves, structure = trees.flatten(dynamic)
        signature = self._signature(leaves, dynamic)
        # 1 and True are equal, and not the same setting.
        key = (static, tuple(type(value) for _, value in static), structure, signature)
        with self._lock:
            found = self._specializations.get(key)
            if found is not None:
                self._hits += 1
                return leaves, found
            traced = trace_function(
                self.function,
                signature,
                lambda f, values: self._invoke(f, static, trees.unflatten(structure, values)),
            )
            plain = (
                not dynamic[1]
                and not static
                and all(c.is_leaf() for c in structure.child(0).children())
            )
            found = Specialization(traced, signature, structure, plain)
            if not any(map(is_tracer, traced.program.captured)):
                self._explain_retrace(signature)
                self._specializations[key] = found
            return leaves, found

    def _split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        """The static arguments (hashable), and the others as (positional, by name)."""
        n = len(args)
        numbers = {i % n if -n <= i < n else i for i in self.static_argnums}
        names = set(self.static_argnames) | _names_of(self.function, self.static_argnums)
        numbers |= _numbers_of(self.function, self.static_argnames)
        static: list[tuple[Any, Any]] = []
        for i in sorted(numbers):
            if i < n:
                self._check_hashable(args[i], f"argument {i}")
                static.append((i, args[i]))
        for name in sorted(names):
            if name in kwargs:
                self._check_hashable(kwargs[name], f"argument {name!r}")
                static.append((name, kwargs[name]))
        positional = tuple(None if i in numbers else a for i, a in enumerate(args))
        by_name = {k: v for k, v in sorted(kwargs.items()) if k not in names}
        return tuple(static), (positional, by_name)

    def _check_hashable(self, value: Any, what: str) -> None:
        try:
            hash(value)
        except TypeError:
            raise UnhashableStaticError(
                f"{what} of {_name(self.function)} is static, so it must be hashable; "
                f"got {value!r:.60} of type {type(value).__name__}.\n"
                "Pass a tuple for a list, a frozenset for a set, a frozen dataclass for a dict, "
                "or leave the argument traced if it is an array:\n"
                f"    f({_hashable_form(value)})"
            ) from None

    @staticmethod
    def _invoke(f: Callable[..., Any], static: Any, dynamic: Any) -> Any:
        positional, by_name = list(dynamic[0]), dict(dynamic[1])
        for where, value in static:
            if isinstance(where, int):
                positional[where] = value
            else:
                by_name[where] = value
        return f(*positional, **by_name)

    def _signature(self, leaves: list[Any], dynamic: Any) -> tuple[LeafType, ...]:
        for leaf in leaves:
            if not trees.is_array(leaf):
                for each, path in zip(leaves, trees.call_paths(*dynamic), strict=True):
                    trees.check_argument(each, path, "jit(f, static_argnums=...)")
        return tuple(map(leaf_type, leaves))

    def _explain_retrace(self, signature: tuple[LeafType, ...]) -> None:
        if not self._specializations:
            return
        *_, last = self._specializations.values()
        for i, (old, new) in enumerate(zip(last.signature, signature, strict=False)):
            if old != new:
                self._last_retrace = f"leaf {i} of the arguments was {old.type}, is {new.type}"
                return
        self._last_retrace = "the structure or a static argument differs"

    # -- looking inside ---------------------------------------------------

    def cache_info(self) -> CacheInfo:
        """How often the function was traced, and which argument differed at the last retrace.

        Calls on the fast path are not counted as hits. ``loaded`` says how often native code came
        from the cache on disk, where it would have been compiled without.
        """
        programs = {found.traced.program for found in self._specializations.values()}
        from_disk = sum(loaded(program, self.device) for program in programs)
        return CacheInfo(len(self._specializations), self._hits, self._last_retrace, from_disk)

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """Trace and optimise for these arguments (or types), without running.

        Returns an object with ``text(stage)``, ``compile()`` and ``cost()``.
        """
        from .inspection import Lowered

        _, found = self._specialize(args, kwargs)
        return Lowered(found.traced.program, self.device)

    def program(self, *args: Any, **kwargs: Any) -> Program:
        """The traced program for these arguments."""
        return self._specialize(args, kwargs)[1].traced.program

    def cache_key(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        """What native code for these arguments depends on: its key on disk, None if it has none."""
        _, found = self._specialize(args, kwargs)
        if self.device != "cpu":
            return None
        program, bare = found.traced.program, found.traced.structure.is_leaf()
        code = executable(program)
        key: dict[str, Any] | None
        key = code.key(found.weak, len(program.captured), as_tuple=not bare)
        return key


def jit(
    f: Callable[..., Any] | None = None,
    *,
    static_argnums: int | Sequence[int] = (),
    static_argnames: str | Sequence[str] = (),
    donate_argnums: int | Sequence[int] = (),
    device: str | None = None,
) -> Any:
    """Compile a function: traced once for each signature, then called natively.

    Args:
        f: a function of arrays, numbers, or trees of them. Omitted in ``@jit(...)``.
        static_argnums: positions of arguments that are settings, not arrays; they must be
            hashable, and each new value compiles anew.
        static_argnames: the same by name.
        donate_argnums: positions of arguments whose memory the results may take over. A
            permission only, which is not made use of yet: inputs are never written to.
        device: ``"cpu"`` (the default) or ``"cuda"``.

    Raises:
        UnhashableStaticError, NotArrayError, ConcreteValueError, UncoveredFunctionError:
            each naming the argument or the line, with the fix.

    >>> import numpy as np
    >>> from autojit import jit
    >>> @jit
    ... def f(x):
    ...     return np.sin(x) ** 2 + np.cos(x) ** 2
    >>> f(np.array([0.1, 0.2]))
    array([1., 1.])
    """
    if f is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            device=device,
        )
    if not callable(f):
        raise StructureError(f"jit takes a function, not {f!r:.60}")
    if device is not None and device not in DEVICES:
        raise UnsupportedTargetError(f"device must be 'cpu' or 'cuda', not {device!r}")
    return CompiledFunction(
        f,
        _as_tuple(static_argnums),
        _as_tuple(static_argnames),
        _as_tuple(donate_argnums),
        device or "cpu",
    )


def _as_tuple(x: Any) -> tuple[Any, ...]:
    return (x,) if isinstance(x, (int, str)) else tuple(x)


def _name(f: Callable[..., Any]) -> str:
    return getattr(f, "__name__", type(f).__name__)


def _hashable_form(value: Any) -> str:
    if isinstance(value, list):
        return f"{tuple(value)!r:.60}"
    return "..., " + f"frozenset({value!r:.40})" if isinstance(value, set) else "...)"[:-1]


@functools.lru_cache(maxsize=512)
def _parameters(f: Callable[..., Any]) -> tuple[str, ...]:
    try:
        return tuple(inspect.signature(f).parameters)
    except (TypeError, ValueError):
        return ()


def _names_of(f: Callable[..., Any], numbers: Sequence[int]) -> set[str]:
    if not numbers:
        return set()
    names = _parameters(f)
    return {names[i] for i in numbers if -len(names) <= i < len(names)}


def _numbers_of(f: Callable[..., Any], names: Sequence[str]) -> set[int]:
    return {i for i, name in enumerate(_parameters(f)) if name in names} if names else set()
