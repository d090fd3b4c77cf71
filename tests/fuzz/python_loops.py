"""Loops of Python: equal steps, running indices, arrays changed in place, lists that grow."""

from __future__ import annotations

import numpy as np

from tests.fuzz import expressions as e
from tests.fuzz.writer import Writer

#: Numbers of steps: few, and enough to be rerolled.
STEPS = (0, 1, 2, 3, 5, 8, 12, 24, 30, 64)


def _steps(w: Writer) -> int:
    return w.pick(STEPS if w.depth == 0 else STEPS[:5])


def loop(w: Writer) -> bool:
    return bool(w.pick(LOOPS)(w))


def _whole(w: Writer, *lines: str, binds: tuple[str, ...]) -> bool:
    return w.write(*lines, binds=binds)


def accumulate(w: Writer) -> bool:
    """``c = step(c, x)``, repeated; all steps are equal."""
    known = w.arrays("f")
    if not known:
        return False
    c = w.new("c")
    base = w.pick(known)
    step = w.pick(
        [
            f"np.tanh({c} + {base})",
            f"0.5 * {c} + np.sin({c}) * {e.constant(w)}",
            f"{c} * 0.9 + {e.floats(w, 1)}",
            f"np.sin({c}) + 0.1 * {base} * {c}",
            f"{c} - 0.1 * ({c} ** 3 - {base})",
            f"np.cos({c}) @ np.eye(len({c}))",
            f"0.5 * ({c} + 1.0 / (1.0 + {c} ** 2))",
            f"np.where({c} > 0, {c} * 0.7, {c} + 0.3)",
        ]
    )
    lines = [f"{c} = {base} * 1.0", f"for _ in range({_steps(w)}):", f"    {c} = {step}"]
    return _whole(w, *lines, binds=(c,))


def several(w: Writer) -> bool:
    """Two carries that read each other."""
    known = w.arrays("f")
    if not known:
        return False
    p, q = w.new("p"), w.new("q")
    base = w.pick(known)
    body = w.pick(
        [
            [f"{p}, {q} = {q}, 0.5 * {p} + np.sin({q})"],
            [f"{p} = {p} + 0.1 * {q}", f"{q} = {q} - 0.1 * {p}"],
            [f"{q} = 0.9 * {q} + {p} * {e.constant(w)} * 0.1", f"{p} = np.tanh({p} - {q})"],
        ]
    )
    first = w.pick([base, f"np.zeros_like({base})", "0.0", f"{base} * {base}"])
    lines = [f"{p}, {q} = {base} + 0.0, {first}", f"for _ in range({_steps(w)}):"]
    return _whole(w, *lines, *(f"    {line}" for line in body), binds=(p, q))


def indexed(w: Writer) -> bool:
    """Rows read at a running index, forwards or backwards."""
    arrays = [n for n in w.arrays("f", 1) if 1 <= len(w.value(n)) <= 80]
    if not arrays:
        return False
    x, s = w.pick(arrays), w.new("s")
    n = len(w.value(x))
    indices = w.pick(
        [
            f"range(len({x}))",
            f"range(1, len({x}))",
            f"reversed(range(len({x})))",
            f"range(0, len({x}), 2)",
            f"range({n} - 1, 0, -1)",
            f"range(len({x}) - 1)",
            f"[{', '.join(str(w.rng.randrange(n)) for _ in range(4))}]",
        ]
    )
    row = w.pick(
        [
            f"{x}[i]",
            f"{x}[-1 - i]",
            f"{x}[i - 1]",
            f"{x}[i] * {x}[i - 1]",
            f"{x}[(2 * i) % len({x})]",
            f"i * {x}[i]",
            f"{x}[i] / (i + 1.0)",
        ]
    )
    step = w.pick(
        [
            "{s} = {s} + {r}",
            "{s} = np.tanh({s} + {r})",
            "{s} = 0.5 * {s} + np.sin({r})",
            "{s} += {r} ** 2",
            "{s} = np.maximum({s}, {r})",
            "{s} = {s} * np.cos({r}) + 0.1",
        ]
    )
    first = w.pick(["0.0", f"{x}[0] * 1.0", f"np.zeros({x}.shape[1:])", "1.0"])
    lines = [f"{s} = {first}", f"for i in {indices}:", f"    {step.format(s=s, r=row)}"]
    return _whole(w, *lines, binds=(s,))


