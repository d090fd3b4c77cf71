"""The reasons why a compiled function was traced again, in the user's words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from autojit.errors import RetraceWarning, warn_at
from autojit.staging.trace_function import LeafType
from autojit.tracing.context import current_trace
from autojit.tracing.source import user_source

#: The most retraces of a function before a warning. The warning repeats each time the number has
#: doubled.
HANDFUL = 5

#: The number of latest signatures that a new one is compared with.
_COMPARED = 16


class Signature(NamedTuple):
    """The facts that a trace depends on: the static arguments by position or name, the structure of
    the other arguments, and the type and path of each leaf."""

    static: tuple[tuple[Any, Any], ...]
    structure: Any
    leaves: tuple[LeafType, ...]
    paths: tuple[str, ...]


class Difference(NamedTuple):
    """An argument that differs."""

    path: str
    was: str
    now: str
    fix: str

    def __str__(self) -> str:
        return f"{self.path} was {self.was}, is {self.now}"


SHAPE = (
    "Code is compiled for one shape. Keep it: pad to the largest, and mask what is padding:\n"
    "    f(np.pad(x, (0, size - len(x))), len(x))   # inside: np.arange(size) < length"
)
DTYPE = "Convert to one dtype before the call:\n    f(x.astype(np.float64))"
NUMBER = (
    "A Python number takes the dtype of the arrays that it is combined with, while an array has "
    "its own dtype. Always pass the same of the two:\n"
    "    f(float(x))                                # or np.float64(x)"
)
BOXED = (
    "The function tests for the difference between an array without axes and a scalar. Always pass "
    "the same of the two:\n"
    "    f(x[()])                                   # the scalar in x; the array: np.asarray(x)"
)
STATIC = (
    "The function is compiled separately for each value of a static argument. A number that is "
    "only used in computations need not be static:\n"
    "    jit(f)                                     # not: jit(f, static_argnums=...)"
)
STRUCTURE = (
    "Pass the same containers with the same keys and lengths at every call, and zeros for "
    "missing values."
)


def differences(old: Signature, new: Signature) -> list[Difference]:
    """The differences, static arguments first."""
    return [*_static(old, new), *(_leaves(old, new) or _containers(old, new))]


def _static(old: Signature, new: Signature) -> Iterator[Difference]:
    before, now = dict(old.static), dict(new.static)
    for where in dict.fromkeys([*before, *now]):
        a, b = (f"{d[where]!r:.40}" if where in d else "left out" for d in (before, now))
        if a != b or before[where] != now[where]:
            yield Difference(f"static argument {where!r}", a, b, STATIC)


def _leaves(old: Signature, new: Signature) -> list[Difference]:
    before = dict(zip(old.paths, old.leaves, strict=True))
    now = dict(zip(new.paths, new.leaves, strict=True))
    found = []
    for path in dict.fromkeys([*before, *now]):
        a, b = before.get(path), now.get(path)
        if a is None or b is None:
            found.append(Difference(path, _words(a), _words(b), STRUCTURE))
        elif a != b:
            found.append(Difference(path, _words(a), _words(b), _fix(a, b)))
    return found


def _words(leaf: LeafType | None) -> str:
    if leaf is None:
        return "not there"
    if leaf.boxed:
        return f"an array {leaf.type}"
    return str(leaf.type) if leaf.weak is None else f"a Python {leaf.weak.__name__}"


def _fix(old: LeafType, new: LeafType) -> str:
    if old.weak is not new.weak:
        return NUMBER
    if old.boxed is not new.boxed:
        return BOXED
    return DTYPE if old.type.shape == new.type.shape else SHAPE


def _containers(old: Signature, new: Signature) -> list[Difference]:
    """Arguments with the same leaves in containers of other types."""
    if old.structure == new.structure:
        return []
    pairs = [
        (f"argument {name!r}", a, b)
        for i in range(2)  # positional ones, and those by name
        for name, a, b in _children(old.structure.child(i), new.structure.child(i))
    ]
    found = [_container(path, a, b) for path, a, b in pairs if a != b]
    return found or [_container("the tree of arguments", old.structure, new.structure)]


def _container(path: str, old: Any, new: Any) -> Difference:
    if old.type is new.type or None in (old.type, new.type):
        return Difference(path, _shown(old), _shown(new), STRUCTURE)
    return Difference(path, f"a {old.type.__name__}", f"a {new.type.__name__}", STRUCTURE)


def _children(old: Any, new: Any) -> Iterator[tuple[Any, Any, Any]]:
    before = dict(zip(old.entries(), old.children(), strict=True))
    now = dict(zip(new.entries(), new.children(), strict=True))
    return ((name, before[name], now[name]) for name in before if name in now)


def _shown(structure: Any) -> str:
    words = str(structure).removeprefix("PyTreeSpec(").removesuffix(")")
    return f"{words.partition(', namespace=')[0]:.60}"


# -- counting -------------------------------------------------------------------


class Retraces:
    """The number of times that a function was traced again, and the reasons."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.last: str | None = None
        self.count = 0
        self._warn_at = HANDFUL + 1
        self._paths: Counter[str] = Counter()

    def add(self, new: Signature, earlier: Sequence[Signature]) -> str | None:
        """Note a trace, and warn if there are too many. Return its reason, None for the first."""
        found = nearest(new, earlier)
        if not found:
            return None
        self.count += 1
        self.last = str(found[0])
        self._paths.update(difference.path for difference in found)
        # Inside of another trace nothing is compiled.
        if self.count >= self._warn_at and current_trace() is None:
            self._warn_at = 2 * self.count
            self._warn(found)
        return self.last

    def _warn(self, found: list[Difference]) -> None:
        worst = max(found, key=lambda difference: self._paths[difference.path])
        warn_at(
            user_source(),
            RetraceWarning,
            f"{self.name} was traced again {self.count} times, {self._paths[worst.path]} of them "
            f"because {worst.path} differed (now {worst.now}, before {worst.was}), and each trace "
            f"is compiled.\n{worst.fix}",
        )


def nearest(new: Signature, earlier: Sequence[Signature]) -> list[Difference]:
    """The differences from the nearest earlier signature; from the latest, if several are."""
    found = [differences(old, new) for old in reversed(earlier[-_COMPARED:])]
    return min((f for f in found if f), key=len, default=[])


# -- forbidding -----------------------------------------------------------------


class _Ban:
    """A block in which functions may not be traced: those named, or all."""

    def __init__(self, functions: Sequence[Any]) -> None:
        self.functions = functions
        self.broken: list[str] = []

    def covers(self, function: Any) -> bool:
        return not self.functions or any(f is function for f in self.functions)


_bans: list[_Ban] = []


@contextmanager
def forbidden(functions: Sequence[Any]) -> Iterator[None]:
    """A context in which a trace, in any thread, is an AssertionError."""
    ban = _Ban(functions)
    _bans.append(ban)
    try:
        yield
    finally:
        _bans.remove(ban)
    if ban.broken:  # in another thread, or caught
        raise AssertionError("\n".join(ban.broken))


def check_allowed(
    function: Any, name: str, signature: Signature, earlier: Sequence[Signature]
) -> None:
    """Raise if the function may not be traced now."""
    for ban in _bans:
        if ban.covers(function):
            found = nearest(signature, earlier)
            reason = str(found[0]) if found else "it was not traced before"
            words = f"{name} is traced inside assert_no_retrace(): {reason}"
            ban.broken.append(words)
            raise AssertionError(words)
