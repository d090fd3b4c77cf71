"""Arrays that share memory, as NumPy's views do.

A view remembers its base and how it shows it: ``read`` computes its value from the base's, and
``write`` the base's value with the view's put in place. Values are in single assignment, so a view
is up to date as long as its base still has the value that it was read from; if not, it is read
again when it is next used. A write to a view is a write to its base, recursively.

For a reshape that joins axes, or ``ravel``, NumPy decides between a view and a copy by the memory
layout, and the layout of an argument is not known while a function is traced. Both arrays can be
used freely until one of them is changed; after that the other one, which may or may not have
changed too, is refused.

Some lists hold copies of the arrays that are put into them (see ``capture.state.stretch``).
Python's lists hold the arrays themselves, so such an array may not change afterwards: it is *kept*.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from autojit.errors import ArgumentChangedError, InPlaceError, RefusedInPlaceError, with_place
from autojit.ir.core.program import Value, building
from autojit.ir.core.shapes import resolve_reshape
from autojit.ir.ops.move import reshape

from .blocks import here, original
from .context import current_trace
from .protocol import TracedValue
from .source import user_source, user_statement


class View(Protocol):
    """How an array shows its base."""

    def read(self, base: Value) -> Value:
        """The view's value."""

    def write(self, base: Value, part: Value) -> Value:
        """The base's value after the view has got another value."""


@dataclass(frozen=True)
class Mapped:
    """A view given by two functions; without the second it is read-only."""

    reading: Callable[[Value], Value]
    writing: Callable[[Value, Value], Value] | None = None

    def read(self, base: Value) -> Value:
        return self.reading(base)

    def write(self, base: Value, part: Value) -> Value:
        if self.writing is None:
            raise InPlaceError(
                with_place(
                    "This view is read-only in NumPy too. Change a copy:\n    y = x.copy()",
                    user_source(),
                )
            )
        return self.writing(base, part)


@dataclass(frozen=True)
class Uncertain:
    """Perhaps a view of the base, perhaps a copy."""

    def read(self, base: Value) -> Value:
        raise _uncertain()

    def write(self, base: Value, part: Value) -> Value:
        raise _uncertain()


class Foreign:
    """An array that no traced function has created."""

    argument_path = "an array from outside the function"


FOREIGN = Foreign()


def relate(x: TracedValue, others: Iterable[TracedValue | Foreign]) -> None:
    """Note that an array of the current trace may be one of others: if one is changed in place, the
    other is lost."""
    known = _peers_at(x)
    for other in others:
        if id(other) not in known:
            known[id(other)] = other
            if not isinstance(other, Foreign):
                _note_peer(here(other), x)


def _note_peer(other: TracedValue, x: TracedValue) -> None:
    """Note at another array that it may be x. An array of another function must forget it when the
    function of x has been traced."""
    found = _peers_at(other)
    if id(x) in found:
        return
    found[id(x)] = x
    if other.owner is not x.owner:
        trace = x.owner
        while trace.around is not None:
            trace = trace.around
        trace.peers_outside.append((found, x))


def _peers_at(x: TracedValue) -> dict[int, Any]:
    """The arrays that may be x, by their identities, and x itself, which this keeps alive."""
    found: dict[int, Any] = x.owner.peers.setdefault(id(x), {id(x): x})
    return found


def peers(x: TracedValue) -> Iterator[Any]:
    """The arrays that may be the same as x, although no memory is known to be shared."""
    first, trace = original(x), x.owner
    while trace is not None:
        same = first if first.owner is trace else trace.stand_ins.get(id(first), (None, None))[1]
        yield from list(trace.peers.get(id(same), {}).values())[1:]
        trace = None if first.owner is trace else trace.around


def _uncertain() -> RefusedInPlaceError:
    return RefusedInPlaceError(
        with_place(
            "This array may share memory with one that has been changed in place (one of the two "
            "is a reshape or ravel of the other). Whether NumPy makes a view or a copy there "
            "depends on the layout in memory, which is not known while a function is traced. Or "
            "which array a name holds depends on a traced condition.\n"
            "Say which one is meant:\n"
            "    y = x.reshape(-1).copy()           # a copy: x keeps its value\n"
            "    y[...] = 0; x = y.reshape(x.shape) # x has the new value\n"
            "    y = (a if c else b).copy()         # a copy: a and b keep their values",
            user_source(),
        )
    )


def refreshed(x: TracedValue) -> Value:
    """The present value of a view, or of an array that is no longer known."""
    if x.lost:
        raise _uncertain()
    assert x.base is not None
    assert x.how is not None
    now = x.base.value
    if now is not x.seen:
        x.check_owner(x.base.owner)
        with building(x.owner.builder):
            x.own = x.how.read(now)
        x.seen = now
    return x.own


def assign(x: TracedValue, value: Value, part: str = "") -> None:
    """Give an array another value of the same type, which all arrays that share its memory see.

    ``part`` names the changed part in messages, if it is not the whole array.
    """
    x = here(x)
    x.check_owner(current_trace())
    _check_own(x, part)
    _check_changes(x)
    base, view = x.base, x.how
    if isinstance(view, Uncertain):
        assert base is not None
        base.check_owner(x.owner)
        _check_own(_root(base), "An array that may be a view of ")
        x.value  # noqa: B018 - raises if the base has been changed
        _lose(base)
        _lose_peers(x)
        x.base = x.how = None
    elif base is not None:
        assert view is not None
        base.check_owner(x.owner)
        assign(base, view.write(base.value, value), "A view of ")
        x.seen = base.value
    else:
        _lose_peers(x)
    x.own = value