def filling(w: Writer) -> bool:
    """An array filled element by element, perhaps from earlier elements."""
    arrays = [n for n in w.arrays("f", 1) if 2 <= len(w.value(n)) <= 80]
    if not arrays:
        return False
    x, y = w.pick(arrays), w.new("y")
    made = w.pick(
        [
            f"np.zeros({x}.shape)",
            f"np.zeros_like({x})",
            f"np.copy({x})",
            f"np.ones({x}.shape)",
            f"{x} * 0.5",
        ]
    )
    order, step = w.pick(
        [
            (f"range(1, len({x}))", "{y}[i] = 0.5 * {y}[i - 1] + {x}[i]"),
            (f"range(len({x}))", "{y}[i] = np.sin({x}[i]) + i"),
            (f"range(1, len({x}))", "{y}[i] += {y}[i - 1] * {x}[i - 1]"),
            (f"range(len({x}) - 1)", "{y}[i + 1] = {x}[i] - {x}[i + 1]"),
            (f"range(len({x}) - 2, -1, -1)", "{y}[i] = np.tanh({y}[i + 1] + {x}[i])"),
            (f"range(len({x}))", "{y}[-1 - i] += {x}[i] ** 2"),
            (f"range(0, len({x}) - 1, 2)", "{y}[i], {y}[i + 1] = {x}[i + 1], {x}[i]"),
            (f"range(1, len({x}))", "{y}[:i] += 0.1 * {x}[i]"),
            (f"range(2, len({x}))", "{y}[i] = {y}[i - 1] * 0.5 + {y}[i - 2] * {x}[i] * 0.25"),
            (f"range(len({x}))", "{y}[i % 2] *= np.cos({x}[i])"),
        ]
    )
    lines = [f"{y} = {made}", f"for i in {order}:", f"    {step.format(x=x, y=y)}"]
    return _whole(w, *lines, binds=(y,))


def sweeps(w: Writer) -> bool:
    """Slices changed in place repeatedly, as in equation solvers."""
    arrays = [n for n in w.arrays("f", 1) if w.value(n).shape[0] >= 3]
    if not arrays:
        return False
    x, y = w.pick(arrays), w.new("y")
    step = w.pick(
        [
            "{y}[1:-1] = 0.25 * ({y}[:-2] + {y}[2:]) + 0.5 * {y}[1:-1]",
            "{y}[1:] = 0.5 * {y}[:-1] + {x}[1:]",
            "{y}[::2] += 0.1 * {y}[1::2].sum()",
            "{y}[:, 1:] = {y}[:, :-1] * 0.5",
            "{y}[1:-1, 1:-1] += 0.1 * ({y}[:-2, 1:-1] - {y}[2:, 1:-1])",
            "{y}[0] = {y}[-1] * 0.5",
            "{y} += 0.1 * np.roll({y}, 1, axis=0)",
            "{y}[:] = np.tanh({y}[::-1])",
            "{y}[1:] += {y}[:-1] * 0.5",
            "{y}[t % 2] = {y}[1] * 0.5 + t",
        ]
    )
    lines = [f"{y} = {x} * 1.0", f"for t in range({_steps(w)}):", f"    {step.format(x=x, y=y)}"]
    return _whole(w, *lines, binds=(y,))


def nested(w: Writer) -> bool:
    """Nested loops, over elements of a matrix or pairs of elements."""
    matrices = [n for n in w.arrays("f", 2) if w.value(n).shape[0] * w.value(n).shape[1] <= 150]
    vectors = [n for n in w.arrays("f", 1) if len(w.value(n)) <= 12]
    s = w.new("s")
    if matrices and w.maybe(0.6):
        x = w.pick(matrices)
        step = w.pick(
            [
                "{s} += {x}[i, j] ** 2",
                "{s} = {s} + {x}[i, j] * (i - j)",
                "{s} = 0.9 * {s} + np.sin({x}[i, j])",
                "{s} += {x}[i, j] * {x}[i, 0]",
            ]
        )
        inner = w.pick(
            [f"range({x}.shape[1])", f"range(i, {x}.shape[1])", f"range(min(i, {x}.shape[1]))"]
        )
        lines = [f"{s} = 0.0", f"for i in range({x}.shape[0]):", f"    for j in {inner}:"]
    elif vectors:
        x = w.pick(vectors)
        step = w.pick(
            [
                "{s} += np.sum(({x}[i] - {x}[j]) ** 2)",
                "{s} += np.sum(np.exp(-np.abs({x}[i] - {x}[j])))",
                "{s} = {s} + np.sum({x}[i] * {x}[j]) * 0.1",
            ]
        )
        inner = w.pick([f"range(len({x}))", "range(i)", f"range(i + 1, len({x}))"])
        lines = [f"{s} = 0.0", f"for i in range(len({x})):", f"    for j in {inner}:"]
    else:
        return False
    return _whole(w, *lines, f"        {step.format(s=s, x=x)}", binds=(s,))


