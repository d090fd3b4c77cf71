"""The generators: each makes a case from random numbers only."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.fuzz import arguments, calls, control, python_loops, random_loops
from tests.fuzz.case import Case
from tests.fuzz.limits import limited_memory
from tests.fuzz.statements import BASIC, Statement, write_some
from tests.fuzz.writer import Writer, fresh_space
from tests.threshold_values import CODEGEN, PASSES

#: The most bytes of a function's values while it is being written.
MEMORY = 1 << 30

Table = list[tuple[Statement, int]]

LOOPS: Table = [(python_loops.loop, 6), (random_loops.random_loop, 4)]
ALL: Table = [*BASIC, *LOOPS, *control.CONTROL, *control.INNER_DERIVATIVES]


def seeded(name: str, seed: int, number: int) -> random.Random:
    return random.Random(f"{name}/{seed}/{number}")


class Draft:
    """A case in progress: its arguments, and the writer of its function."""

    def __init__(
        self, rng: random.Random, sizes: Sequence[int] = arguments.SMALL, *,
        kinds: Sequence[str] = (), most: int = arguments.MOST, empty: float = 0.03,
    ) -> None:  # fmt: skip
        self.rng = rng
        extents = arguments.drawn(rng, sizes, empty)
        main = rng.choice(["float64"] * 7 + ["float32"] * 2)
        others = [main, main, main, *kinds]
        self.texts: dict[str, str] = {}
        for k in range(rng.choice([1, 1, 2, 2, 3])):
            kind = main if k == 0 else rng.choice(others)
            self.texts[f"x{k}"] = arguments.text(rng, arguments.shape(rng, extents, most), kind)
        self.values = {name: eval(text, {"np": np}) for name, text in self.texts.items()}
        self.writer = Writer(rng, fresh_space(self.values), list(self.values))

    @property
    def floats(self) -> list[str]:
        return [n for n, v in self.values.items() if np.asarray(v).dtype.kind == "f"]

    def case(self, name: str, call: str, result: str, checks: tuple[str, ...]) -> Case:
        lines = [f"def f({', '.join(self.texts)}):", *self.writer.lines, f"    return {result}"]
        return Case(name, "\n".join(lines), call, dict(self.texts), checks)

    def number(self) -> str:
        """A float number computed from the last values."""
        w = self.writer
        recent = list(dict.fromkeys(reversed(w.arrays("f"))))[: w.rng.randint(1, 3)]
        recent = list(dict.fromkeys([*w.unused()[:4], *recent]))
        parts = [f"np.sum({n})" if np.ndim(w.value(n)) else n for n in recent or self.floats]
        weights = [w.pick(["", "", "0.5 * "]) for _ in parts]
        return " + ".join(a + b for a, b in zip(weights, parts, strict=True))

    def several(self) -> str:
        """A tree of the last values."""
        w = self.writer
        recent = list(dict.fromkeys(reversed(w.arrays("fciub"))))[: w.rng.randint(1, 4)]
        recent = list(dict.fromkeys([*w.unused()[:4], *recent]))
        if len(recent) == 1:
            return recent[0]
        if w.maybe(0.15):
            return "{" + ", ".join(f'"{n}": {n}' for n in sorted(recent)) + "}"
        return f"({', '.join(recent)})"


def _count(rng: random.Random, most: int) -> int:
    """The number of statements; now and then many more."""
    return rng.randint(1, most) * (3 if rng.random() < 0.15 else 1)


def numpy_values(rng: random.Random) -> Case:
    """Values of ordinary NumPy functions of all dtypes."""
    draft = Draft(rng, kinds=("float32", "float64", "int64", "bool", "complex128"), empty=0.08)
    write_some(draft.writer, [*BASIC, *LOOPS], _count(rng, 6))
    return _valued(draft, "numpy_values")


def _valued(draft: Draft, name: str) -> Case:
    batched = all(np.ndim(v) for v in draft.values.values())
    call = calls.value_call(draft.writer, list(draft.texts), batched)
    return draft.case(name, call, draft.several(), ("values",))


def numpy_gradients(rng: random.Random) -> Case:
    """Derivatives of ordinary NumPy functions."""
    return _differentiated(rng, "numpy_gradients", [*BASIC, *LOOPS], 6)


def _differentiated(rng: random.Random, name: str, table: Table, count: int, **of: Any) -> Case:
    small = rng.random() < 0.5
    of.setdefault("sizes", (1, 2, 2, 3) if small else arguments.SMALL)
    draft = Draft(rng, kinds=("float64", "int64"), most=6 if small else arguments.MOST, **of)
    w = draft.writer
    w.smooth = True
    write_some(w, table, _count(rng, count))
    few = calls.is_small(draft.values, draft.floats)
    arrays = [n for n in w.arrays("f", 1) if w.value(n).size <= 40]
    if few and arrays and w.maybe(0.25):
        call = calls.jacobian_call(w, list(draft.texts), draft.floats)
        return draft.case(name, call, arrays[-1], ("derivatives",))
    if len(draft.floats) == len(draft.texts) and w.maybe(0.15):
        return _of_a_tree(draft, name)
    call = calls.gradient_call(w, list(draft.texts), draft.floats, few)
    return draft.case(name, call, draft.number(), ("derivatives",))


def _of_a_tree(draft: Draft, name: str) -> Case:
    """Combine the arguments into one tree."""
    rng, names = draft.rng, list(draft.texts)
    form = rng.choice(["tuple", "list", "dict"])
    texts = list(draft.texts.values())
    given, taken = f"({', '.join(texts)},)", f"{', '.join(names)}, = p"
    if form == "list":
        given = f"[{', '.join(texts)}]"
    if form == "dict":
        keys = [f"k{k}" for k in range(len(names))]
        given = "{" + ", ".join(f'"{k}": {t}' for k, t in zip(keys, texts, strict=True)) + "}"
        taken = "; ".join(f'{n} = p["{k}"]' for k, n in zip(keys, names, strict=True))
    lines = ["def f(p):", f"    {taken}", *draft.writer.lines, f"    return {draft.number()}"]
    call = rng.choice(["jit(grad(f))(p)", "value_and_grad(jit(f))(p)", "vjp(f, p)[1](0.5)"])
    return Case(name, "\n".join(lines), call, {"p": given}, ("derivatives",))


def mixed_values(rng: random.Random) -> Case:
    """Values of functions with control flow, functions with rules, and derivatives inside."""
    draft = Draft(rng, kinds=("int64", "bool"))
    write_some(draft.writer, ALL, _count(rng, 5))
    return _valued(draft, "mixed_values")


def mixed_gradients(rng: random.Random) -> Case:
    """Derivatives of such functions."""
    return _differentiated(rng, "mixed_gradients", [*BASIC, *LOOPS, *control.CONTROL], 4)


def thresholds(rng: random.Random) -> Case:
    """Any of the cases above, with random compiler thresholds: small arrays reach every path."""
    return _base(rng, "thresholds").with_(thresholds=_drawn(rng))


def _base(rng: random.Random, name: str) -> Case:
    made = rng.choice([numpy_values, numpy_gradients, mixed_values, mixed_gradients])
    return made(rng).with_(generator=name)


def _drawn(rng: random.Random, among: Mapping[str, tuple[Any, ...]] = CODEGEN) -> dict[str, Any]:
    from tests.thresholds import drawn

    return dict(drawn(np.random.default_rng(rng.randrange(2**32)), among).values)


def passes(rng: random.Random) -> Case:
    """Functions with loops, with random thresholds for tracing and passes."""
    made = rng.choice([numpy_values, numpy_gradients, mixed_gradients, loops, rolled])
    return made(rng).with_(generator="passes", thresholds=_drawn(rng, PASSES))


def rolled(rng: random.Random) -> Case:
    """Mostly Python loops."""
    if rng.random() < 0.4:
        draft = Draft(rng, (1, 2, 3, 8, 20), kinds=("int64",))
        write_some(draft.writer, [*LOOPS, *BASIC[:1]], rng.randint(1, 3))
        return _valued(draft, "rolled")
    return _differentiated(rng, "rolled", [*LOOPS, *BASIC[:1]], 3)


def large(rng: random.Random) -> Case:
    """Values and gradients of arrays of up to some 100,000 elements."""
    n = int(10 ** rng.uniform(1.3, 5.3))
    m = rng.choice([1, 2, 3, 8]) if n > 1000 else rng.choice([1, 3, 20, 50, 200, 300])
    sizes = (n, m) if rng.random() < 0.8 else (n, n) if n < 400 else (n,)
    if rng.random() < 0.5:
        draft = Draft(rng, sizes, kinds=("int64", "bool"), empty=0.0)
        write_some(draft.writer, ALL, rng.randint(1, 4))
        return _valued(draft, "large")
    table = [*BASIC, *LOOPS, *control.CONTROL]
    return _differentiated(rng, "large", table, 3, sizes=sizes, empty=0.0)


def loops(rng: random.Random) -> Case:
    """Control flow within control flow, and derivatives of first and second order."""
    table = [*control.CONTROL, *control.CONTROL, (python_loops.loop, 4), *BASIC[:1]]
    if rng.random() < 0.3:
        draft = Draft(rng, (1, 2, 3, 8))
        write_some(draft.writer, table, rng.randint(1, 3))
        return _valued(draft, "loops")
    return _differentiated(rng, "loops", table, 2)


def memory(rng: random.Random) -> Case:
    """Any of the cases above, with guard pages, garbage and odd layouts."""
    drawn = _drawn(rng) if rng.random() < 0.5 else {}
    return _base(rng, "memory").with_(checks=("memory",), thresholds=drawn)


#: With these, every loop that can be divided into tasks is, and is tried on threads.
THREADED = {
    "codegen.loop_passes.tasks.task_cost.WORTH_TRYING": 0,
    "codegen.loop_passes.tasks.task_cost.WORK_OF_TASK": 1e-6,
    "codegen.loop_passes.tasks.task_cost.WORTH_THREADS": 0,
    "codegen.loop_passes.products.MOST": 0,
}


def threads(rng: random.Random) -> Case:
    """Simultaneous callers, and loops on threads."""
    if rng.random() < 0.3:
        return large(rng).with_(generator="threads", checks=("threads",))
    drawn = _drawn(rng) if rng.random() < 0.5 else {}
    return _base(rng, "threads").with_(checks=("threads",), thresholds={**drawn, **THREADED})


def round_trips(rng: random.Random) -> Case:
    """Any of the cases above, with texts, pickles and code on disk."""
    return _base(rng, "round_trips").with_(checks=("round_trips",))


GENERATORS: dict[str, Callable[[random.Random], Case]] = {
    "numpy_values": numpy_values,
    "numpy_gradients": numpy_gradients,
    "mixed_values": mixed_values,
    "mixed_gradients": mixed_gradients,
    "rolled": rolled,
    "thresholds": thresholds,
    "passes": passes,
    "large": large,
    "loops": loops,
    "memory": memory,
    "threads": threads,
    "round_trips": round_trips,
}


def make(name: str, seed: int, number: int) -> Case:
    """The case of a number: the same at every call, in every process."""
    with limited_memory(MEMORY):
        return GENERATORS[name](seeded(name, seed, number))
