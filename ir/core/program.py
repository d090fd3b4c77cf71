"""Programs: immutable lists of typed operations in static single assignment.

A :class:`Program` has inputs, ops and outputs.  Arrays are operands; everything
static is a keyword parameter.  A :class:`Builder` grows a list of ops and
finishes it into a program.  Op declarations (``ir.ops``) are callable and emit
into the builder that is current in the thread (:func:`building`).
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from .collection import seldom_collected
from .parameters import plain
from .types import Type, TypeMismatch
from .values import DerivedSource as DerivedSource
from .values import Source as Source
from .values import Value as Value
from .values import views as views

if TYPE_CHECKING:
    from .declaration import Declaration


class Op:
    """One operation: a declaration applied to operands.  Immutable by convention."""

    __slots__ = ("kind", "operands", "params", "results", "source")

    def __init__(
        self,
        kind: Declaration,
        operands: tuple[Value, ...],
        params: dict[str, Any],
        results: tuple[Value, ...],
        source: Source | None = None,
    ) -> None:
        self.kind: Declaration = kind
        self.operands: tuple[Value, ...] = operands
        self.params: dict[str, Any] = params
        self.results: tuple[Value, ...] = results
        self.source: Source | None = source

    @property
    def result(self) -> Value:
        """The only result."""
        (result,) = self.results
        return result

    @property
    def programs(self) -> list[Program]:
        """The programs among the parameters, or in tuples among them."""
        found = []
        for value in self.params.values():
            items = value if isinstance(value, tuple) else (value,)
            found += [item for item in items if isinstance(item, Program)]
        return found

    def __repr__(self) -> str:
        types = ", ".join(str(v.type) for v in self.operands)
        return f"<{self.kind.name}({types})>"


def derivative_of(source: Source | None, op: Op) -> Source | None:
    """A source position, marked as that of an op's derivative.

    For a derivative of a derivative it is the position of the op that the user wrote.
    """
    if source is None:
        return None
    made = DerivedSource(*source)
    made.of = op.source.of if isinstance(op.source, DerivedSource) else op.kind.name
    return made


def param_key(value: Any) -> Any:
    """A hashable key of a parameter that distinguishes 0.0 from -0.0, and 1 from 1.0 and True."""
    kind = type(value)
    if kind is int or kind is str or value is None:
        return value
    if kind is tuple:
        for v in value:
            if type(v) is not int:
                return tuple([param_key(v) for v in value])
        return value
    if isinstance(value, Program):
        return value.key
    if isinstance(value, np.dtype):
        return value
    return (kind.__name__, repr(value))


class _Structure:
    """The key shared by programs that differ only in captured arrays, computed on first use."""

    key: Any = None
    hash: int | None = None


class Program:
    """A typed, closed, immutable program.

    ``captured`` holds the arrays that the traced function closed over, which are bound to the last
    inputs. They, the sources and ``devices`` (the requests for devices) are data, not structure:
    programs that differ only in these are equal.
    """

    __slots__ = (
        "_kinds", "_may_fail", "_structure", "captured", "devices", "inputs", "irregular", "name",
        "ops", "outputs", "simplified",
    )  # fmt: skip

    def __init__(
        self,
        inputs: Iterable[Value],
        ops: Iterable[Op],
        outputs: Iterable[Value],
        *,
        name: str = "main",
        captured: Iterable[Any] = (),
    ) -> None:
        self.name: str = name
        self.inputs: tuple[Value, ...] = tuple(inputs)
        self.ops: tuple[Op, ...] = tuple(ops)
        self.outputs: tuple[Value, ...] = tuple(outputs)
        self.captured: tuple[Any, ...] = tuple(captured)
        self.devices: tuple[Any, ...] = ()
        self._structure = _Structure()
        self._kinds: frozenset[Declaration] | None = None
        self._may_fail: bool | None = None
        #: Whether the passes have nothing left to do.
        self.simplified: bool = False
        #: The number of ops from one stretch that was searched for repetitions and has none.
        self.irregular: int = 0

    @property
    def in_types(self) -> tuple[Type, ...]:
        return tuple(v.type for v in self.inputs)

    @property
    def out_types(self) -> tuple[Type, ...]:
        return tuple(v.type for v in self.outputs)

    @property
    def kinds(self) -> frozenset[Declaration]:
        """The declarations of its ops, but not of the ops in bodies."""
        if self._kinds is None:
            self._kinds = frozenset(map(_kind, self.ops))
        return self._kinds

    @property
    def may_fail(self) -> bool:
        """Whether one of its ops may fail, as ``Declaration.may_fail`` says."""
        if self._may_fail is None:
            self._may_fail = any(op.kind.may_fail(op) for op in self.ops)
        return self._may_fail

    def has(self, *families: type) -> bool:
        """Whether one of its ops is of these classes of declarations."""
        return any(isinstance(kind, families) for kind in self.kinds)

    @property
    def key(self) -> Any:
        """A hashable value, equal for programs that are equal in structure."""
        if self._structure.key is None:
            with seldom_collected():
                self._structure.key = self._made_key()
        return self._structure.key

    def _made_key(self) -> Any:
        number: dict[Value, int] = {}
        for v in self.inputs:
            number[v] = len(number)
        rows = []
        for op in self.ops:
            operands = tuple([number[v] for v in op.operands])
            rows.append((op.kind.name, operands, op.kind.key(op.params) if op.params else ()))
            for v in op.results:
                number[v] = len(number)
        types = tuple([(t.dtype, t.shape) for t in self.in_types])
        return types, tuple(rows), tuple([number[v] for v in self.outputs])

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Program) and self.key == other.key)

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        """The pickled state, without the hash, which differs between processes."""
        state = {name: getattr(self, name) for name in self.__slots__}
        return None, {**state, "_structure": _Structure(), "_kinds": None, "_may_fail": None}

    def __hash__(self) -> int:
        if self._structure.hash is None:
            self._structure.hash = hash(self.key)
        return self._structure.hash

    def text(self, *, sources: bool = False) -> str:
        """The program in the textual form that :func:`autojit.parse` reads."""
        return views.text(self, sources=sources)

    def graph(self) -> Any:
        """The program as a ``networkx.DiGraph``, for analysis and drawing."""
        return views.graph(self)

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<program {self.name}: {len(self.inputs)} inputs, {len(self.ops)} ops>"

    def _repr_html_(self) -> str:
        return views.html(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return views.bundle(self, include, exclude)

    def __call__(self, *args: Any) -> Any:
        """Run the program in the interpreter; one output is returned bare."""
        results = views.interpret(self, (*args, *self.captured))
        return results[0] if len(results) == 1 else tuple(results)

    def bound_to(self, captured: Iterable[Any]) -> Program:
        """The same program with other arrays bound to its last inputs."""
        made = Program(self.inputs, self.ops, self.outputs, name=self.name, captured=captured)
        made.devices = self.devices
        made._structure, made.simplified = self._structure, self.simplified
        made.irregular = self.irregular
        return made

    def with_body(self, ops: Iterable[Op], outputs: Iterable[Value]) -> Program:
        """The same inputs, name and captured arrays with another body."""
        made = Program(self.inputs, ops, outputs, name=self.name, captured=self.captured)
        made.devices = self.devices
        return made


_type = attrgetter("type")
_kind = attrgetter("kind")


Readers = Counter[Value]


def readers_of(ops: Iterable[Op], outputs: Iterable[Value]) -> Readers:
    """How often each value is read."""
    readers = Counter(v for op in ops for v in op.operands)
    readers.update(outputs)
    return readers


class Builder:
    """A growing list of ops."""

    def __init__(self, source: Callable[[], Source | None] | None = None) -> None:
        self.ops: list[Op] = []
        self.source: Source | None = None
        self._find_source = source

    def emit(
        self, kind: Declaration, operands: Sequence[Value], params: dict[str, Any]
    ) -> tuple[Value, ...]:
        """Append an op and return its results, after inferring their types.

        An op without results (a loop that has nothing to compute) is left out. NumPy numbers among
        the parameters become Python numbers.
        """
        if params:
            params = plain(params)
        return self.add(kind, operands, params, kind.infer(*map(_type, operands), **params))

    def add(
        self,
        kind: Declaration,
        operands: Sequence[Value],
        params: dict[str, Any],
        types: Iterable[Type],
    ) -> tuple[Value, ...]:
        """As :meth:`emit`, for known result types."""
        results = tuple(map(Value, types))
        if results:
            self.append(Op(kind, tuple(operands), params, results, self._place()))
        return results

    def repeat(self, op: Op, operands: Sequence[Value]) -> tuple[Value, ...]:
        """Append an op once more, on operands of the types of its own, and return its results.

        Nothing is inferred.  The source is the op's own if it has one.
        """
        results = tuple(map(Value, map(_type, op.results)))
        self.append(Op(op.kind, tuple(operands), op.params, results, op.source or self._place()))
        return results

    def _place(self) -> Source | None:
        if self.source is None and self._find_source is not None:
            return self._find_source()
        return self.source

    def append(self, op: Op) -> None:
        self.ops.append(op)

    def inline(self, program: Program, arguments: Sequence[Value]) -> list[Value]:
        """Append the ops of a program applied to values; return its outputs."""
        check_arguments(program, [v.type for v in arguments])
        replaced = dict(zip(program.inputs, arguments, strict=True))
        append = self.append
        for op in program.ops:  # as ``repeat``, without its calls
            results = tuple([Value(v.type) for v in op.results])
            operands = tuple([replaced[v] for v in op.operands])
            append(Op(op.kind, operands, op.params, results, op.source or self._place()))
            for old, new in zip(op.results, results, strict=True):
                replaced[old] = new
        return [replaced[v] for v in program.outputs]

    def at(self, source: Source | None) -> _At:
        """A context: ops emitted inside carry this source unless it is None."""
        return _At(self, source)

    def finish(
        self,
        inputs: Iterable[Value],
        outputs: Iterable[Value],
        *,
        name: str = "main",
        captured: Iterable[Any] = (),
    ) -> Program:
        return Program(inputs, self.ops, outputs, name=name, captured=captured)


class _At:
    """A context in which a builder's ops carry a source. (A class, as a generator is slower.)"""

    __slots__ = ("before", "builder", "source")

    def __init__(self, builder: Builder, source: Source | None) -> None:
        self.builder = builder
        self.source = source

    def __enter__(self) -> None:
        self.before = self.builder.source
        if self.source is not None:
            self.builder.source = self.source

    def __exit__(self, *error: object) -> None:
        self.builder.source = self.before


def check_arguments(program: Program, types: Sequence[Type]) -> None:
    """Raise unless the types are those of the program's inputs."""
    if len(types) != len(program.inputs):
        raise TypeMismatch(
            f"program {program.name} takes {len(program.inputs)} arguments, got {len(types)}"
        )
    for position, (want, got) in enumerate(zip(program.in_types, types, strict=True)):
        if want != got:
            raise TypeMismatch(
                f"argument {position} of program {program.name} must be {want}, got {got}"
            )


class _Current(threading.local):
    def __init__(self) -> None:
        self.stack: list[Builder] = []


_current = _Current()


def building(builder: Builder) -> _Building:
    """A context in which a builder is the current one of this thread."""
    return _Building(builder)


class _Building:
    __slots__ = ("builder",)

    def __init__(self, builder: Builder) -> None:
        self.builder = builder

    def __enter__(self) -> Builder:
        _current.stack.append(self.builder)
        return self.builder

    def __exit__(self, *error: object) -> None:
        _current.stack.pop()


def current_builder() -> Builder:
    """The builder that ops emit into."""
    try:
        return _current.stack[-1]
    except IndexError:
        raise RuntimeError("an op was applied outside `with building(builder):`") from None
