"""Shared by functions with custom rules: arguments, structures, and the depth of rules."""

from __future__ import annotations

import inspect
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import optree

from autojit.errors import DtypeError, ShapeError, StructureError, with_place
from autojit.ir.core.declaration import full
from autojit.ir.core.types import Type
from autojit.protocols.lifting import to_dtype, tracer
from autojit.staging import pytrees
from autojit.staging.bodies import Body
from autojit.staging.trace_function import LeafType, argument_type, leaf_type
from autojit.tracing.context import require
from autojit.tracing.source import user_source
from autojit.tracing.values import is_tracer, lift

#: How deep rules that call functions with rules are traced. This is the highest order of a
#: derivative through them.
MAX_ORDER = 4


class Arguments(NamedTuple):
    """The arguments of one call: settings by position, and leaves of the others."""

    settings: dict[int, Any]
    leaves: list[Any]
    structure: Any
    types: list[LeafType]
    paths: list[str]

    def call(self, f: Callable[..., Any], leaves: Sequence[Any]) -> Any:
        """``f`` of all arguments in order, with other leaves."""
        return f(*self.together(pytrees.arguments(self.structure, leaves)))

    def together(self, others: Sequence[Any]) -> list[Any]:
        """The settings and the other arguments, in their positions."""
        rest = iter(others)
        count = len(self.settings) + len(others)
        return [self.settings[i] if i in self.settings else next(rest) for i in range(count)]

    @property
    def inexact(self) -> list[bool]:
        """Which leaves have derivatives."""
        return [t.type.is_inexact for t in self.types]

    @property
    def moving(self) -> list[LeafType]:
        """The types of those leaves."""
        return [t for t in self.types if t.type.is_inexact]


def arguments_of(args: Sequence[Any], nondiff: Sequence[int], name: str, kind: str) -> Arguments:
    """The arguments, checked: all but the settings are trees of arrays."""
    numbers = set()
    for number in nondiff:
        if not -len(args) <= number < len(args):
            raise StructureError(
                with_place(
                    f"nondiff_argnums={number} of {name}, which was called with {len(args)} "
                    "arguments.",
                    user_source(),
                )
            )
        numbers.add(number % len(args))
    others = tuple(a for i, a in enumerate(args) if i not in numbers)
    leaves, structure = pytrees.flatten(others)
    named = [i for i in range(len(args)) if i not in numbers]
    paths = [p for i in named for p in pytrees.paths(args[i], f"argument {i}")]
    for leaf, path in zip(leaves, paths, strict=True):
        pytrees.check_argument(leaf, path, f"{kind}({name}, nondiff_argnums=(...,))")
    types = [argument_type(leaf) for leaf in leaves]
    return Arguments({i: args[i] for i in numbers}, leaves, structure, types, paths)


