"""Scheduling: stored values become one tree of loops, fused where that is legal.

Each stored value has its loops. In program order, a value joins an existing loop if the loop has
the same extent, and everything that it reads from that loop is complete there and read at the same
iteration; otherwise it gets a new loop. So elementwise chains, reductions with their producers and
consumers, and rows of softmax end up in one nest.

Legal where no value comes before its operands (``_position_after_dependencies``), and where each
operand from a joined loop has an axis for that loop, is complete in the iteration, and is read only
at that iteration (``_may_join``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from autojit.ir.core import affine
from autojit.ir.core.affine import Affine, Var
from autojit.ir.core.program import Op, Program, Value

from .element_walk import ElementWalk, Index
from .materialization import BodyCall, Call, LibraryCall, Selection
from .op_loops import Stored
from .remarks import not_joined
from .traits import Traits


class Node:
    """A loop of the tree; the root has no variable."""

    def __init__(self, var: Var | None = None) -> None:
        self.var = var
        self.children: list[Node | Stored | Call] = []
        #: The stored values computed below, and the values read there (inputs included).
        self.members: set[Value] = set()
        self.touched: set[Value] = set()

    def leaves(self) -> Iterator[Stored | Call]:
        for child in self.children:
            if isinstance(child, Node):
                yield from child.leaves()
            else:
                yield child


class _Reads(ElementWalk):
    """Collects which stored values an element reads, at which indices, under which conditions."""

    def __init__(self, definers: Any, stored: Any) -> None:
        super().__init__(definers, stored)
        self.found: dict[Value, set[Index]] = {}
        self.conditions: list[Any] = []
        self._done: set[Any] = set()

    def walk(self, value: Value, index: Index, guard: Any = None) -> Any:
        if (value, index) not in self._done:
            self._done.add((value, index))
            super().walk(value, index, guard)

    def read(self, value: Value, index: Index, guard: Any) -> Any:
        self.found.setdefault(value, set()).add(index)

    def gather(self, op: Op, places: list[Any], index: Index, guard: Any) -> Any:
        self.anywhere(op.operands[0])

    def anywhere(self, value: Value) -> None:
        """Note that a value is read at an index that is not a loop variable."""
        self.found.setdefault(value, set()).add(tuple(affine.of(Var(n)) for n in value.shape))

    def constant(self, op: Op) -> Any:
        return None

    def index_value(self, op: Op, index: Affine) -> Any:
        return None

    def compute(self, op: Op, operands: list[Any]) -> Any:
        return None

    def choose(self, op: Op, cases: list[Any]) -> Any:
        return None

    def condition(self, conditions: list[Any], guard: Any) -> Any:
        self.conditions.extend(conditions)
        return True


class Schedule:
    """The tree of loops of a program."""

    def __init__(self, program: Program, traits: Traits, *, inside: bool = False) -> None:
        self.program = program
        self.traits = traits
        selection = Selection(program, traits, inside=inside)
        self.definers = selection.definers
        self.stored = selection.stored
        #: Values whose memory a later value takes over.
        self.together: dict[Value, Value] = {}
        self.kept = selection.kept
        self.root = Node()
        #: The loops around each stored value, outermost first.
        self.path: dict[Value, list[Node]] = {}
        self.conditions: dict[Value, list[Any]] = {}
        for op in selection.ops:
            item = self.stored.get(op.results[0]) if op.results else None
            if isinstance(item, Stored):
                self._insert_loops(item)
            elif item is not None:
                self._insert_call(item)

    # -- building the tree ------------------------------------------------

    def _insert_call(self, call: Call) -> None:
        self.root.children.append(call)
        for value in call.values:
            self.root.members.add(value)
            self.path[value] = []

    def _insert_loops(self, item: Stored) -> None:
        item.vars = tuple(Var(n) for n in item.extents)
        reads = _Reads(self.definers, self.stored)
        item.element(reads, tuple(map(affine.of, item.vars)))
        if item.places is not None:
            item.places(reads, tuple(map(affine.of, item.vars)))
        if item.base is not None:
            reads.anywhere(item.base)
        item.reads = reads.found
        self.conditions[item.value] = reads.conditions
        touched = set(item.reads) | {item.value}
        node, path = self.root, []
        for depth, extent in enumerate(item.extents):
            node.touched |= touched
            node.members.add(item.value)
            node = self._loop_for(node, item, depth, extent, touched)
            path.append(node)
        node.touched |= touched
        node.members.add(item.value)
        node.children.append(item)
        self.path[item.value] = path

    def _loop_for(
        self, node: Node, item: Stored, depth: int, extent: int, touched: set[Value]
    ) -> Node:
        """The child loop that the item joins, or a new one at the end."""
        first = self._position_after_dependencies(node, item)
        for child in node.children[max(first, 0) :]:
            if (
                isinstance(child, Node)
                and child.var is not None
                and child.var.extent == extent
                and not touched.isdisjoint(child.touched)
                and self._may_join(child, item, depth)
            ):
                return child
        not_joined(node.children, max(first, 0), item, depth)
        made = Node(Var(extent))
        node.children.append(made)
        return made

    def _position_after_dependencies(self, node: Node, item: Stored) -> int:
        """The position of the last child that computes something the item reads."""
        for position in range(len(node.children) - 1, -1, -1):
            child = node.children[position]
            members = child.members if isinstance(child, Node) else set(_values(child))
            if not members.isdisjoint(item.reads):
                return position if isinstance(child, Node) else position + 1
        return 0

    def _may_join(self, child: Node, item: Stored, depth: int) -> bool:
        """Whether everything that the item reads from the loop is complete in the same
        iteration."""
        here = affine.of(item.vars[depth])
        for value, indices in item.reads.items():
            if value not in child.members:
                continue
            source = self.stored[value]
            assert isinstance(source, Stored)
            dim = source.dims[depth] if source.base is None else None
            if dim is None or any(index[dim] != here for index in indices):
                return False
        return True

    # -- questions of the lowering ----------------------------------------

    def kernels(self) -> list[LibraryCall | list[Any]]:
        """The root's children in runs: a loop with the scalars after it, or one call."""
        result: list[Any] = []
        for child in self.root.children:
            starts_new = not isinstance(child, Stored) or not result
            if starts_new or not isinstance(result[-1], list) or _is_body(result[-1][0]):
                result.append(child if isinstance(child, LibraryCall) else [child])
            else:
                result[-1].append(child)
        return result


def _is_body(child: Any) -> bool:
    return isinstance(child, BodyCall)


def _values(child: Stored | Call) -> tuple[Value, ...]:
    return (child.value,) if isinstance(child, Stored) else child.values
