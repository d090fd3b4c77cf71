"""A ``while`` without the carries and streams that no used result needs.

Legal where no remaining part reads a removed one: neither the condition, nor a remaining next carry
or stream, in any sweep. The first sweep stays, since it determines the number of steps.
"""

from __future__ import annotations

from collections.abc import Sequence

from autojit.ir.core.program import Op, Program, Value
from autojit.ir.ops.bodies import BodyOp, chosen, groups, read_inputs
from autojit.ir.rewriting.dce import with_outputs


def narrowed(kind: BodyOp, op: Op, used: Sequence[bool]) -> Op | None:
    """Return the op with fewer carries, streams and sweeps; None if all are needed."""
    return _Narrowing(kind, op, used).run()


class _Narrowing:
    def __init__(self, kind: BodyOp, op: Op, used: Sequence[bool]) -> None:
        self.kind, self.op = kind, op
        self.n = op.params["constants"]
        self.counts = op.params["carries"]
        self.bodies: list[Program] = list(op.params["sweeps"])
        self.used = groups(list(used), *self.counts)[:-1]
        self.kept = [list(marks) for marks in self.used]
        self.streams = [
            [False] * (len(b.outputs) - m) for b, m in zip(self.bodies, self.counts, strict=True)
        ]
        condition = read_inputs(op.params["condition"])[self.n :]
        self.kept[0] = [a or b for a, b in zip(self.kept[0], condition, strict=True)]

    def run(self) -> Op | None:
        while self._spread():
            pass
        sweeps = [
            k for k in range(len(self.bodies)) if k == 0 or any(self.kept[k] + self.streams[k])
        ]
        everything = all(all(marks) for marks in (*self.kept, *self.streams))
        if everything:
            return None
        return self._build(sweeps)

    def _spread(self) -> bool:
        """Mark what each sweep's marked outputs need. Return whether anything was added."""
        before = ([list(m) for m in self.kept], [list(m) for m in self.streams])
        for k in reversed(range(len(self.bodies))):
            reads = read_inputs(self._smaller(k))
            flat = [(i, j) for i in range(k) for j in range(len(self.streams[i]))]
            for (i, j), read in zip(flat, reads[self.n :], strict=False):
                self.streams[i][j] = self.streams[i][j] or read
            mine = reads[len(reads) - self.counts[k] :] if self.counts[k] else []
            self.kept[k] = [a or b for a, b in zip(self.kept[k], mine, strict=True)]
        return before != (self.kept, self.streams)

    def _smaller(self, k: int) -> Program:
        body, m = self.bodies[k], self.counts[k]
        wanted = [*chosen(body.outputs[:m], self.kept[k]),
                  *chosen(body.outputs[m:], self.streams[k])]  # fmt: skip
        return with_outputs(body, wanted)

    def _build(self, sweeps: list[int]) -> Op:
        params = self.op.params
        constants, *carries, _ = groups(self.op.operands, self.n, *self.counts)
        _, *results, _ = groups((None,) * self.n + self.op.results, self.n, *self.counts)
        operands: list[Value] = list(constants)
        left: list[Value] = []
        bodies, counts = [], []
        for k in sweeps:
            operands += chosen(carries[k], self.kept[k])
            left += [v for v in chosen(results[k], self.kept[k]) if v is not None]
            bodies.append(self._body(k))
            counts.append(sum(self.kept[k]))
        condition = params["condition"]
        inputs = [*condition.inputs[: self.n], *chosen(condition.inputs[self.n :], self.kept[0])]
        new = {
            "condition": Program(inputs, condition.ops, condition.outputs, name=condition.name),
            "sweeps": tuple(bodies),
            "carries": tuple(counts),
            "backward": tuple(params["backward"][k] for k in sweeps),
            "constants": self.n,
        }
        return Op(self.kind, tuple(operands), new, tuple(left), self.op.source)

    def _body(self, k: int) -> Program:
        smaller = self._smaller(k)
        flat = [m for marks in self.streams[:k] for m in marks]
        c, s, own = groups(smaller.inputs, self.n, len(flat))
        inputs = [*c, *chosen(s, flat), *chosen(own, self.kept[k])]
        return Program(inputs, smaller.ops, smaller.outputs, name=smaller.name)