def positional(f: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """All arguments by position, as rules expect them, with defaults filled in."""
    bound = None
    if not isinstance(f, np.ufunc):
        try:
            bound = inspect.signature(f).bind(*args, **kwargs)
        except TypeError as error:
            raise StructureError(
                with_place(f"{getattr(f, '__name__', f)}: {error}.", user_source())
            ) from None
        except ValueError:  # a builtin without a signature
            bound = None
    if bound is not None:
        bound.apply_defaults()
        # Defaults that cannot be passed by position stay defaults.
        args, kwargs = bound.args, {n: x for n, x in bound.kwargs.items() if n in kwargs}
    if kwargs:
        raise StructureError(
            with_place(
                f"{getattr(f, '__name__', f)} has a custom derivative, whose rules take arguments "
                f"by position; {', '.join(kwargs)} can be passed by name only. Leave out the * in "
                "its signature.",
                user_source(),
            )
        )
    return list(args)


# -- what rules return --------------------------------------------------------------


class Wanted(NamedTuple):
    """The structure and types that a rule must return, and the name of each leaf."""

    structure: Any
    types: Sequence[Type]
    paths: Sequence[str]
    what: str


def matched(tree: Any, wanted: Wanted, *, zeros: bool) -> list[Any]:
    """The leaves of a rule's result, checked; with ``zeros``, None stands for a zero.

    Leaves without a derivative are then skipped, and are None in the result.
    """
    leaves = _leaves(tree, wanted.structure, wanted, zeros)
    result: list[Any] = []
    for leaf, type, path in zip(leaves, wanted.types, wanted.paths, strict=True):
        if zeros and (leaf is None or not type.is_inexact):
            result.append(None)
            continue
        result.append(_checked(leaf, type, f"{wanted.what} at {path}"))
    return result


def or_zeros(leaves: Sequence[Any], types: Sequence[Type]) -> list[Any]:
    """Replace None by zeros for leaves with a derivative, and leave out the other leaves."""
    pairs = zip(leaves, types, strict=True)
    return [tracer(full(0, t)) if x is None else x for x, t in pairs if t.is_inexact]


def wanted_of(body: Body, types: Sequence[Type], what: str) -> Wanted:
    """What a rule must return for results of a body."""
    paths = pytrees.paths(pytrees.unflatten(body.structure, [0] * len(types)), "result")
    return Wanted(body.structure, types, paths, what)


def cotangents_of(result: Any, arguments: Arguments, types: Sequence[Type], what: str) -> list[Any]:
    """The result of a backward rule, one leaf for each leaf of the arguments; None is a zero."""
    count = len(arguments.structure.children())
    if isinstance(result, list):
        result = tuple(result)
    if type(result) is not tuple or len(result) != count:
        raise StructureError(
            with_place(
                f"{what} must return a tuple of {count} cotangents, one for each argument "
                f"(None for zero); got {pytrees.result_in_words(result)}. A tuple of one is "
                "written (x,).",
                user_source(),
            )
        )
    wanted = Wanted(arguments.structure, types, arguments.paths, f"The cotangent of {what}")
    return matched(result, wanted, zeros=True)


def _leaves(tree: Any, structure: Any, wanted: Wanted, zeros: bool) -> list[Any]:
    if tree is None and zeros:
        return [None] * structure.num_leaves
    given = pytrees.flatten(tree)[1]  # registers dataclasses too
    if given == structure:
        return pytrees.flatten(tree)[0]
    if not zeros or structure.is_leaf() or given.is_leaf():
        raise _other_structure(wanted, tree)
    level = optree.tree_flatten_one_level(tree, namespace=pytrees.NAMESPACE)
    if type(tree) is not structure.type or list(level.entries) != list(structure.entries()):
        raise _other_structure(wanted, tree)
    parts = zip(level.children, structure.children(), strict=True)
    return [leaf for part, inner in parts for leaf in _leaves(part, inner, wanted, zeros)]


def _other_structure(wanted: Wanted, tree: Any) -> StructureError:
    return StructureError(
        with_place(
            f"{wanted.what} must have the structure {wanted.structure}; "
            f"got {pytrees.flatten(tree)[1]}.",
            user_source(),
        )
    )


def _checked(leaf: Any, type: Type, what: str) -> Any:
    """A leaf of the wanted type as a value of the trace."""
    pytrees.check_result(leaf, what)
    got, weak, _ = leaf_type(leaf)
    if got.shape != type.shape:
        raise ShapeError(
            with_place(f"{what} must have the shape {type.shape}; got {got.shape}.", user_source())
        )
    dtype = np.result_type(type.dtype, weak(0)) if weak else got.dtype
    if dtype != type.dtype:
        raise DtypeError(
            with_place(
                f"{what} must be {type.dtype.name}; got {got.dtype.name}. Convert it:\n"
                f"    x.astype(np.{type.dtype.name})",
                user_source(),
            )
        )
    return tracer(to_dtype(lift(leaf, type.dtype), type.dtype))


# -- rules within rules -------------------------------------------------------------


class _State(threading.local):
    def __init__(self) -> None:
        self.level = 0
        #: Rules traced inside of the outermost rule: (what it was traced for, what was traced).
        self.traced: dict[Any, tuple[Any, list[Body]]] = {}


_state = _State()


def rules_for(
    owner: Any, arguments: Arguments, body: Body, trace: Callable[[], list[Body]]
) -> list[Body] | None:
    """The traced rules of a call; None if they are too deep to be traced.

    Inside a rule, calls with equal bodies are traced only once. Otherwise the number of traces of
    rules that call each other would be exponential in the depth.
    """
    inside = _state.level > 0
    _state.level += 1
    try:
        if _state.level > MAX_ORDER:
            return None
        settings = tuple((i, id(x)) for i, x in sorted(arguments.settings.items()))
        key = (id(owner), _state.level, settings, tuple(arguments.types), body.program.key)
        found = _state.traced.get(key) if inside else None
        if (
            found is not None
            and found[0][0]() is owner
            and _same(found[0][-1].program.captured, body.program.captured)
        ):
            for rule in found[1]:
                require(rule.program.devices)
            return [
                rule._replace(captured=[lift(c) for c in rule.program.captured])
                for rule in found[1]
            ]
        made = trace()
        # A function with rules that is created in each call may hold values of this trace.
        _state.traced[key] = (weakref.ref(owner), arguments.settings, body), made
        return made
    finally:
        _state.level -= 1
        if not inside:
            _state.traced = {}


def _same(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """Whether two functions close over the same values."""
    if len(a) != len(b):
        return False
    return all(x is y if is_tracer(x) else np.array_equal(x, y) for x, y in zip(a, b, strict=True))


def tracers_of(body: Body, values: Sequence[Any]) -> Any:
    """The results of a call as the traced function returned them."""
    leaves = [tracer(v, w) for v, w in zip(values, body.weak, strict=True)]
    return pytrees.unflatten(body.structure, leaves)
