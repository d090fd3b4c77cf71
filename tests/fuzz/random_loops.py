"""Loops of Python whose bodies are random statements."""

from __future__ import annotations

import numpy as np

from tests.fuzz import expressions as e
from tests.fuzz.python_loops import STEPS
from tests.fuzz.statements import BASIC, write_some
from tests.fuzz.writer import Writer

#: Index expressions, from the loop's index and an array.
PLACES = ("{i} % len({x})", "-1 - {i} % len({x})", "({i} + 1) % len({x})", "(3 * {i}) % len({x})")


def random_loop(w: Writer) -> bool:
    """Statements generated for one index, then run for each index."""
    if w.depth > 0 or w.indent > 2:
        return False
    i = w.new("i")
    carries, first = _carries(w)
    if not carries or not w.write(*first, binds=tuple(carries)):
        return False
    before = dict.fromkeys(w.names)
    with w.undone() as undo:
        start = len(w.lines)
        w.space[i] = w.rng.randint(0, 2)
        w.bind(i)
        w.indent += 1
        _body(w, i, carries)
        w.indent -= 1
        body = [line[4 * w.indent :] for line in w.lines[start:]]
        del w.lines[start:]
        made = [n for n in w.names if n not in before and n != i]
        undo()
    header = w.pick(
        [
            f"for {i} in range({w.pick(STEPS)}):",
            f"for {i} in range(1, {w.pick(STEPS)}):",
            f"for {i} in reversed(range({w.pick(STEPS)})):",
        ]
    )
    if not body or not w.write(header, *body):
        return False
    w.bind(*carries, *(n for n in made if n in w.space))
    return True


def _carries(w: Writer) -> tuple[list[str], list[str]]:
    """Names that each step changes, and the lines that initialise them."""
    known = [n for n in w.arrays("f") if np.size(w.value(n)) <= 200]
    if not known:
        return [], []
    names = [f"{w.new('c')}{letter}" for letter in "pq"[: w.rng.randint(1, 2)]]
    return names, [f"{name} = {w.pick(known)} * {e.constant(w)}" for name in names]


def _body(w: Writer, i: str, carries: list[str]) -> None:
    """Statements that read and write at the index, and change the carries."""
    for _ in range(w.rng.randint(0, 2)):
        w.pick([_read, _write])(w, i)
    write_some(w, BASIC, w.rng.randint(0, 2))
    for c in carries:
        text = e.like(w, np.shape(w.value(c)), np.asarray(w.value(c)).dtype) or c
        step = w.pick(
            [
                f"0.5 * {c} + 0.3 * np.sin({text})",
                f"np.tanh({c} + {text})",
                f"{c} - 0.1 * ({text})",
                f"np.where({c} > 0, {c} * 0.9, {text})",
                f"{c} * 0.9 + 0.01 * {i}",
            ]
        )
        line = f"{c} = {step}"
        if w.maybe(0.15):  # a step that differs from the others
            w.write(f"if {i} % 2 == 0:", f"    {line}")
        else:
            w.write(line)


def _read(w: Writer, i: str) -> bool:
    arrays = [n for n in w.arrays("f", 1) if len(w.value(n))]
    if not arrays:
        return False
    x, name = w.pick(arrays), w.new("r")
    return w.write(f"{name} = {x}[{w.pick(PLACES).format(i=i, x=x)}]", binds=(name,))


def _write(w: Writer, i: str) -> bool:
    own = [n for n in w.names if n in w.writable and len(w.value(n))]
    if not own:
        return False
    x = w.pick(own)
    place = w.pick(PLACES).format(i=i, x=x)
    value = e.fitting(w, np.shape(w.value(x)[0]), 2)
    sign = w.pick(["=", "+=", "*="])
    return w.write(f"{x}[{place}] {sign} 0.5 * np.tanh({value})", binds=(x,))
