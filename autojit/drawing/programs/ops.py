"""Programs as nodes and edges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from autojit.drawing.graphs.numbers import numbers
from autojit.ir.core.program import Op, Program, Value, readers_of
from autojit.ir.ops.linear import Constant
from autojit.ir.tools.text import print_static, program_lines

from .grouping import Grouping
from .model import Edge, Group, Item, Node

#: Parameters that the types on edges show, and the longest text of other parameters.
_SAID = {"shape", "dtype"}
_LETTERS = 30


class Known:
    """The known values and gradients of the results of operations."""

    def __init__(
        self, values: Mapping[Value, Any] | None = None,
        gradients: Mapping[Value, Any] | None = None,
    ) -> None:  # fmt: skip
        self.values, self.gradients = values or {}, gradients or {}

    def show(self, item: Item, found: Sequence[Value]) -> None:
        """Set the value and gradient of an item from those of an op's results, or of an input."""
        item.value, item.gradient = _shown(self.values, found), _shown(self.gradients, found)


def _shown(known: Mapping[Value, Any], found: Sequence[Value]) -> str | None:
    texts = [numbers(known[v]) for v in found if v in known]
    return ", ".join(texts) if texts else None


class Part:
    """The nodes and edges of one program; their ids begin with a prefix."""

    def __init__(
        self, program: Program, grouping: Grouping, prefix: str = "",
        names: Sequence[str] = (), known: Known | None = None,
    ) -> None:  # fmt: skip
        self.program, self.grouping, self.prefix = program, grouping, prefix
        self.known = known or Known()
        #: The ids of the nodes (or groups) that make values, and the values' names in the text.
        self.makers: dict[Value, str] = {}
        self.numbers: dict[Value, str] = {}
        self.edges: list[Edge] = []
        self.folded: dict[Value, str] = {}
        self.inputs = [
            self._input(i, v, names[i] if i < len(names) else "")
            for i, v in enumerate(program.inputs)
        ]
        self._fold()
        self.ops = self._ops()
        self.outputs = [self._output(i, v) for i, v in enumerate(program.outputs)]

    def column(self, title: str, kind: str = "all", **more: Any) -> Group:
        """The whole program as one group: inputs, operations, outputs."""
        group = self.grouping
        body = group.grouped(self.ops)
        inputs = group.gathered(self.inputs, "inputs")
        outputs = group.gathered(self.outputs, "results")
        return group.group(kind, title, [*inputs, *body, *outputs], **more)

    def name(self, value: Value) -> str:
        """The name of a value in the program's text."""
        return self.numbers.get(value, "%?")

    def edge(self, value: Value, end: str, kind: str = "value") -> Edge:
        """The edge of a value to a node."""
        return Edge(
            self.makers[value], end, self.name(value), str(value.type), value.type.nbytes, kind
        )

    # -- nodes ------------------------------------------------------------

    def _define(self, maker: str, values: Iterable[Value]) -> None:
        for v in values:
            self.makers[v] = maker
            self.numbers[v] = f"%{len(self.numbers)}"

    def _input(self, i: int, value: Value, name: str) -> Node:
        own = f"{self.prefix}in{i}"
        self._define(own, [value])
        bound = i >= len(self.program.inputs) - len(self.program.captured)
        title = name or ("from outside" if bound else f"argument {i}")
        about = {"type": str(value.type), "bytes": value.type.nbytes, "captured": bound}
        text = f"{self.name(value)}: {value.type}"
        made = Node(own, "input", title, text=text, about=about)
        self.known.show(made, [value])
        return made

    def _output(self, i: int, value: Value) -> Node:
        own = f"{self.prefix}out{i}"
        title = "result" if len(self.program.outputs) == 1 else f"result {i}"
        about = {"type": str(value.type), "bytes": value.type.nbytes}
        self.edges.append(self.edge(value, own))
        made = Node(own, "output", title, text=f"return {self.name(value)}", about=about)
        self.known.show(made, [value])
        return made

    def _fold(self) -> None:
        """Fold scalar constants that only operations read into the labels of these operations."""
        readers = Counter(self.program.outputs)
        for op in self.program.ops:
            if op.programs:
                readers.update(op.operands)
        for op in self.program.ops:
            if isinstance(op.kind, Constant) and op.result not in readers:
                self.folded[op.result] = _number(op.params["value"])
        for v in self.folded.keys() - readers_of(self.program.ops, ()).keys():
            del self.folded[v]  # no label would show it

    def _ops(self) -> list[Item]:
        lines = program_lines(self.program)[1:-2]
        return [
            self._op(k, op, line.strip())
            for k, (op, line) in enumerate(zip(self.program.ops, lines, strict=True))
        ]

    def _op(self, k: int, op: Op, line: str) -> Item:
        own = f"{self.prefix}op{k}"
        self.edges += [self.edge(v, own) for v in dict.fromkeys(op.operands)]
        self._define(own, op.results)
        about = {
            "op": op.kind.name,
            "params": {n: _static(v) for n, v in sorted(op.params.items())},
            "results": [
                {"name": self.name(v), "type": str(v.type), "bytes": v.type.nbytes}
                for v in op.results
            ],
        }
        made = self._with_bodies(own, op) if op.programs else self._node(own, op, line)
        made.source, made.about = op.source, about
        self.known.show(made, op.results)
        return made

    def _node(self, own: str, op: Op, line: str) -> Node:
        is_folded = not op.operands and op.result in self.folded
        kind = "op" if op.operands else "constant"
        return Node(own, kind, op.kind.name, self._lines(op), line, is_folded=is_folded)

    def _lines(self, op: Op) -> list[str]:
        """The lines of a label below the name: constant operands, and parameters."""
        lines = []
        if any(v in self.folded for v in op.operands):
            lines.append(", ".join(self.folded.get(v, self.name(v)) for v in op.operands))
        if isinstance(op.kind, Constant):
            lines.append(_number(op.params["value"]))
        else:
            pairs = [f"{n}={print_static(v)}" for n, v in sorted(op.params.items())]
            words = ", ".join(p for p in pairs if p.partition("=")[0] not in _SAID)
            lines += [_cut(words)] if words else []
        return lines

    def _with_bodies(self, own: str, op: Op) -> Group:
        """An op with programs among its parameters, as a group that contains these."""
        parts = [Part(p, self.grouping, f"{own}.{n}.") for n, p in enumerate(op.programs)]
        columns = [part.column(part.program.name or "body", "body") for part in parts]
        for part in parts:
            self.edges += part.edges
        members: list[Item] = list(columns) if len(columns) > 1 else columns[0].members
        lines = [f"{op.params['length']} steps"] if "length" in op.params else []
        names = ", ".join(map(self.name, op.results))
        text = f"{names} = {op.kind.name} {', '.join(map(self.name, op.operands))}"
        return Group(own, "body", op.kind.name, lines, ", ".join(lines), members, text)


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else print_static(value)


def _cut(words: str) -> str:
    return words if len(words) <= _LETTERS else f"{words[: _LETTERS - 2]} …"


def _static(value: Any) -> Any:
    """A parameter for JSON; objects other than numbers, strings and lists become text."""
    if isinstance(value, Program):
        return f"program {value.name}"
    if isinstance(value, tuple):
        return [_static(item) for item in value]
    if isinstance(value, (bool, int, str)) or value is None:
        return value
    return print_static(value)
