"""The backward pass, which visits nodes in the reverse order of their creation.

A node is visited after all nodes that were computed from it, because these were created later.  The
pass does not recurse.
"""

from __future__ import annotations

import heapq
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from autojit.session.watching import span
from autojit.session.watching import state as watching

from .modes import _Mode, modes
from .nodes import SECOND_TIME, AccumulateGrad, Edge, Extras, Node
from .recording import counter_of, from_saved, record, wrap
from .replay import replayed
from .rules import Rule
from .sharing import is_fresh
from .widening import added, cast, computable, has_halves, plain


class Pass:
    """One backward pass.

    ``targets``  the edges whose gradients are requested; None if gradients are added to the leaves'
                 ``grad``
    """

    def __init__(
        self, *, retain: bool, create_graph: bool, targets: Iterable[Edge] | None = None
    ) -> None:
        self.retain = retain
        self.recorded = create_graph
        self.targets = None if targets is None else set(targets)
        self.found: dict[Edge, Any] = {}
        self._waiting: list[tuple[int, int, Node]] = []
        self._cotangents: dict[Node, dict[int, Any]] = {}
        self._allowed: set[Node] | None = None

    def run(self, roots: Sequence[tuple[Edge, Any]]) -> None:
        """Carry cotangents from the roots to the leaves."""
        if self.targets is not None:
            self._allowed = _towards(self.targets, [node for (node, _), _ in roots])
        elif not self.recorded:
            found = replayed([e for e, _ in roots], [c._data for _, c in roots], retain=self.retain)
            if found is not None:
                self._end(found)
                return
        for edge, cotangent in roots:
            self._add(edge, cotangent if self.recorded else cotangent._data)
        with _Mode._of(self.recorded), np.errstate(all="ignore"):
            while self._waiting:
                if self.targets is None and not self.recorded:
                    self._go_straight()
                if self._waiting:
                    self._visit(heapq.heappop(self._waiting)[2])

    def _go_straight(self) -> None:
        """Visit nodes as long as nothing but their rules has to run."""
        waiting, cotangents, retain = self._waiting, self._cotangents, self.retain
        if watching.watchers or modes.anomaly:
            return
        while waiting:
            node = waiting[0][2]
            rule = node.rule
            if rule.__class__ is not Rule or not rule.is_straight or node.extras is not None:
                return
            heapq.heappop(waiting)
            results = node.pulled((cotangents.pop(node)[0],))
            links = node.links
            for place, result in zip(rule.places, results):  # noqa: B905 - for each node
                after = links[place]
                if after is None:
                    continue
                held = cotangents.get(after)
                if held is None:
                    cotangents[after] = {links[place + 1]: result}
                    heapq.heappush(waiting, (-after.number, id(after), after))
                else:
                    self._add((after, links[place + 1]), result)
            if not retain and node.saved:
                node.saved = None

    def _end(self, found: list[tuple[AccumulateGrad, Any]]) -> None:
        """Add the gradients to the leaves."""
        with np.errstate(all="ignore"):
            while found:
                node, held = found[-1][0], {0: found.pop()[1]}
                self._accumulate(node, held)

    def _add(self, edge: Edge, cotangent: Any) -> None:
        node, k = edge
        if self._allowed is not None and node not in self._allowed:
            return
        held = self._cotangents.get(node)
        if held is None:
            self._cotangents[node] = {k: cotangent}
            heapq.heappush(self._waiting, (-node.number, id(node), node))
        elif k in held:
            both = added(held[k], cotangent)
            held[k] = np.asarray(both) if isinstance(both, np.generic) else both
        else:
            held[k] = cotangent

    def _visit(self, node: Node) -> None:
        held = self._cotangents.pop(node)
        if node.extras is not None:
            self._call_tensor_hooks(node.extras, held)
        if self.targets is not None and self._is_end(node, held):
            return
        if isinstance(node, AccumulateGrad):
            self._accumulate_watched(node, held)
        else:
            self._go_on(node, held)

    def _is_end(self, node: Node, held: dict[int, Any]) -> bool:
        """Keep the requested cotangents; return whether no requested edge lies beyond this node."""
        for k in held:
            if (node, k) in (self.targets or ()):
                self.found[node, k] = held[k]
        return not any(e is not None and e[0] in (self._allowed or ()) for e in node.edges)

    def _go_on(self, node: Node, held: dict[int, Any]) -> None:
        rule = node.rule
        if rule.__class__ is Rule and len(rule.inexact) == 1:
            cotangents = [held[0]]
        else:
            cotangents = self._complete(node, held)
        if node.extras is not None and node.extras.refill is not None:
            node.extras.refill.fill()
        if node.extras is not None and node.extras.prehooks:
            cotangents = self._call_prehooks(node.extras.prehooks, cotangents)
        if watching.watchers:
            with span("backward", node.name(), cotangents):
                results = self._pulled(node, cotangents)
        else:
            results = self._pulled(node, cotangents) if self.recorded else node.pull(cotangents)
        if node.extras is not None and node.extras.hooks:
            results = self._call_node_hooks(node.extras.hooks, results, cotangents)
        if modes.anomaly and modes.check_nan:
            self._check_nan(node, results)
        for edge, result in zip(node.edges, results, strict=True):
            if edge is not None and result is not None:
                self._add(edge, result)
        if not self.retain:
            node.release()

    def _complete(self, node: Node, held: dict[int, Any]) -> list[Any]:
        """The cotangents of all results; zeros for results that received none."""
        types = node.out_types()
        if len(types) == 1:
            return [held[0]]
        zero = (lambda a: wrap(a)) if self.recorded else (lambda a: a)
        return [
            held[k] if k in held else zero(np.zeros(shape, dtype))
            for k, (shape, dtype) in enumerate(types)
        ]

    def _pulled(self, node: Node, cotangents: Sequence[Any]) -> list[Any]:
        if self.recorded:
            return node.pull_recorded(cotangents, record, from_saved)
        return node.pull(cotangents)

    def _accumulate_watched(self, node: AccumulateGrad, held: dict[int, Any]) -> None:
        """Add to a leaf's gradient, between the hooks on its node."""
        extras = node.extras
        if extras is None:
            self._accumulate(node, held)
            return
        cotangents = self._call_prehooks(extras.prehooks, [held.pop(0)])
        x = node.variable
        given = self._tensor(cotangents[0])
        held[0], is_first = cotangents.pop(), x._grad is None
        self._accumulate(node, held)
        for hook in list(extras.hooks.values()):  # the first gradient is the same array
            hook((), (x._grad if is_first else given,))

    def _call_prehooks(self, hooks: dict[int, Any], cotangents: list[Any]) -> list[Any]:
        for hook in list(hooks.values()):
            made = hook(tuple(map(self._tensor, cotangents)))
            if made is not None:
                made = made if isinstance(made, tuple) else (made,)
                if len(made) != len(cotangents):
                    raise RuntimeError(
                        f"hook has returned an incorrect number of values (got {len(made)}, but "
                        f"expected {len(cotangents)})"
                    )
                cotangents = [
                    c if m is None else m if self.recorded else m._data
                    for m, c in zip(made, cotangents, strict=True)
                ]
        return cotangents

    def _accumulate(self, node: AccumulateGrad, held: dict[int, Any]) -> None:
        x = node.variable
        cotangent = held.pop(0)
        if self.recorded:
            given = cotangent
        else:  # the array can be taken over if only this function refers to it
            is_own = sys.getrefcount(cotangent) == 2 and is_fresh(cotangent)
            given = wrap(cotangent if is_own else _own(cotangent))
        before = x._grad
        if before is None:
            x._grad = given
        elif self.recorded or before._needs:
            x._grad = before + given
        else:
            if has_halves([before._data]):
                before._data[...] = added(before._data, given._data)
            else:
                before._data += given._data
            counter_of(before)[0] += 1
        if x._hooks is not None:
            for hook in list(x._hooks.get("after", {}).values()):
                if hook(x) is not None:
                    raise RuntimeError(
                        "Tensor post accumulate grad hooks should return None. Change the "
                        "gradient in place instead:\n"
                        "    def hook(x):\n"
                        "        x.grad.mul_(2)"
                    )

    def _call_tensor_hooks(self, extras: Extras, held: dict[int, Any]) -> None:
        for k, hooks in extras.tensor_hooks.items():
            if k in held:
                for hook in list(hooks.values()):
                    made = hook(self._tensor(held[k]))
                    if made is not None:
                        held[k] = made if self.recorded else made._data
        for k, reference in extras.retained:
            tensor = reference()
            if tensor is not None and k in held and self.targets is None:
                given = self._tensor(held[k])
                held_by = tensor._grad
                tensor._grad = given if held_by is None else held_by + given

    def _call_node_hooks(
        self, hooks: dict[int, Any], results: list[Any], cotangents: Sequence[Any]
    ) -> list[Any]:
        for hook in list(hooks.values()):
            given = tuple(None if r is None else self._tensor(r) for r in results)
            made = hook(given, tuple(map(self._tensor, cotangents)))
            if made is not None:
                made = made if isinstance(made, tuple) else (made,)
                results = [m if self.recorded or m is None else m._data for m in made]
        return results

    def _tensor(self, cotangent: Any) -> Any:
        return cotangent if self.recorded else wrap(cotangent)

    def _check_nan(self, node: Node, results: Sequence[Any]) -> None:
        for k, r in enumerate(results):
            if r is not None and np.isnan(plain(r._data if self.recorded else r)).any():
                forward = "" if node.extras is None else node.extras.traceback
                if forward:
                    sys.stderr.write(
                        f"Error detected in {node.name()}. Traceback of forward call that caused "
                        f"the error:\n{forward}\n"
                    )
                raise RuntimeError(
                    f"Function '{node.name()}' returned nan values in its {k}th output."
                    + (f"\nIts forward call:\n{_last_line(forward)}" if forward else "")
                )