def growing(w: Writer) -> bool:
    """A list that grows, and becomes an array."""
    known = w.arrays("f")
    if not known:
        return False
    items, c, result = w.new("items"), w.new("c"), w.new()
    base = w.pick(known)
    step = w.pick(
        [f"np.tanh({c} * 1.5)", f"{c} * 0.5 + {base}", f"np.sin({c} + t)", f"{c} - 0.1 * {c} ** 2"]
    )
    joined = w.pick(
        [
            "np.array({})",
            "np.stack({})",
            "sum({})",
            "np.stack({}[::-1])",
            "np.array({}[1:])",
            "np.sum({}, axis=0)",
        ]
    )
    lines = [
        f"{items}, {c} = [], {base}",
        f"for t in range({max(1, _steps(w))}):",
        f"    {c} = {step}",
        f"    {items}.append({c})",
        f"{result} = {joined.format(items)}",
    ]
    return _whole(w, *lines, binds=(c, result))


def over_data(w: Writer) -> bool:
    """Rows of data from outside of the function."""
    table = np.round(
        np.random.default_rng(w.rng.randrange(1000)).normal(size=(w.rng.randint(2, 40),)), 2
    )
    d, s = w.new("data"), w.new("s")
    known = w.arrays("f")
    if not known or not w.write(f"{d} = np.array({table.tolist()})"):
        return False
    base = w.pick(known)
    step = w.pick(
        [
            "{s} = {s} * 0.8 + r * {b}",
            "{s} = np.tanh({s} + r)",
            "{s} = {s} + np.cos({b} * r)",
            "{s} = {s} + ({b} - r) ** 2",
        ]
    )
    lines = [f"{s} = {base} * 0.0", f"for r in {d}:", f"    {step.format(s=s, b=base)}"]
    return _whole(w, *lines, binds=(s,))


def leaving(w: Writer) -> bool:
    """Loops in which values decide: the number of steps, and which of them have an effect."""
    arrays = [n for n in w.arrays("f", 1) if np.ndim(w.value(n)) == 1 and len(w.value(n)) <= 64]
    if not arrays:
        return False
    x, s, k = w.pick(arrays), w.new("s"), w.new("k")
    step = w.pick(["{s} + {r} * {r}", "{s} * 0.9 + np.sin({r})", "np.tanh({s} - {r}) + 0.3"])
    step = f"{s} = {step.format(s=s, r='r')}"
    form = w.pick(
        [
            [f"for r in {x}:", f"    if {s} > {e.constant(w)}:", "        break", f"    {step}"],
            [f"for r in {x}:", f"    if {s} > 0.7:", "        break", f"    {step}", "else:",
             f"    {s} = {s} * 0.5"],
            [f"for r in {x}:", f"    if r < {e.constant(w)}:", "        continue", f"    {step}"],
            [f"for {k}, r in enumerate({x}):", f"    if r > 0.2 and {k} % 2:", f"        {step}",
             f"    elif {s} > 1.0:", f"        {s} = {s} * 0.4", "    else:",
             f"        {s} = {s} - 0.1 * r"],
            [f"while {s} < 1.5 and {k} < {_steps(w)}:", f"    r = {x}[{k} % len({x})]",
             f"    {step}", f"    {k} = {k} + 1"],
            [f"while {k} < {_steps(w)}:", f"    r = {x}[{k} % len({x})]", f"    {k} = {k} + 1",
             f"    if r > {s}:", "        continue", f"    {step}", f"    if {s} > 2.0:",
             "        break"],
        ]
    )  # fmt: skip
    return _whole(w, f"{s}, {k} = 0.1 * np.sum({x}), 0", *form, binds=(s,))


LOOPS = (
    accumulate,
    several,
    indexed,
    filling,
    filling,
    sweeps,
    nested,
    growing,
    over_data,
    leaving,
)
