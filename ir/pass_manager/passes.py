"""Passes: their names, descriptions and properties, and their observers.

A pass transforms a unit into an equivalent one. A :class:`Level` defines the units: SSA programs,
or loop programs. A pass is declared beside its function, by the decorator of its level, and is
called like that function. Normally a call of a pass is only a call of its function. When passes are
observed, the result is also verified (:func:`verify_each`), or the call recorded (``records``), or
both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from . import records

U = TypeVar("U")

#: Whether the result of a pass is verified: for tests, since it takes time.
_verified = False


@contextmanager
def verify_each(active: bool = True) -> Iterator[None]:
    """A context in which the result of every pass, on any thread, is verified, or is not."""
    global _verified
    before, _verified = _verified, active
    try:
        yield
    finally:
        _verified = before


def always_verify() -> None:
    """Verify the result of every pass from now on."""
    global _verified
    _verified = True


def is_verifying() -> bool:
    """Whether results of passes are verified."""
    return _verified


class BrokenPass(AssertionError):
    """A pass made something that is not well formed; the message names the pass."""


@dataclass(frozen=True, eq=False)
class Level(Generic[U]):
    """One of the forms that a program has on its way to code.

    ``title``  the name of a unit
    ``sizes``  how large a unit is, as numbers by what they count
    ``state``  what tells later whether a unit has changed, even in place: states are compared
    ``text``   the text of a unit
    ``verify`` raises where a unit is not well formed; what the marks show to be unchanged may be
               left out
    ``marks``  what a unit is made of before a pass, for ``verify``
    """

    name: str
    title: Callable[[U], str]
    sizes: Callable[[U], dict[str, int]]
    state: Callable[[U], Any]
    text: Callable[[U], str]
    marks: Callable[[U], Any]
    verify: Callable[[U, Any], None]
    #: The passes of the level, by name.
    passes: dict[str, Pass[U]] = field(default_factory=dict)

    def declare(self, made: Pass[U]) -> Pass[U]:
        """Add a pass under its name, which no other one has."""
        if made.name in self.passes:
            raise ValueError(f"there are two passes with the name {made.name}")
        self.passes[made.name] = made
        return made


@dataclass(frozen=True, eq=False)
class Pass(Generic[U]):
    """A pass of a level.

    ``does``   one sentence, which begins with a verb
    ``needs``  properties that a unit has to have, or the pass would miss what it is there for, or
               fail
    ``gives``  properties that every unit has after it
    ``keeps``  properties that a unit has after it, if it had them before
    ``done``   whether a unit says itself that the pass has nothing left to do
    """

    name: str
    level: Level[U]
    function: Callable[..., U]
    does: str
    needs: frozenset[str] = frozenset()
    gives: frozenset[str] = frozenset()
    keeps: frozenset[str] = frozenset()
    done: Callable[[U], bool] | None = None

    def __call__(self, unit: U, *options: Any, **named: Any) -> U:
        if self.done is not None and self.done(unit):
            return unit
        if not (_verified or records.open_records):
            return self.function(unit, *options, **named)
        return _watched(self, records.current(), unit, options, named)


def _watched(
    run: Pass[U],
    record: records.Record | None,
    unit: U,
    options: tuple[Any, ...],
    named: dict[str, Any],
) -> U:
    def call() -> U:
        return run.function(unit, *options, **named)

    marks = run.level.marks(unit) if _verified else None
    made = call() if record is None else record.run(run, unit, call)
    if _verified:
        begun = records.clock()
        try:
            run.level.verify(made, marks)
        except Exception as error:
            raise BrokenPass(f"after the pass {run.name}: {error}") from error
        if record is not None:
            record.took(begun)
    return made


def named_after_module(function: Callable[..., Any]) -> str:
    """The name of a pass that has a module for itself."""
    return function.__module__.rpartition(".")[2]


def properties(names: Iterable[str]) -> frozenset[str]:
    """Properties as a set; even a single one must be in a list."""
    if isinstance(names, str):
        raise TypeError(f"properties are a list: [{names!r}]")
    return frozenset(names)