#: The folder of this package's code.
_OURS = str(Path(__file__).parents[1])


def _last_line(text: str) -> str:
    """The last frame of a traceback that is outside this package."""
    frames = [f for f in text.split('  File "') if f and not f.startswith(_OURS)]
    return f'  File "{frames[-1].rstrip()}' if frames else ""


def _own(array: Any) -> Any:
    """A gradient that the user may change: an array is copied, so its memory is not shared."""
    return np.array(array) if isinstance(array, np.ndarray) else array


def _towards(targets: set[Edge], roots: Iterable[Node]) -> set[Node]:
    """The nodes on the paths from roots to targets."""
    seen: set[Node] = set()
    todo = list(roots)
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo += [e[0] for e in node.edges if e is not None]
    wanted = {node for node, _ in targets}
    allowed = {node for node in seen if node in wanted}
    for node in sorted(seen, key=lambda n: n.number):
        if any(e is not None and e[0] in allowed for e in node.edges):
            allowed.add(node)
    return allowed


def run_backward(
    outputs: Sequence[Any],
    gradients: Sequence[Any],
    *,
    retain_graph: bool | None,
    create_graph: bool,
    targets: Iterable[Edge] | None = None,
) -> dict[Edge, Any]:
    """Run the backward pass from tensors with given cotangents."""
    from .recording import edge_of

    for t in outputs:
        if not t._needs:
            raise RuntimeError(
                f"element {next(i for i, o in enumerate(outputs) if o is t)} of tensors does not "
                "require grad and does not have a grad_fn"
            )
    roots = [(edge_of(t), g) for t, g in zip(outputs, gradients, strict=True)]
    retain = create_graph if retain_graph is None else retain_graph
    state = Pass(retain=retain, create_graph=create_graph, targets=targets)
    state.run(roots)
    return state.found


def initial(output: Any, given: Any) -> Any:
    """The cotangent that a backward pass starts with."""
    if given is None:
        if output._data.dtype.kind == "c":
            raise RuntimeError(
                "grad can be implicitly created only for real scalar outputs but got "
                f"{output.dtype!r}. Reduce it to a real number, or pass a tensor to multiply "
                "with:\n"
                "    y.abs().backward()\n"
                "    y.backward(torch.ones_like(y))"
            )
        if output._data.size != 1:
            raise RuntimeError(
                "grad can be implicitly created only for scalar outputs. Reduce it to a number, "
                "or pass a tensor of its shape to multiply with:\n"
                "    y.sum().backward()\n"
                "    y.backward(torch.ones_like(y))"
            )
        d = output._data.dtype
        return wrap(cast(np.ones(output._data.shape, computable(d)), d))
    if tuple(given.shape) != tuple(output.shape):
        raise RuntimeError(
            f"Mismatch in shape: grad_output[0] has a shape of torch.Size({list(given.shape)}) "
            f"and output[0] has a shape of torch.Size({list(output.shape)})."
        )
    return given


__all__ = ["SECOND_TIME", "Pass", "initial", "run_backward"]
