"""Effects of statements: each class declares its effects once, beside its definition.

    @declare(defines=lambda s: s.result, reads=lambda s: (Access(s.buffer, s.index),))
    @dataclass(slots=True)
    class Load: ...

Walks, the verifier and passes use the declaration, never the class. A statement has no effects that
it does not declare: a test fills each field of a statement and looks for it in the declaration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from autojit.ir.core.affine import Affine, Var

from .values import Accumulator, Buffer, Scalar

C = TypeVar("C", bound=type)


@dataclass(slots=True)
class Access:
    """Scalars of a buffer, from ``index + low`` to ``index + high``, both included.

    Nothing is touched if the guard does not hold. If ``is_exact`` is false, only some of these
    scalars are touched, at computed indices.
    """

    buffer: Buffer
    index: Affine
    low: int = 0
    high: int = 0
    guard: Scalar | None = None
    is_exact: bool = True
    #: For an update: how the new value is combined with the old one.
    combine: str = ""
    #: Whether it extends to the end of a matrix, which the statement does not specify.
    is_rest: bool = False

    @property
    def size(self) -> int:
        return self.high - self.low + 1


def _nothing(s: Any) -> tuple[Any, ...]:
    return ()


def _none(s: Any) -> None:
    return None


def _no(s: Any) -> bool:
    return False


def _no_variables(s: Any) -> Mapping[Var, tuple[int, int]]:
    return {}


@dataclass(frozen=True)
class Effects:
    """Functions that return the effects of a statement, one for each kind."""

    #: The scalar that it computes.
    defines: Callable[[Any], Scalar | None] = _none
    #: The scalars that it reads, and the scalars computed in its own bodies that it reads.
    uses: Callable[[Any], Sequence[Scalar]] = _nothing
    uses_of_bodies: Callable[[Any], Sequence[Scalar]] = _nothing
    #: The memory that it reads, sets, and updates from its old contents.
    reads: Callable[[Any], Sequence[Access]] = _nothing
    writes: Callable[[Any], Sequence[Access]] = _nothing
    updates: Callable[[Any], Sequence[Access]] = _nothing
    #: Scratch memory: its contents before and after do not matter.
    scratch: Callable[[Any], Sequence[Access]] = _nothing
    #: Buffers that it moves to other memory.
    moves: Callable[[Any], Sequence[Buffer]] = _nothing
    #: All buffers that it names itself, in order, without nested statements.
    buffers: Callable[[Any], Sequence[Buffer]] = _nothing
    #: Index expressions that do not address memory.
    indices: Callable[[Any], Sequence[Affine]] = _nothing
    #: The accumulators that it starts, adds to and ends.
    begins: Callable[[Any], Accumulator | None] = _none
    adds_to: Callable[[Any], Accumulator | None] = _none
    finishes: Callable[[Any], Accumulator | None] = _none
    #: The iteration counts that it determines, and that it reads.
    counts: Callable[[Any], Any] = _none
    needs_count: Callable[[Any], Any] = _none
    #: The nested lists of statements; the variables they see, with ranges; the task of which it
    #: runs the share.
    bodies: Callable[[Any], list[list[Any]]] = field(default=lambda s: [])
    variables: Callable[[Any], Mapping[Var, tuple[int, int]]] = _no_variables
    share: Callable[[Any], Var | None] = _none
    #: Whether nested or following statements must keep their order.
    in_turn: Callable[[Any], bool] = _no


#: The effects of each class of statements.
EFFECTS: dict[type, Effects] = {}
#: The bodies of each class with nested statements. Walks use this first.
BODIES: dict[type, Callable[[Any], list[list[Any]]]] = {}
#: The classes of statements that touch memory themselves.
TOUCHING: set[type] = set()
_OF_MEMORY = {"reads", "writes", "updates", "scratch", "moves"}
_Accesses = Callable[[Any], Sequence[Access]]
_Uses = Callable[[Any], Sequence[Scalar]]
#: For each class, the functions for its accesses, and for those that change memory; most declare at
#: most one.
_ACCESSES: dict[type, tuple[_Accesses, ...]] = {}
_CHANGES: dict[type, tuple[_Accesses, ...]] = {}
#: For each class, the functions for the scalars that it reads.
USES: dict[type, tuple[_Uses, ...]] = {}


def declare(**effects: Any) -> Callable[[C], C]:
    """State the effects of a class of statements."""
    made = Effects(**effects)

    def declared(statement: C) -> C:
        EFFECTS[statement] = made
        _ACCESSES[statement] = _stated(made.reads, made.updates, made.writes, made.scratch)
        _CHANGES[statement] = _stated(made.updates, made.writes, made.scratch)
        USES[statement] = _stated(made.uses, made.uses_of_bodies)
        if "bodies" in effects:
            BODIES[statement] = made.bodies
        if not _OF_MEMORY.isdisjoint(effects):
            TOUCHING.add(statement)
        return statement

    return declared


def _stated(*given: Any) -> tuple[Any, ...]:
    return tuple(each for each in given if each is not _nothing)


def effects_of(statement: Any) -> Effects:
    """The effects that the class of a statement declares."""
    return EFFECTS[type(statement)]


def accesses(statement: Any) -> list[Access]:
    """All memory that a statement touches itself, reads first."""
    return [access for given in _ACCESSES[type(statement)] for access in given(statement)]


def changes(statement: Any) -> list[Access]:
    """The memory that a statement changes itself."""
    return [access for given in _CHANGES[type(statement)] for access in given(statement)]


def changed_buffers(statement: Any) -> list[Buffer]:
    """The buffers that a statement changes itself, or moves elsewhere."""
    moved = EFFECTS[type(statement)].moves(statement)
    return [*(access.buffer for access in changes(statement)), *moved]


def is_read_only(statement: Any) -> bool:
    """Whether a statement computes a scalar from scalars and memory, and does nothing else."""
    e = EFFECTS[type(statement)]
    return e.defines is not _none and e.finishes is _none and not e.in_turn(statement)


def is_pure(statement: Any) -> bool:
    """Whether a statement computes a scalar from scalars and indices, and does nothing else."""
    return is_read_only(statement) and EFFECTS[type(statement)].reads is _nothing


def indices_of(statement: Any) -> list[Affine]:
    """The index expressions of a statement."""
    return [
        *EFFECTS[type(statement)].indices(statement),
        *(access.index for access in accesses(statement)),
    ]