def reshape_in_place(x: Any, shape: Any) -> None:
    """``x.shape = shape`` for an array that the function has created, and that has no views.

    All names of it see the new shape.  The elements are taken in C order; NumPy refuses arrays for
    which that needs a copy.
    """
    is_known = x.base is None or (x.ordered and not isinstance(x.how, Uncertain))
    is_seen = x.lost or x.kept or x.viewed or x.argument_path is not None or x.is_scalar
    if is_seen or not is_known or here(x) is not x:
        raise shape_is_kept()
    sizes = shape if isinstance(shape, Iterable) else (shape,)
    old, how = x.shape, x.how
    new = resolve_reshape(old, [operator.index(n) for n in sizes])
    x.check_owner(current_trace())
    with building(x.owner.builder):
        x.own = reshape(x.value, shape=new)
    if how is not None:
        x.how = Mapped(
            lambda base: reshape(how.read(base), shape=new),
            lambda base, part: how.write(base, reshape(part, shape=old)),
        )
    x.boxed, x.ordered = x.boxed or not new, True


def shape_is_kept() -> RefusedInPlaceError:
    """The error for an array that others may see."""
    statement: Any = user_statement()
    array, shape = "x", "(2, 2)"
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Attribute):
        array, shape = ast.unparse(statement.targets[0].value), ast.unparse(statement.value)
    fix = _beside([(f"{array} = {array}.reshape({shape})", f"not: {array}.shape = {shape}")])
    return RefusedInPlaceError(
        with_place(
            "The shape of an array that others may see is set in place: an argument, a view, an "
            "array with views, or one from outside a branch or a loop. Rebind the name:\n" + fix,
            user_source(),
        )
    )


def _root(x: TracedValue) -> TracedValue:
    while x.base is not None:
        x = x.base
    return x


def _check_own(x: TracedValue | Foreign, part: str) -> None:
    """Raise ArgumentChangedError if an array belongs to the caller."""
    if x.argument_path is not None:
        raise ArgumentChangedError(
            with_place(
                f"{part}{x.argument_path} is changed in place. In NumPy the caller's array would "
                "change with it, and transformed functions never write to their arguments.\n"
                f"{_instead(user_statement(), is_argument=not part.startswith('An array'))}",
                user_source(),
            )
        )


def _instead(statement: ast.stmt | None, *, is_argument: bool) -> str:
    """What to write instead of a statement that changes an argument or a possible view of one, in
    the names of that statement."""
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        name = statement.target.id
        right = ast.BinOp(statement.target, statement.op, statement.value)
        lines = [(f"{name} = {ast.unparse(right)}", f"not: {ast.unparse(statement)}")]
        lines.append((f"{name} = {name}.copy()", "or as the function's first line"))
        return f"Rebind the name, or work on a copy:\n{_beside(lines)}"
    target: Any = statement
    if isinstance(statement, ast.Assign):
        target = statement.targets[0]
    elif isinstance(statement, ast.AugAssign):
        target = statement.target
    array = target.value if isinstance(target, ast.Subscript) else ast.Name("x")
    if isinstance(array, ast.Name):
        where = "the function's first line" if is_argument else "before this line"
        line = f"{array.id} = {array.id}.copy()", where
    else:
        line = f"y = {ast.unparse(array)}.copy()", "and change y"
    return f"Work on a copy:\n{_beside([line])}"


def _beside(lines: Iterable[tuple[str, str]]) -> str:
    return "\n".join(f"    {code:<34} # {words}" for code, words in lines)


def lose(arrays: Iterable[TracedValue]) -> None:
    """Mark arrays of the current trace as no longer known."""
    for x in arrays:
        _root(here(x)).lost = True


def _lose(x: TracedValue) -> None:
    """Mark an array, and all its bases, as possibly changed."""
    while x.base is not None:
        x = x.base
    _check_changes(x)
    x.lost = True
    _lose_peers(x)


def _lose_peers(x: TracedValue) -> None:
    """Mark the arrays that may be the same as a changed one as no longer known."""
    for y in peers(x):
        _check_own(y, "An array that may be ")
        root = _root(here(y))
        if root is not x:
            _check_changes(root)
            root.lost = True


def keep(arrays: Iterable[TracedValue]) -> None:
    """Arrays, of which lists hold copies: from now on neither these nor what may be the same array
    may change."""
    for x in arrays:
        if x.is_number:
            continue
        for y in (x, *peers(here(x))):
            if not isinstance(y, Foreign):
                _root(here(y)).kept = True


def is_kept(x: TracedValue) -> bool:
    """Whether an array may not change in the trace that it belongs to, since a list holds a copy of
    it."""
    return not x.is_number and _root(x).kept


def _check_changes(x: TracedValue) -> None:
    """Raise RefusedInPlaceError where an array is an element of a list that holds a copy of it."""
    if x.kept:
        raise RefusedInPlaceError(with_place(_KEPT, user_source()))


_KEPT = (
    "This array is changed in place and is, or may be, an element of a list whose length depends "
    "on a traced value. The list holds copies of its elements, so it would not see the change. "
    "Append a copy, or make a new array instead of changing this one:\n"
    "    rows.append(x.copy())              # not: rows.append(x)\n"
    "    x = x - step                       # not: x -= step\n"
    "    row = rows[-1].copy()              # before row is changed"
)
